"""Draw docs/images/prequential.png: scores along a stream whose classes turn.

Needs matplotlib. It is the picture that the script of the benchmark draws with
--picture, of a made stream; the first 2,500 rows come at once, which saves the time of
answers about the rows that ODAClassifier keeps at first. Run it after a change of what
the picture shows::

    python docs/images/make_prequential.py
"""

import sys
from pathlib import Path

TARGET = Path(__file__).with_name("prequential.png")


def main():
    """Learn the stream, and write the picture."""
    # The benchmarks are not installed.
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from benchmarks.prequential import draw, draw_stream, learn

    results = learn(*draw_stream(), n_first=2_500)
    draw(results, "Predicted, then learnt: a boundary that turns", TARGET)
    print(f"wrote {TARGET.name}: {len(results)} estimators")


if __name__ == "__main__":
    main()

"""Draw docs/images/annealing_path.png: the annealing path of the digits.

Needs matplotlib. Run it after a change of what the picture shows::

    python docs/images/make_annealing_path.py
"""

from pathlib import Path

from sklearn.datasets import load_digits

from odalib import ODAClusterer
from odalib.inspection import AnnealingPathDisplay

TARGET = Path(__file__).with_name("annealing_path.png")


def main():
    """Fit slowly, so that single splits show, and write the picture."""
    model = ODAClusterer(n_clusters=50, cooling=0.9, random_state=0)
    model.fit(load_digits().data)
    display = AnnealingPathDisplay.from_estimator(model)
    display.figure_.savefig(TARGET, dpi=150, bbox_inches="tight")
    print(f"wrote {TARGET.name}: {len(model.annealing_path_)} levels")


if __name__ == "__main__":
    main()

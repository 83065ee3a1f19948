"""Prequential scores of pipelines on elec2.

Claim: through make_streaming_pipeline(StandardScaler(), ...), ADFProbitClassifier or
ODAClassifier leads SGDClassifier on elec2 in log loss and in accuracy, predicted before
it is learnt.

Peers: SGDClassifier with the logistic loss, and the same with a constant rate of 0.01,
which follows drift better; each claim is held to the better of the two.

Measured: fit_stream in batches of 100 rows in the order of the file; the first is not
scored. ADFProbitClassifier forgets as in `adf`; ODAClassifier has 100 codevectors and
a memory of 1,000 rows as in `supervised_streams`. --picture draws all curves, over
windows of 4,500 rows, about a tenth of the stream; it needs matplotlib. Without --data
the stream is made: two classes of rows in six dimensions, whose boundary is bent and
turns by half a circle.
"""

import sys
from itertools import pairwise
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks._data import FILE_SETS
from benchmarks._peers import CONSTANT_RATE, logistic_sgd
from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import describe_threads
from benchmarks.adf import FORGETTING
from odalib import ADFProbitClassifier, ODAClassifier
from odalib.streaming import fit_stream, make_streaming_pipeline

BATCH, WINDOW = 100, 45
OURS = ("ADFProbitClassifier", "ODAClassifier")
# Lightness and dashes tell the curves apart as well, for print in grey.
STYLES = {
    "ADFProbitClassifier": {"color": "#1b3a5c"},
    "ODAClassifier": {"color": "#e0701a"},
    "SGDClassifier": {"color": "#8a8a8a"},
    "  constant rate": {"color": "#8a8a8a", "linestyle": "--"},
}


def estimators():
    """Return what runs, by name."""
    return {
        "ADFProbitClassifier": ADFProbitClassifier(**FORGETTING),
        "ODAClassifier": ODAClassifier(
            100, step="constant", memory_samples=1000, random_state=0
        ),
        "SGDClassifier": logistic_sgd(),
        "  constant rate": logistic_sgd(**CONSTANT_RATE),
    }


def load_elec2(data_dir):
    """Return the features and the class of elec2, in order."""
    path = Path(data_dir) / FILE_SETS["elec2"][0]
    numbers = np.loadtxt(path, delimiter=",", skiprows=1)
    return numbers[:, :6], numbers[:, 6].astype(int)


def draw_stream(n_rows=20_000):
    """Draw rows of two classes whose bent boundary turns by half a circle."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 6))
    angle = np.linspace(0.0, np.pi, n_rows)
    across = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1]
    along = np.cos(angle) * X[:, 1] - np.sin(angle) * X[:, 0]
    noise = 0.3 * rng.standard_normal(n_rows)
    return X, (across + 0.5 * along**2 - 0.5 + noise > 0).astype(int)


def batches(X, y, n_first):
    """Yield rows and classes, batch by batch."""
    stops = [0, *range(n_first, len(X), BATCH), len(X)]
    for start, stop in pairwise(stops):
        yield X[start:stop], y[start:stop]


def learn(X, y, n_first=BATCH):
    """Print the scores of all estimators on a stream, and return their fits.

    Parameters
    ----------
    X, y : ndarray
        Rows and classes, in order.
    n_first : int, default=BATCH
        Rows of the first batch, which is not scored.
    """
    table = Table(
        {
            "estimator": "<19",
            "log loss": ">8.4f",
            "accuracy": ">8.4f",
            "seconds": ">7.1f",
        }
    )
    results = {}
    for name, estimator in estimators().items():
        begun = process_time()
        results[name] = fit_stream(
            make_streaming_pipeline(StandardScaler(), estimator),
            batches(X, y, n_first),
            classes=[0, 1],
            scoring=["neg_log_loss", "accuracy"],
        )
        scores = results[name].scores
        table.row(
            name,
            -scores["neg_log_loss"],
            scores["accuracy"],
            process_time() - begun,
        )
    return results


def draw(results, title, path):
    """Draw the curves of all fits to a file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        2, 1, figsize=(8, 6), sharex=True, layout="constrained"
    )
    labels = {"neg_log_loss": "log loss", "accuracy": "accuracy"}
    for axes, (score, label) in zip(panels, labels.items(), strict=True):
        for name, result in results.items():
            n_samples, values = result.curve(score, window=WINDOW)
            # Windows that are not full yet jump about.
            full = n_samples > WINDOW * BATCH
            shown = name.replace("  ", "SGDClassifier, ")
            values = -values if score == "neg_log_loss" else values
            axes.plot(n_samples[full], values[full], label=shown, **STYLES[name])
        axes.set_ylabel(f"{label}, last {WINDOW * BATCH:,} rows")
        axes.grid(color="0.9", which="both")
    # The loss of the worst is several times that of the best.
    panels[0].set(yscale="log", title=title)
    panels[0].yaxis.set_major_formatter("{x:.1f}")
    panels[0].yaxis.set_minor_formatter("{x:.1f}")
    panels[1].set_xlabel("rows")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4
    )
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def claims_of(results):
    """Return what is claimed: the better of ours to the better of the peers."""
    scores = {name: result.scores for name, result in results.items()}
    peers = [name for name in scores if name not in OURS]

    def best(names, score):
        return max(scores[name][score] for name in names)

    loss = best(OURS, "neg_log_loss") / best(peers, "neg_log_loss")
    ahead = best(OURS, "accuracy") - best(peers, "accuracy")
    return [
        Claim("log loss to the best peer's", loss, 1.0),
        Claim("accuracy less the best peer's", ahead, 0.0, ">="),
    ]


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("prequential", __doc__)
    parser.add_argument("--data", metavar="DIR", help="folder with elec2")
    parser.add_argument("--picture", metavar="FILE", help="draw the curves to a file")
    options = parser.parse_args(arguments)
    scope = "a made stream" if options.data is None else "elec2"
    X, y = draw_stream() if options.data is None else load_elec2(options.data)
    print(describe_threads())
    with threadpool_limits(1):
        results = learn(X, y)
    if options.picture is not None:
        draw(results, f"Predicted, then learnt: {scope}", options.picture)
    return conclude(claims_of(results), scope, options.strict)


if __name__ == "__main__":
    sys.exit(main())

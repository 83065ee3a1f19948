"""The demonstration of the published code of multi-resolution annealing.

Claim: on its two-dimensional Gaussian mixtures of two classes, 480 training rows and
120 test rows, a flat ODAClassifier of (x0, x1) with at most 100 codevectors has a
test accuracy of at least 0.975, and one of three resolutions, the coarse feature and
then (x0, x1) twice, at least 0.99 with at most 25 leaves. Both take less time than
the published code, for which 86 s (flat) and 2.7 s (three resolutions) are known.

Peers: KNeighborsClassifier(5) and RandomForestClassifier on (x0, x1), in the same run;
of the published code the two times above, which other hardware took.

Measured: median accuracy and processor seconds of a fit over five seeds, one thread;
the least accuracy is printed beside. One of the 120 test rows is 0.0083.
"""

import sys
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import describe_threads
from odalib import ODAClassifier, Resolution

MOST_FLAT, SIZES = 100, (2, 8, 25)
PUBLISHED_SECONDS = {"flat": 86.0, "three resolutions": 2.7}
LEAST_ACCURACY = {"flat": 0.975, "three resolutions": 0.99}
MOST_CODEVECTORS = {"flat": MOST_FLAT, "three resolutions": SIZES[-1]}


def load_rows(data_dir):
    """Return the training and the test rows, each as features and classes."""
    path = Path(data_dir) / "oda_gaussians.csv"
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    is_test, classes, X = rows[:, 0] == 1, rows[:, 1].astype(int), rows[:, 2:]
    return (X[~is_test], classes[~is_test]), (X[is_test], classes[is_test])


def contestants(seed):
    """Yield name, classifier and the columns that it sees."""
    coarse, middle, fine = SIZES
    resolutions = [
        Resolution([0], n_codevectors=coarse),
        Resolution([1, 2], n_codevectors=middle),
        [1, 2],
    ]
    yield "flat", ODAClassifier(max_codevectors=MOST_FLAT, random_state=seed), [1, 2]
    tree = ODAClassifier(fine, resolutions=resolutions, random_state=seed)
    yield "three resolutions", tree, [0, 1, 2]
    yield "KNeighbors", KNeighborsClassifier(5), [1, 2]
    yield "RandomForest", RandomForestClassifier(random_state=seed), [1, 2]


def stored(model):
    """Return how many rows or codevectors a model keeps to predict with."""
    if isinstance(model, ODAClassifier):
        return len(model.codevectors_)
    if isinstance(model, KNeighborsClassifier):
        return model.n_samples_fit_
    return sum(tree.tree_.n_leaves for tree in model.estimators_)


def run(data_dir, seeds):
    """Return accuracies, seconds and sizes of every contestant, a list per name."""
    train, test = load_rows(data_dir)
    found = {}
    for seed in range(seeds):
        for name, model, columns in contestants(seed):
            start = process_time()
            model.fit(train[0][:, columns], train[1])
            seconds = process_time() - start
            accuracy = model.score(test[0][:, columns], test[1])
            found.setdefault(name, []).append((accuracy, seconds, stored(model)))
    return {name: np.array(runs).T for name, runs in found.items()}


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("published_demo", __doc__)
    parser.add_argument(
        "--data", metavar="DIR", required=True, help="folder of oda_gaussians.csv"
    )
    parser.add_argument("--seeds", type=int, default=5, help="runs of every model")
    options = parser.parse_args(arguments)
    print(describe_threads())
    with threadpool_limits(1):
        found = run(options.data, options.seeds)
    columns = {"model": "<18", "accuracy": ">8.4f", "least": ">7.4f"}
    columns |= {"stored": ">6.0f", "seconds": ">8.2f", "published": ">9"}
    table = Table(columns)
    claims = []
    for name, (accuracies, seconds, sizes) in found.items():
        accuracy, time = median(accuracies), median(seconds)
        published = PUBLISHED_SECONDS.get(name)
        shown = "" if published is None else f"{published:.1f}"
        table.row(name, accuracy, min(accuracies), max(sizes), time, shown)
        if published is None:
            continue
        claims += [
            Claim(f"{name}: accuracy", accuracy, LEAST_ACCURACY[name], ">="),
            Claim(f"{name}: codevectors", max(sizes), MOST_CODEVECTORS[name]),
            Claim(f"{name}: seconds", time, published),
        ]
    return conclude(claims, f"{options.seeds} seeds", options.strict)


if __name__ == "__main__":
    sys.exit(main())

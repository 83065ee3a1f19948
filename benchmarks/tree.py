"""Trees of codevectors against flat codebooks of as many.

Claim: on 200,000 x 16 correlated normal rows, ODAClusterer(500, resolutions=[None,
None]) and ODAClusterer(2000, ...) take at most a tenth of the time of flat fits, and
their distortion is at most 1.05 times theirs. The time of a prediction grows with the
comparisons on the way down, depth times branching, and not with the leaves: from 100
leaves to 10,000 at most twice as fast as the comparisons do, for rows together and
for one row at a time.

Peers: the flat ODAClusterer of as many codevectors; for predictions scikit-learn's
pairwise_distances_argmin over all leaves.

Measured: processor seconds of one thread, of flat fits once and of trees the median
of three; the distortion of a tree is that of the leaves that rows descend to. The
columns of the normal rows have standard deviations 1, 1/2, ..., 1/16 before a random
rotation. Two mixtures are shown, and held to nothing: of 20 components as streams has
them, which overlap, and of 500 with centres of standard deviation 1, which hardly do:
cells of the first resolution cut components in two, which no child mends. Trees with
first resolutions chosen by hand stand beside the default one, which has the cube root
of the leaves. The trees that predict have a branching of ten and one more resolution
each; the fastest of five runs counts, and 300 single rows.
"""

import sys
from statistics import median
from time import process_time

import numpy as np
from sklearn.metrics import pairwise_distances_argmin
from threadpoolctl import threadpool_limits

from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import describe_threads
from odalib import ODAClusterer, Resolution

N_FEATURES = 16
FIRST_SIZES = {500: (5, 22), 2000: (5, 45)}
PREDICTING = ([10, 100], [10, 100, 1000], [10, 100, 1000, 10_000])
PARTS = ("fit", "predict")


def draw_normal(n_rows):
    """Draw normal rows whose covariance is full and has eigenvalues 1 / j^2."""
    rng = np.random.default_rng(0)
    rotation, _ = np.linalg.qr(rng.standard_normal((N_FEATURES, N_FEATURES)))
    scales = 1 / np.arange(1, N_FEATURES + 1)
    return (scales * rng.standard_normal((n_rows, N_FEATURES))) @ rotation.T


def draw_mixture(n_rows, n_components, scale):
    """Draw rows about normal centres; ``scale`` is their standard deviation."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=scale, size=(n_components, N_FEATURES))
    component = rng.integers(n_components, size=n_rows)
    return centres[component] + rng.standard_normal((n_rows, N_FEATURES))


def processor_seconds(task):
    """Return the result of a task and the processor seconds it took."""
    start = process_time()
    result = task()
    return result, process_time() - start


def distortion(model, X):
    """Return the mean squared distance of rows from the leaves they descend to."""
    return np.square(X - model.cluster_centers_[model.predict(X)]).sum(axis=1).mean()


def resolutions_of(sizes):
    """Return resolutions of all features, so large; the last as the estimator."""
    return [*(Resolution(n_codevectors=size) for size in sizes[:-1]), None]


def compare_fits(table, name, X, n_leaves):
    """Print flat and tree, and return both ratios of the default tree."""
    flat, flat_seconds = processor_seconds(
        lambda: ODAClusterer(n_leaves, random_state=0).fit(X)
    )
    reference = distortion(flat, X)
    table.row(name, str(n_leaves), flat_seconds, 1.0, 1.0)
    by_hand = [resolutions_of((size, n_leaves)) for size in FIRST_SIZES[n_leaves]]
    ratios = []
    for resolutions in ([None, None], *by_hand):
        tree = ODAClusterer(n_leaves, resolutions=resolutions, random_state=0)
        runs = [processor_seconds(lambda tree=tree: tree.fit(X)) for _ in range(3)]
        seconds = median(run[1] for run in runs)
        ratio = distortion(tree, X) / reference
        sizes = " > ".join(map(str, tree.tree_.n_codevectors))
        table.row(name, sizes, seconds, flat_seconds / seconds, ratio)
        ratios.append((flat_seconds / seconds, ratio))
    return ratios[0]


def claim_fits(n_rows, leaves):
    """Compare fits on all data and return the claims of the normal rows."""
    columns = {"rows": "<12", "codevectors": "<12", "seconds": ">8.2f"}
    table = Table(columns | {"times as fast": ">13.1f", "distortion": ">10.4f"})
    normal = draw_normal(n_rows)
    claims = []
    for n_leaves in leaves:
        speed, ratio = compare_fits(table, "normal", normal, n_leaves)
        claims.append(Claim(f"{n_leaves}: times as fast", speed, 10.0, ">="))
        claims.append(Claim(f"{n_leaves}: distortion", ratio, 1.05))
    for name, components in (("overlapping", (20, 0.7)), ("separated", (500, 1.0))):
        compare_fits(table, name, draw_mixture(n_rows, *components), min(leaves))
    return claims


def comparisons(tree, X):
    """Return the mean number of codevectors that a row is compared with."""
    n_children = np.bincount(tree.tree_.parent[1:], minlength=tree.tree_.n_nodes)
    return float((tree.decision_path(X) @ n_children).mean())


def fastest_run(task, n_runs=5):
    """Return the least processor seconds of some runs."""
    return min(processor_seconds(task)[1] for _ in range(n_runs))


def claim_predictions(n_rows):
    """Time predictions of trees of one branching and return the claims."""
    X = draw_normal(n_rows)
    columns = {"leaves": ">6d", "depth": ">5d", "comparisons": ">11.1f"}
    columns |= {"us a row": ">8.3f", "us of one row": ">13.0f", "all leaves": ">10.3f"}
    table = Table(columns)
    counts, together, alone = [], [], []
    for sizes in PREDICTING:
        tree = ODAClusterer(
            sizes[-1], resolutions=resolutions_of(sizes), random_state=0
        ).fit(X)
        counts.append(comparisons(tree, X))
        seconds = fastest_run(lambda tree=tree: tree.predict(X))
        together.append(1e6 * seconds / n_rows)
        seconds = fastest_run(
            lambda tree=tree: [tree.predict(X[i : i + 1]) for i in range(300)]
        )
        alone.append(1e6 * seconds / 300)
        leaves = tree.cluster_centers_
        seconds = fastest_run(
            lambda leaves=leaves: pairwise_distances_argmin(X, leaves), n_runs=2
        )
        peer = 1e6 * seconds / n_rows
        table.row(len(leaves), len(sizes), counts[-1], together[-1], alone[-1], peer)
    growth = counts[-1] / counts[0]
    return [
        Claim(f"{label}: growth beyond that of comparisons", values / growth, 2.0)
        for label, values in (
            ("rows together", together[-1] / together[0]),
            ("one row", alone[-1] / alone[0]),
        )
    ]


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("tree", __doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="number of rows")
    parser.add_argument(
        "--leaves", type=int, nargs="+", choices=FIRST_SIZES, default=[*FIRST_SIZES]
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args(arguments)
    print(describe_threads())
    claims = []
    with threadpool_limits(1):
        if "fit" in options.parts:
            claims += claim_fits(options.rows, options.leaves)
            print()
        if "predict" in options.parts:
            claims += claim_predictions(options.rows)
    return conclude(claims, f"{options.rows} x {N_FEATURES}", options.strict)


if __name__ == "__main__":
    sys.exit(main())

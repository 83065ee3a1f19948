"""How costs grow with the size of a problem: fitted exponents.

Claim: the cost of a row grows no faster than K and d, with an exponent of at most 1.1
in either, in a stochastic pass (partial_fit) and in predict. The time of a fit grows
no faster than the number of levels on its path, and that of a descent in a tree no
faster than the levels below the root, whose exponent is at most 1.2: each level puts
the rows in the order of their cells. An iteration of expectation propagation in weight
space costs O(n d^2), with exponents of at most 1.1 in n and 2.2 in d, and a sweep of
belief propagation O(edges).

Peers: none; the limits are what theory counts, and a tenth or a fifth for caches.

Measured: processor seconds of one thread, medians of five calls, or of five runs of
quick ones, after a first one that is not counted; the exponent is the slope of the
least-squares line through the logarithms of sizes and costs. Sizes are large enough
that the overhead of a call has gone. K = 32 to 256 at d = 64, and d = 64 to 512 at
K = 64: rows of K normal components that hold 4 million numbers, in batches of 256;
levels end every 4,096 rows, where codevectors are compared with one another. Levels:
5,000 x 16 rows, K = 16, cooling by 0.5^(1/4) to 0.5^(1/32). Trees: 100,000 x 16 rows, a
branching of 4, depths 1 to 5; the time of the root, which compares all rows with the
same codevectors, is taken off. Expectation propagation: five parallel iterations at
n = 80,000 to 640,000 and d = 20, all beyond the caches, and at n = 20,000 and d = 50 to
400. Belief propagation: 20 sweeps over random graphs of 20,000 to 160,000 edges and a
third as many spins.
"""

import sys

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks._growth import fitted_exponent, processor_seconds
from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import describe_threads
from odalib import ODAClusterer, Resolution, infer_ising
from odalib.inference.ep import infer
from odalib.inference.ep.gaussians.linear import WeightSpace
from odalib.inference.ep.gaussians.weights import prior_belief
from odalib.inference.ep.probit import Probit

# The same memory whatever the number of features.
N_NUMBERS, BATCH = 2**22, 256
# So small a tolerance is never met: all iterations are made.
NEVER = 1e-300
BRANCHING, DEPTHS = 4, (1, 2, 3, 4, 5)


def draw_mixture(n_rows, n_features, n_components):
    """Draw rows about normal centres of standard deviation 4."""
    rng = np.random.default_rng(0)
    centres = 4.0 * rng.standard_normal((n_components, n_features))
    component = rng.integers(n_components, size=n_rows)
    return centres[component] + rng.standard_normal((n_rows, n_features))


def row_seconds(n_clusters, n_features):
    """Return the seconds a row of partial_fit and of predict."""
    first, n_rows = 4 * n_clusters, N_NUMBERS // n_features
    X = draw_mixture(first + n_rows, n_features, n_clusters)
    model = ODAClusterer(n_clusters, batch_size=BATCH, random_state=0).fit(X[:first])
    rows = X[first:]
    return [
        processor_seconds(lambda method=method: method(rows)) / n_rows
        for method in (model.partial_fit, model.predict)
    ]


def measure_rows(name, shapes, sizes):
    """Yield the curves of partial_fit and predict over shapes (K, d)."""
    costs = np.array([row_seconds(*shape) for shape in shapes])
    for method, column in zip(("stochastic pass", "predict"), costs.T, strict=True):
        yield f"{method}, {name}", sizes, column, 1.1


def measure_path():
    """Yield the curve of a fit over the levels of its path."""
    X = draw_mixture(5_000, 16, 16)
    levels, seconds = [], []
    for n_steps in (4, 8, 16, 32):
        model = ODAClusterer(16, cooling=0.5 ** (1 / n_steps), random_state=0)
        seconds.append(processor_seconds(lambda model=model: model.fit(X)))
        levels.append(len(model.annealing_path_.temperature))
    yield "path, levels", levels, seconds, 1.1


def measure_tree():
    """Yield the curve of a descent over the levels below the root."""
    X = np.random.default_rng(0).standard_normal((100_000, 16))
    seconds = []
    for depth in DEPTHS:
        above = [Resolution(n_codevectors=BRANCHING**i) for i in range(1, depth)]
        tree = ODAClusterer(
            BRANCHING**depth, resolutions=[*above, None], random_state=0
        ).fit(X[:20_000])
        seconds.append(processor_seconds(lambda tree=tree: tree.predict(X)))
        compared = len(X) * BRANCHING * depth / seconds[-1]
        print(f"depth {depth}: {compared / 1e6:.0f} million comparisons a second")
    below = np.subtract(seconds[1:], seconds[0]) / len(X)
    yield "tree, levels below the root", np.subtract(DEPTHS[1:], 1), below, 1.2


def iteration_seconds(n_rows, n_features):
    """Return the seconds of an iteration of expectation propagation."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    weights = 2 * rng.standard_normal(n_features) / np.sqrt(n_features)
    y = np.sign(X @ weights + rng.standard_normal(n_rows))

    def propagate():
        model = WeightSpace(X, prior_belief(np.ones(n_features)).as_dense())
        infer(model, Probit(y, 1.0), solver="parallel", tol=NEVER, max_iter=5)

    return processor_seconds(propagate) / 5


def measure_propagation():
    """Yield the curves of expectation propagation over rows and over features."""
    rows, features = (80_000, 160_000, 320_000, 640_000), (50, 100, 200, 400)
    yield "EP, n", rows, [iteration_seconds(n, 20) for n in rows], 1.1
    yield "EP, d", features, [iteration_seconds(20_000, d) for d in features], 2.2


def sweep_seconds(n_edges):
    """Return the seconds of a sweep of belief propagation."""
    rng = np.random.default_rng(0)
    n_spins = n_edges // 3
    first = rng.integers(n_spins, size=n_edges)
    second = (first + rng.integers(1, n_spins, size=n_edges)) % n_spins
    half = sp.coo_array(
        (0.3 * rng.standard_normal(n_edges), (first, second)), shape=(n_spins, n_spins)
    )
    J, B = (half + half.T).tocsr(), rng.standard_normal(n_spins)
    sweeps = {"tol": NEVER, "max_iter": 20}
    return (
        processor_seconds(lambda: infer_ising(J, B, "belief_propagation", **sweeps))
        / sweeps["max_iter"]
    )


def measure_messages():
    """Yield the curve of belief propagation over edges."""
    edges = (20_000, 40_000, 80_000, 160_000)
    yield "BP, edges", edges, [sweep_seconds(n) for n in edges], 1.1


def measure_all():
    """Yield label, sizes, costs and largest exponent of every curve."""
    numbers, features = (32, 64, 128, 256), (64, 128, 256, 512)
    yield from measure_rows("K", [(k, 64) for k in numbers], numbers)
    yield from measure_rows("d", [(64, d) for d in features], features)
    yield from measure_path()
    yield from measure_tree()
    yield from measure_propagation()
    yield from measure_messages()


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    options = argument_parser("growth", __doc__).parse_args(arguments)
    print(describe_threads())
    claims = []
    with threadpool_limits(1):
        curves = list(measure_all())
    table = Table({"curve": "<28", "size": ">8d", "seconds": ">10.3e"})
    for label, sizes, costs, limit in curves:
        for size, cost in zip(sizes, costs, strict=True):
            table.row(label, int(size), cost)
        claims.append(Claim(f"exponent, {label}", fitted_exponent(sizes, costs), limit))
    return conclude(claims, f"{len(curves)} curves", options.strict)


if __name__ == "__main__":
    sys.exit(main())

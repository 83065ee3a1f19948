"""Time of assumed-density filtering, row by row.

Claim: the kernels of all covariances, rows handed over in one call, are at d = 5, 20,
100 and 1000 at least 60, 30, 8 and 15 times as fast as the loop in NumPy, without
forgetting and with it, and at d = 1000 make at least 40 % of the operations a second
that a product of large matrices makes. One call of partial_fit at d = 10 learns a row
at least 20 times as fast as river's LogisticRegression.learn_one. With independent
weights, of CSR rows with 100,000 features and 30 entries each, partial_fit learns at
least 1.3 times as many rows a second as SGDClassifier.

Peers: the loop in NumPy alone, which updates by `C -= loss * np.outer(c, c)`; up to d =
100 also the loop of odalib.kernels.reference, whose updates are BLAS calls in place,
and the smaller ratio counts; dgemm by NumPy; river, in a process of its own;
SGDClassifier(loss='log_loss') with the same batches.

Measured: kernel and loops in turn on the same rows, one thread of BLAS, medians. A row
costs 3 d^2 operations, of the products and the update of a triangle; a product of two
matrices of n rows and columns 2 n^3, here with n = 2000. At d = 1000 the operations
alone, at the speed of dgemm, leave no more than some five to seven times the speed of
the loop with BLAS in place, which is printed and not claimed. The time of river is that
of dictionaries at hand. Batches of 1,000 and of 10,000 CSR rows; the smaller ratio
counts.
"""

import subprocess
import sys
from importlib.util import find_spec
from statistics import median
from time import perf_counter

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks._peers import logistic_sgd
from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import alternate, describe_threads
from odalib import ADFProbitClassifier
from odalib.kernels import adf as kernels
from odalib.kernels.reference import adf as reference
from odalib.kernels.reference.probit import probit_step

# Weights, and the times that the kernels are to be faster.
SIZES = {5: 60, 20: 30, 100: 8, 1000: 15}
FORGETTING = 0.999
# Rows of the kernel and, fewer, of the loop.
ROWS = {5: 50_000, 20: 50_000, 100: 5_000, 1000: 320}
LOOP_ROWS = {5: 3_000, 20: 3_000, 100: 2_000, 1000: 64}
N_FEATURES, N_ENTRIES = 100_000, 30
RIVER_ROWS = """
import random
from statistics import median
from time import perf_counter
from river.linear_model import LogisticRegression
random.seed(0)
rows = [{j: random.gauss(0, 1) for j in range(10)} for _ in range(5000)]
labels = [sum(row.values()) + random.gauss(0, 1) > 0 for row in rows]
seconds = []
for _ in range(5):
    model = LogisticRegression()
    start = perf_counter()
    for row, label in zip(rows, labels):
        model.learn_one(row, label)
    seconds.append(perf_counter() - start)
print(median(seconds) / len(rows))
"""


def linear_rows(n_rows, n_features):
    """Draw standard normal rows, and labels by a linear function and noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    weights = rng.standard_normal(n_features) / np.sqrt(n_features)
    return X, np.where(X @ weights + rng.standard_normal(n_rows) > 0, 1.0, -1.0)


def by_factor(which, X, y):
    """Learn rows without forgetting."""
    d = X.shape[1]
    factor = np.eye(d, order="F")
    which.learn_factor(np.zeros(d), factor, np.ones(d), X, y, np.ones(len(y)), 1.0)


def by_covariance(which, X, y):
    """Learn rows with forgetting."""
    d = X.shape[1]
    which.learn_covariance(
        np.zeros(d),
        np.eye(d, order="F"),
        np.zeros(d),
        np.ones(d),
        FORGETTING,
        X,
        y,
        np.ones(len(y)),
        1.0,
    )


def plain(X, y, forgetting):
    """Learn rows as one writes it in NumPy."""
    mean, covariance = np.zeros(X.shape[1]), np.eye(X.shape[1])
    variances = np.einsum("ii->i", covariance)
    for row, label in zip(X, y.tolist(), strict=True):
        direction = covariance @ row
        variance = float(row @ direction)
        gain, kept = probit_step(label, float(row @ mean), variance, 1.0)
        mean += gain * direction
        covariance -= (1.0 - kept) / variance * np.outer(direction, direction)
        if forgetting < 1.0:
            mean *= forgetting
            covariance *= forgetting**2
            variances += 1.0 - forgetting**2


def matrix_rate(n_runs):
    """Return the operations a second of a product of large matrices."""
    a = np.random.default_rng(0).standard_normal((2000, 2000))
    seconds = []
    for _ in range(n_runs):
        start = perf_counter()
        a @ a
        seconds.append(perf_counter() - start)
    return 2 * len(a) ** 3 / median(seconds)


def claim_full(n_runs):
    """Compare the kernels of all covariances with loops, and with dgemm."""
    rate = matrix_rate(n_runs)
    print(f"dgemm: {rate / 1e9:.1f} billion operations a second")
    table = Table(
        {
            "forgetting": ">10",
            "weights": ">7d",
            "us a row": ">8.3f",
            "NumPy": ">8.2f",
            "ratio": ">6.1f",
            "BLAS": ">8.2f",
            "their ratio": ">11.1f",
            "of dgemm": ">8.2f",
        }
    )
    claims = []
    for forgetting, learn in ((1.0, by_factor), (FORGETTING, by_covariance)):
        for d, limit in SIZES.items():
            X, y = linear_rows(ROWS[d], d)
            few = X[: LOOP_ROWS[d]], y[: LOOP_ROWS[d]]
            ours, in_blas = alternate(
                lambda _, learn=learn, rows=(X, y): learn(kernels, *rows),
                lambda _, learn=learn, rows=few: learn(reference, *rows),
                range(n_runs),
            )
            again, in_numpy = alternate(
                lambda _, learn=learn, rows=(X, y): learn(kernels, *rows),
                lambda _, rows=(*few, forgetting): plain(*rows),
                range(n_runs),
            )
            own = median(ours.seconds + again.seconds) / ROWS[d]
            loops = [runs.median_seconds / LOOP_ROWS[d] for runs in (in_numpy, in_blas)]
            ratios = [loop / own for loop in loops]
            share = 3 * d**2 / own / rate
            table.row(
                str(forgetting),
                d,
                1e6 * own,
                1e6 * loops[0],
                ratios[0],
                1e6 * loops[1],
                ratios[1],
                share,
            )
            ratio = min(ratios) if d <= 100 else ratios[0]
            case = f"forgetting {forgetting}, d = {d}"
            claims.append(Claim(case, ratio, limit, ">="))
        claims.append(Claim(f"{case}, of dgemm", share, 0.4, ">="))
    return claims


def claim_river(python, n_rows, n_runs):
    """Compare one call of partial_fit with river, row by row."""
    done = subprocess.run(
        [python, "-c", RIVER_ROWS], capture_output=True, text=True, check=True
    )
    X, y = linear_rows(n_rows, 10)
    seconds = []
    for _ in range(n_runs):
        start = perf_counter()
        ADFProbitClassifier().partial_fit(X, y, classes=[-1.0, 1.0])
        seconds.append(perf_counter() - start)
    own, other = median(seconds) / n_rows, float(done.stdout)
    print(f"d = 10: {1e6 * own:.3f} us a row, river {1e6 * other:.2f}")
    return [Claim("river, d = 10", other / own, 20, ">=")]


def sparse_batches(size, n_batches):
    """Draw batches of CSR rows with labels by a linear function and noise."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(N_FEATURES)
    batches = []
    for _ in range(n_batches):
        columns = rng.integers(N_FEATURES, size=(size, N_ENTRIES))
        data = rng.standard_normal(size * N_ENTRIES)
        ends = np.arange(0, size * N_ENTRIES + 1, N_ENTRIES)
        X = sp.csr_matrix((data, columns.ravel(), ends), (size, N_FEATURES))
        X.sum_duplicates()
        noise = rng.standard_normal(size)
        batches.append((X, X @ weights + noise > 0))
    return batches


def claim_sparse(n_runs):
    """Compare independent weights with stochastic gradients on CSR batches."""
    table = Table({"rows a batch": ">12d", "us a row": ">8.3f", "SGD": ">8.3f"})
    ratios = []
    for size in (1_000, 10_000):
        batches = sparse_batches(size, 4)
        subject, peer = ADFProbitClassifier(covariance="diagonal"), logistic_sgd()
        for model in (subject, peer):
            model.partial_fit(*batches[0], classes=[False, True])
        ours, theirs = alternate(
            lambda k, batches=batches, model=subject: model.partial_fit(*batches[k]),
            lambda k, batches=batches, model=peer: model.partial_fit(*batches[k]),
            list(range(4)) * n_runs,
        )
        own, other = ours.median_seconds / size, theirs.median_seconds / size
        table.row(size, 1e6 * own, 1e6 * other)
        ratios.append(other / own)
    return [Claim("CSR rows", min(ratios), 1.3, ">=")]


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("adf_speed", __doc__)
    parser.add_argument("--runs", type=int, default=5, help="turns of both")
    parser.add_argument("--rows", type=int, default=200_000, help="beside river")
    parser.add_argument(
        "--river", metavar="PYTHON", help="interpreter that has river, if not this one"
    )
    options = parser.parse_args(arguments)
    if kernels.compiled is None:
        print("the kernels are not compiled here: they are the loop in NumPy")
    print(describe_threads())
    with threadpool_limits(1):
        claims = claim_full(options.runs) + claim_sparse(options.runs)
        python = options.river or (sys.executable if find_spec("river") else None)
        if python is not None:
            claims += claim_river(python, options.rows, options.runs)
    scope = f"{options.runs} runs" + ("" if python else ", without river")
    return conclude(claims, scope, options.strict)


if __name__ == "__main__":
    sys.exit(main())

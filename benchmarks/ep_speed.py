"""Time and memory of the EP classifiers.

Claim: EPProbitClassifier at n = 100,000, d = 50 takes with a fixed prior at most 6
times one LogisticRegression fit, and with the evidence maximised at most 1.0 times
LogisticRegressionCV(Cs=10, cv=5). At 20 rows a weight and more (2,000 x 20, 20,000 x
50, 100,000 x 100) it takes at most 3 times as long as LogisticRegression with
solver='newton-cholesky', which forms the same d x d curvature; on 100,000 x 100 rows of
condition number 1e6 at most 0.3 times as long as its default, lbfgs. At n = 500, d =
5000 it takes at most 0.5 seconds of processor time and forms no d x d array.
EPGaussianProcessClassifier at n = 1000 and 2000 takes at most 1.0 times
GaussianProcessClassifier with the kernel fixed, and at most 0.5 times it optimised from
the same start. With 300 inducing points and the kernel fixed, 100,000 rows fit in at
most 120 seconds and 2000 MB.

Peers: those named, from scikit-learn, with their defaults otherwise; lbfgs with
max_iter=1000, which it needs to converge.

Measured: subject and peer fit the same rows in turn, both with one thread of BLAS and
OpenMP, medians. (odalib's BLAS has one thread whatever the limit. A peer with two of
its own on two idle processors gains up to a half; beside other work, a thread pool that
waits by spinning takes up to ten times as long.) Processor time is that of all threads,
the median of the runs. An array of d x d would show in the peak of tracemalloc, which
sees all of NumPy's arrays, taken in a fit of its own and counted in such arrays of
float64. The last case runs in a process of its own, and its memory is the peak of that
process, libraries and rows included.
"""

import sys
import tracemalloc
import warnings
from statistics import median
from time import perf_counter, process_time

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import alternate, describe_threads
from benchmarks.memory import peak_mb, run_apart
from odalib import EPGaussianProcessClassifier, EPProbitClassifier

PARTS = ("linear", "newton", "wide", "process", "inducing")
SHAPES = ((2_000, 20), (20_000, 50), (100_000, 100))


def linear_rows(n_rows, n_features):
    """Draw standard normal rows, with classes by a linear function and noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    weights = 2 * rng.standard_normal(n_features) / np.sqrt(n_features)
    return X, X @ weights + rng.standard_normal(n_rows) > 0


def ill_conditioned_rows(n_rows, n_features):
    """Draw normal rows of condition number 1e6, with classes that all of them tell."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    latent = rng.standard_normal((n_rows, n_features))
    X = latent * np.logspace(0, -6, n_features) @ axes.T
    signal = 2 * latent @ rng.standard_normal(n_features) / np.sqrt(n_features)
    return X, signal + rng.standard_normal(n_rows) > 0


def curved_rows(n_rows):
    """Draw standard normal rows of five features, with classes that no plane parts."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 5))
    latent = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3]
    return X, latent + rng.standard_normal(n_rows) > 0


def time_ratio(table, case, subject, peer, rows, n_runs):
    """Print the median seconds of both fits and return their ratio."""
    ours, theirs = alternate(
        lambda _: subject.fit(*rows), lambda _: peer.fit(*rows), range(n_runs)
    )
    ratio = ours.median_seconds / theirs.median_seconds
    table.row(case, ours.median_seconds, theirs.median_seconds, ratio)
    return ratio


def claim_linear(table, n_rows, n_runs):
    """Compare probit regression with logistic regression."""
    rows = linear_rows(n_rows, 50)
    fixed = EPProbitClassifier(), LogisticRegression()
    chosen = EPProbitClassifier("evidence"), LogisticRegressionCV(Cs=10, cv=5)
    return [
        Claim(case, time_ratio(table, case, *pair, rows, n_runs), limit)
        for case, pair, limit in (
            ("probit, fixed prior", fixed, 6.0),
            ("probit, evidence", chosen, 1.0),
        )
    ]


def claim_newton(table, n_runs):
    """Compare probit regression with Newton's method, and lbfgs where that ails."""
    newton = LogisticRegression(solver="newton-cholesky")
    lbfgs = LogisticRegression(max_iter=1000)
    cases = [(f"newton, {n} x {d}", newton, linear_rows(n, d), 3.0) for n, d in SHAPES]
    cases.append(
        ("lbfgs, condition 1e6", lbfgs, ill_conditioned_rows(*SHAPES[-1]), 0.3)
    )
    return [
        Claim(
            case,
            time_ratio(table, case, EPProbitClassifier(), peer, rows, n_runs),
            limit,
        )
        for case, peer, rows, limit in cases
    ]


def claim_process(table, n_runs):
    """Compare Gaussian processes, with a fixed kernel and with an optimised one."""
    claims = []
    for n_rows in (1000, 2000):
        rows = curved_rows(n_rows)
        for kind, optimizer, limit in (
            ("fixed kernel", None, 1.0),
            ("optimised", "fmin_l_bfgs_b", 0.5),
        ):
            pair = [
                classifier(1.0 * RBF(2.0), optimizer=optimizer)
                for classifier in (
                    EPGaussianProcessClassifier,
                    GaussianProcessClassifier,
                )
            ]
            case = f"process, {kind}, {n_rows}"
            ratio = time_ratio(table, case, *pair, rows, n_runs)
            claims.append(Claim(case, ratio, limit))
    return claims


def claim_wide(n_runs):
    """Measure processor time and traced memory where features outnumber rows."""
    X, y = linear_rows(500, 5000)
    seconds = []
    for _ in range(n_runs):
        start = process_time()
        EPProbitClassifier().fit(X, y)
        seconds.append(process_time() - start)
    tracemalloc.start()
    EPProbitClassifier().fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    square = X.shape[1] ** 2 * X.itemsize
    print(
        f"500 x 5000: {median(seconds):.3f} s processor time, peak {peak / 1e6:.0f} MB"
    )
    return [
        Claim("500 x 5000, processor seconds", median(seconds), 0.5),
        Claim("peak in d x d arrays", peak / square, 0.5),
    ]


def fit_inducing(n_rows):
    """Return the seconds of a fit with 300 inducing points, and the process's peak."""
    rows = curved_rows(n_rows)
    model = EPGaussianProcessClassifier(
        1.0 * RBF(2.0), optimizer=None, inducing_points=300, random_state=0
    )
    start = perf_counter()
    model.fit(*rows)
    return perf_counter() - start, peak_mb()


def claim_inducing(n_rows):
    """Measure a Gaussian process with inducing points in a process of its own."""
    seconds, peak = run_apart(fit_inducing, n_rows)
    print(f"{n_rows} rows, 300 inducing points: {seconds:.1f} s, peak {peak:.0f} MB")
    return [
        Claim("inducing, seconds", seconds, 120),
        Claim("inducing, MB", peak, 2000),
    ]


def parse(arguments):
    """Return the command line's options."""
    parser = argument_parser("ep_speed", __doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="rows of large cases")
    parser.add_argument("--runs", type=int, default=5, help="turns of both")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    return parser.parse_args(arguments)


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    options = parse(arguments)
    # The peers announce new defaults in every fit.
    warnings.simplefilter("ignore", FutureWarning)
    claims = []
    # First, while this process is small: the other inherits its peak of memory.
    if "inducing" in options.parts:
        claims += claim_inducing(options.rows)
    if "wide" in options.parts:
        claims += claim_wide(options.runs)
    if {"linear", "newton", "process"} & set(options.parts):
        # The first fit of each pays for thread pools and late imports.
        for model in (EPProbitClassifier(), LogisticRegression()):
            model.fit(*linear_rows(100, 2))
        print(describe_threads())
        columns = {"case": "<28", "seconds": ">8.3f", "peer": ">8.3f"}
        table = Table({**columns, "ratio": ">6.2f"})
        if "linear" in options.parts:
            claims += claim_linear(table, options.rows, options.runs)
        if "newton" in options.parts:
            claims += claim_newton(table, options.runs)
        if "process" in options.parts:
            claims += claim_process(table, options.runs)
    scope = f"{', '.join(options.parts)}; {options.rows} rows, {options.runs} runs"
    return conclude(claims, scope, options.strict)


if __name__ == "__main__":
    sys.exit(main())

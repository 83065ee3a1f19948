"""Time and memory of the EP classifiers.

Claim: on two processors, EPProbitClassifier at n = 100,000, d = 50 takes with a
fixed prior at most 6 times one LogisticRegression fit, and with the evidence
maximised at most 1.0 times LogisticRegressionCV(Cs=10, cv=5). At n = 500, d = 5000
it takes at most 0.5 seconds of processor time and forms no d x d array.
EPGaussianProcessClassifier at n = 1000 takes at most 1.3 times
GaussianProcessClassifier with the kernel fixed, and at most 0.6 times it optimised
from the same start. With 300 inducing points and the kernel fixed, 100,000 rows fit
in at most 120 seconds and 2000 MB.

Peers: those named, from scikit-learn, with their defaults otherwise.

Measured: subject and peer fit the same rows in turn, with one thread of BLAS and
OpenMP and then with two, and the ratio is that of their better median times: a
thread pool that waits by spinning takes up to ten times as long with two beside
other work, which would flatter odalib, whose BLAS has one thread whatever the limit.
Processor time is that of all threads, the median of the runs. An array of d x d
would show in the peak of tracemalloc, which sees all of NumPy's arrays, taken in a
fit of its own and counted in such arrays of float64. The last case runs in a process
of its own, and its memory is the peak of that process, libraries and rows included.
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

THREADS = (1, 2)
PARTS = ("linear", "wide", "process", "inducing")


def linear_rows(n_rows, n_features):
    """Draw standard normal rows, with classes by a linear function and noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    weights = 2 * rng.standard_normal(n_features) / np.sqrt(n_features)
    return X, X @ weights + rng.standard_normal(n_rows) > 0


def curved_rows(n_rows):
    """Draw standard normal rows of five features, with classes that no plane parts."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 5))
    latent = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3]
    return X, latent + rng.standard_normal(n_rows) > 0


def time_ratio(table, case, subject, peer, rows, n_runs):
    """Print the median seconds of both fits and return the ratio of the best ones."""
    own, other = [], []
    for n_threads in THREADS:
        ours, theirs = alternate(
            lambda _: subject.fit(*rows),
            lambda _: peer.fit(*rows),
            range(n_runs),
            n_threads,
        )
        own.append(ours.median_seconds)
        other.append(theirs.median_seconds)
    ratio = min(own) / min(other)
    table.row(case, *own, *other, ratio)
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


def claim_process(table, n_runs):
    """Compare Gaussian processes, with a fixed kernel and with an optimised one."""
    rows = curved_rows(1000)
    claims = []
    for case, optimizer, limit in (
        ("process, fixed kernel", None, 1.3),
        ("process, optimised", "fmin_l_bfgs_b", 0.6),
    ):
        pair = [
            classifier(1.0 * RBF(2.0), optimizer=optimizer)
            for classifier in (EPGaussianProcessClassifier, GaussianProcessClassifier)
        ]
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
    if {"linear", "process"} & set(options.parts):
        # The first fit of each pays for thread pools and late imports.
        for model in (EPProbitClassifier(), LogisticRegression()):
            model.fit(*linear_rows(100, 2))
        print(describe_threads(" and ".join(map(str, THREADS))))
        columns = {"case": "<22", "1 thread": ">8.3f", "2 threads": ">9.3f"}
        columns |= {"peer, 1": ">8.3f", "peer, 2": ">8.3f", "ratio": ">6.2f"}
        table = Table(columns)
        if "linear" in options.parts:
            claims += claim_linear(table, options.rows, options.runs)
        if "process" in options.parts:
            claims += claim_process(table, options.runs)
    scope = f"{', '.join(options.parts)}; {options.rows} rows, {options.runs} runs"
    return conclude(claims, scope, options.strict)


if __name__ == "__main__":
    sys.exit(main())

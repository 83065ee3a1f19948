"""Peak memory of fit, partial_fit and predict on a million rows.

Claim: on 1,000,000 x 16 rows of float32 with K = 100, each holds less than 300 MB
beyond the data.

Peers: KMeans (one start of ten iterations: more time would not change its memory)
and MiniBatchKMeans.partial_fit.

Measured: each task in a process of its own, as the rise of the peak resident memory
(resource.getrusage) from just before the call, when the libraries are imported and
the rows exist, to just after it. The model that predicts is fitted to 20,000 rows
in yet another process: a process inherits the peak of the one that starts it, so
that the starting one must stay small.
"""

import multiprocessing
import resource
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from sklearn.cluster import KMeans

from benchmarks._peers import mini_batch_kmeans
from benchmarks._report import Claim, Table, argument_parser, conclude
from odalib import ODAClusterer

N_CLUSTERS = 100
LIMIT_MB = 300


def draw_rows(n_rows):
    """Return float32 rows of 100 clusters, moved in place so that no copy exists."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n_rows, 16), dtype=np.float32)
    centres = rng.normal(scale=4, size=(N_CLUSTERS, 16)).astype(np.float32)
    for k, centre in enumerate(centres):
        rows[k::N_CLUSTERS] += centre
    return rows


def peak_mb():
    """Return the peak resident memory of this process in MB of 10^6 bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def fit_small(model):
    """Return the model fitted to few rows."""
    return model.fit(draw_rows(20_000))


def measure_peaks(model, method, n_rows):
    """Return the peaks before and after ``model.method(rows)``."""
    rows = draw_rows(n_rows)
    before = peak_mb()
    getattr(model, method)(rows)
    return before, peak_mb()


def run_apart(function, *arguments):
    """Return ``function(*arguments)`` from a fresh process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        return executor.submit(function, *arguments).result()


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("memory", __doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="number of rows")
    options = parser.parse_args(arguments)
    subject = ODAClusterer(N_CLUSTERS, random_state=0)
    kmeans = KMeans(N_CLUSTERS, n_init=1, max_iter=10, random_state=0)
    minibatch = mini_batch_kmeans(N_CLUSTERS)
    tasks = [
        (subject, "fit"),
        (subject, "partial_fit"),
        (run_apart(fit_small, subject), "predict"),
        (kmeans, "fit"),
        (minibatch, "partial_fit"),
        (run_apart(fit_small, kmeans), "predict"),
    ]
    columns = {"estimator": "<15", "method": "<11", "MB before": ">9.0f"}
    table = Table(columns | {"MB at peak": ">10.0f", "rise": ">6.0f"})
    claims = []
    for model, method in tasks:
        before, after = run_apart(measure_peaks, model, method, options.rows)
        table.row(type(model).__name__, method, before, after, after - before)
        if isinstance(model, ODAClusterer):
            claims.append(
                Claim(f"{method}, MB beyond the data", after - before, LIMIT_MB)
            )
    return conclude(claims, f"{options.rows} x 16 float32", options.strict)


if __name__ == "__main__":
    sys.exit(main())

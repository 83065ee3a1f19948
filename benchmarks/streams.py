"""One pass of partial_fit over a long stream, however it is cut.

Claim: after 500,000 rows of a 20-component mixture in 16 dimensions, the distortion
on fresh rows is at most 1.005 (separated) and 1.015 (overlapping) times that of
KMeans(n_init=10) fitted to 100,000 of them; for one batch_size the same bits come
out however the stream is cut into calls, and after pickling in mid-stream. Where
the centres move 8 units and step='constant', at most 1.05 times the oracle.

Peers: KMeans(n_init=10) in memory; MiniBatchKMeans.partial_fit on the same calls
(its first call holds n_clusters rows at least); the true moving centres.

Measured: components have equal weights and standard deviation 1; centres are normal
with standard deviation 4 (separated) or 0.7 (overlapping). Cuts: 1 (the first tenth
of the stream), 16, 64, 256, 4096 and ragged calls of 1 to 3000 rows; all are scored
on 20,000 fresh rows, in the drift those of the stream's end.
"""

import pickle
import sys
from itertools import pairwise
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._data import nearest_squared_distance
from benchmarks._peers import kmeans, mini_batch_kmeans
from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import describe_threads
from odalib import ODAClusterer

N_COMPONENTS, N_FEATURES, N_FRESH = 20, 16, 20_000
BATCH_SIZES = (16, 64, 256, 4096)
COLUMNS = {
    "stream": "<12",
    "batch_size": ">10",
    "calls of": ">8",
    "rows": ">7d",
    "K": ">3d",
    "ratio": ">7.4f",
    "MiniBatchKMeans": ">15.4f",
    "us a row": ">8.1f",
    "MiniBatch": ">9.1f",
}


def draw_centres(scale):
    """Return the centres of a mixture; ``scale`` is their standard deviation."""
    rng = np.random.default_rng(0)
    return rng.normal(scale=scale, size=(N_COMPONENTS, N_FEATURES))


def draw_rows(centres, n_rows, seed, motion=None):
    """Draw rows in order; with ``motion`` the centres move by it over the stream."""
    rng = np.random.default_rng(seed)
    component = rng.integers(N_COMPONENTS, size=n_rows)
    rows = rng.standard_normal((n_rows, N_FEATURES)) + centres[component]
    if motion is not None:
        rows += np.linspace(0, 1, n_rows)[:, None] * motion[component]
    return rows


def cut(n_rows, size, start=0):
    """Return the bounds of the calls: all of one size, or ragged."""
    if size == "ragged":
        sizes = np.random.default_rng(1).integers(1, 3001, size=n_rows)
        bounds = start + np.cumsum(sizes)
        return [start, *bounds[bounds < n_rows].tolist(), n_rows]
    return [*range(start, n_rows, size), n_rows]


def feed(model, rows, bounds):
    """Stream the rows into the model; return it and the microseconds a row."""
    with threadpool_limits(1):
        began = perf_counter()
        for first, last in pairwise(bounds):
            model.partial_fit(rows[first:last])
        seconds = perf_counter() - began
    return model, 1e6 * seconds / (bounds[-1] - bounds[0])


def run_rival(rows, bounds):
    """Stream the rows into MiniBatchKMeans, which refuses too short a first call."""
    later = [bound for bound in bounds if bound > N_COMPONENTS]
    start = [0, N_COMPONENTS] if bounds[1] < N_COMPONENTS else [0]
    return feed(mini_batch_kmeans(N_COMPONENTS), rows, start + later)


def distortion(centres, fresh):
    """Return the mean squared distance of the fresh rows to the nearest centre."""
    return nearest_squared_distance(fresh, centres).mean()


def compare(table, stream, rows, size, fresh, reference, **parameters):
    """Run both on one cut, print the row, return our model and its ratio."""
    bounds = cut(len(rows), size)
    model = ODAClusterer(N_COMPONENTS, random_state=0, **parameters)
    model, own_time = feed(model, rows, bounds)
    rival, rival_time = run_rival(rows, bounds)
    ratio, rival_ratio = (
        distortion(m.cluster_centers_, fresh) / reference for m in (model, rival)
    )
    table.row(
        stream,
        str(parameters.get("batch_size", "default")),
        str(size),
        len(rows),
        len(model.cluster_centers_),
        ratio,
        rival_ratio,
        own_time,
        rival_time,
    )
    return model, ratio


def steady(table, stream, scale, n_rows):
    """Return the worst ratio on a steady mixture and whether all bits agree."""
    centres = draw_centres(scale)
    rows = draw_rows(centres, n_rows, seed=1)
    fresh = draw_rows(centres, N_FRESH, seed=2)
    memory = kmeans(N_COMPONENTS).fit(rows[: n_rows // 5])
    reference = distortion(memory.cluster_centers_, fresh)
    head = rows[: n_rows // 10]
    ratios, agree = [], True
    for part, sizes in ((head, (1, 256)), (rows, (16, 64, 256, 4096, "ragged"))):
        runs = [compare(table, stream, part, s, fresh, reference) for s in sizes]
        ratios += [ratio for _, ratio in runs]
        agree &= all(same_bits(runs[0][0], model) for model, _ in runs)
    for batch_size in BATCH_SIZES:
        _, ratio = compare(
            table, stream, rows, 256, fresh, reference, batch_size=batch_size
        )
        ratios.append(ratio)
    return max(ratios), agree


def drifting(table, n_rows):
    """Return the worst ratio to the oracle while every centre moves 8 units."""
    centres = draw_centres(4.0)
    motion = np.random.default_rng(3).standard_normal(centres.shape)
    motion *= 8 / np.linalg.norm(motion, axis=1, keepdims=True)
    rows = draw_rows(centres, n_rows, seed=1, motion=motion)
    fresh = draw_rows(centres + motion, N_FRESH, seed=2)
    oracle = distortion(centres + motion, fresh)
    ratios = []
    for size in BATCH_SIZES:
        parameters = {"batch_size": size, "step": "constant"}
        ratios.append(
            compare(table, "drift", rows, size, fresh, oracle, **parameters)[1]
        )
    return max(ratios)


def same_bits(a, b):
    """Return whether two models hold the same codebook, bit for bit."""
    return (
        a.cluster_centers_.tobytes() == b.cluster_centers_.tobytes()
        and a.cluster_weights_.tobytes() == b.cluster_weights_.tobytes()
    )


def pickles_in_mid_stream(n_rows):
    """Return whether a model pickled with rows in its queue goes on alike."""
    rows = draw_rows(draw_centres(4.0), n_rows // 10, seed=1)
    middle = len(rows) // 2 + 1
    model, _ = feed(ODAClusterer(N_COMPONENTS, random_state=0), rows, cut(middle, 100))
    twin = pickle.loads(pickle.dumps(model))
    rest = cut(len(rows), 100, start=middle)
    return same_bits(feed(model, rows, rest)[0], feed(twin, rows, rest)[0])


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("streams", __doc__)
    parser.add_argument("--rows", type=int, default=500_000, help="length of a stream")
    options = parser.parse_args(arguments)
    print(describe_threads())
    table = Table(COLUMNS)
    separated, bits_separated = steady(table, "separated", 4.0, options.rows)
    overlapping, bits_overlapping = steady(table, "overlapping", 0.7, options.rows)
    drift = drifting(table, options.rows)
    differing = (not bits_separated) + (not bits_overlapping)
    claims = [
        Claim("worst distortion ratio, separated", separated, 1.005),
        Claim("worst distortion ratio, overlapping", overlapping, 1.015),
        Claim("worst distortion ratio, drift", drift, 1.05),
        Claim("streams whose cuts differ", differing, 0),
        Claim(
            "streams that differ after pickling",
            not pickles_in_mid_stream(options.rows),
            0,
        ),
    ]
    return conclude(claims, f"{options.rows} rows", options.strict)


if __name__ == "__main__":
    sys.exit(main())

"""Two Dask workers against one, of one thread each.

Claim: `odalib.distributed.ODAClusterer` with K = 64 fits 20,000,000 x 16 rows of
float32, made on the workers, at least 1.7 times faster on two workers than on one.
The rows are of 64 clusters that overlap, as those of most data do; clusters far apart
are found by the sample, and leave the workers less to do.

Peers: the same fit on one worker.

Measured: wall-clock seconds of ``fit`` on rows that are persisted, from one cluster of
worker processes for each number of workers, alternating; the fastest of ``--runs``.
Scheduler, client and workers share the cores. The profile of the best run says what
took the time: how long workers computed, how long they moved data, and how long
something else was waited for, which is the annealing of the sample on the client and
the way of a round. A task of more than 10 MB in a graph would end the run: Dask warns
of a graph of that size, and warnings are errors here. The codevectors of all runs are
the same bits, or the run ends. Workers keep the memory that they have freed, as
docs/distributed.md advises; as Dask starts them, all takes a third longer.

The estimate for more rows and workers takes the seconds that a row costs a worker, the
time that the client is alone, and 1 ms of the scheduler for each of the two tasks of a
block in a round; it assumes as many rounds, blocks of equal rows, workers that hold
their rows in memory, and no worker slower than another.
"""

import sys
import time
import warnings
from operator import itemgetter

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, get_task_stream, wait

from benchmarks._report import Claim, Table, argument_parser, conclude
from odalib.distributed import ODAClusterer

N_CLUSTERS, N_FEATURES, N_BLOCKS = 64, 16, 16
LEAST_SPEED_UP = 1.7
# Bytes that the allocator of a worker keeps for its next arrays.
KEPT_BYTES = 2**30
# Of the estimate.
MANY_ROWS, MANY_WORKERS, BLOCKS_PER_WORKER, TASK_SECONDS = 10**10, 100, 8, 1e-3


def draw_block(place, n_rows):
    """Return float32 rows of 64 clusters that overlap; another place gives others."""
    centres = np.random.default_rng(0).standard_normal((N_CLUSTERS, N_FEATURES))
    rng = np.random.default_rng([1, place])
    rows = rng.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    for k, centre in enumerate(centres.astype(np.float32)):
        rows[k::N_CLUSTERS] += centre
    return rows


def collection(n_rows):
    """Return rows that the workers are to make."""
    size = n_rows // N_BLOCKS
    draw = dask.delayed(draw_block, pure=True)
    return da.concatenate(
        [
            da.from_delayed(draw(place, size), (size, N_FEATURES), np.float32)
            for place in range(N_BLOCKS)
        ]
    )


def timed_fit(n_workers, n_rows):
    """Return seconds, codevectors, rounds, bytes moved, and the profile of a fit."""
    with (
        dask.config.set(
            {
                f"distributed.nanny.pre-spawn-environ.{name}": KEPT_BYTES
                for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
            }
        ),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        rows = collection(n_rows).persist()
        wait(rows)
        before = sent_by_workers(client)
        estimator = ODAClusterer(N_CLUSTERS, random_state=0)
        with get_task_stream(client) as stream:
            start = time.perf_counter()
            model = estimator.fit(rows)
            seconds = time.perf_counter() - start
        profile = {"compute": 0.0, "transfer": 0.0}
        for task in stream.data:
            for span in task["startstops"]:
                if span["action"] in profile:
                    profile[span["action"]] += span["stop"] - span["start"]
        return {
            "seconds": seconds,
            "points": model.cluster_centers_,
            "rounds": estimator.n_rounds_,
            "most": estimator.bytes_moved_,
            "sent": sent_by_workers(client) - before,
            **profile,
        }


def sent_by_workers(client):
    """Return the bytes that workers have sent to each other so far."""
    return sum(client.run(_sent).values())


def _sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


def print_estimate(run, n_workers, n_rows):
    """Print what many rows on many workers would take."""
    per_row = run["compute"] / n_rows
    alone = run["seconds"] - run["compute"] / n_workers
    blocks = MANY_WORKERS * BLOCKS_PER_WORKER
    computing = per_row * MANY_ROWS / MANY_WORKERS
    scheduling = run["rounds"] * 2 * blocks * TASK_SECONDS
    print(
        f"Estimate for {MANY_ROWS:.0e} rows on {MANY_WORKERS} workers, in "
        f"{blocks} blocks: {computing:.0f} s of computing on every worker, "
        f"{scheduling:.0f} s of scheduling {run['rounds']} rounds, {alone:.0f} s of "
        f"the client: {computing + scheduling + alone:.0f} s in all; "
        f"{4 * N_FEATURES * MANY_ROWS / MANY_WORKERS / 1e9:.1f} GB of rows a worker."
    )


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("distributed", __doc__)
    parser.add_argument("--rows", type=int, default=20_000_000, help="number of rows")
    parser.add_argument("--runs", type=int, default=2, help="runs of each")
    options = parser.parse_args(arguments)
    warnings.filterwarnings("error", "Sending large graph")
    columns = {"workers": ">7d", "seconds": ">8.1f", "rounds": ">6d"}
    columns |= {"MB moved": ">8.2f", "MB at most": ">10.2f"}
    shares = {"computing": ">9.0%", "moving": ">7.1%", "else": ">6.0%"}
    table = Table(columns | shares)
    best = {}
    for _ in range(options.runs):
        for n_workers in (1, 2):
            run = timed_fit(n_workers, options.rows)
            busy, moving = (
                run[name] / run["seconds"] / n_workers
                for name in ("compute", "transfer")
            )
            table.row(
                n_workers,
                run["seconds"],
                run["rounds"],
                run["sent"] / 1e6,
                run["most"] / 1e6,
                busy,
                moving,
                1.0 - busy - moving,
            )
            best.setdefault(n_workers, run)
            if not np.array_equal(run["points"], best[1]["points"]):
                raise AssertionError("Codevectors depend on the workers.")
            best[n_workers] = min(best[n_workers], run, key=itemgetter("seconds"))
    print_estimate(best[2], 2, options.rows)
    speed_up = best[1]["seconds"] / best[2]["seconds"]
    claims = [Claim("one worker / two, seconds", speed_up, LEAST_SPEED_UP, ">=")]
    size = f"{options.rows} x {N_FEATURES} float32"
    return conclude(claims, size, options.strict)


if __name__ == "__main__":
    sys.exit(main())

"""Expectation propagation on two Dask workers against one.

Claim: on 4,000,000 x 30 rows of float32, two workers of one thread each fit
`odalib.distributed.EPProbitClassifier` at least 1.7 times as fast as one, to the same
bits.

Peer: the same fit on one worker.

Measured: workers are processes of this machine, which scheduler and client share with
them. Each cluster draws the rows on its workers, in blocks of 250,000, and holds them;
then the fit is timed, runs of both in turn, the fastest of each counts. Printed are the
rounds, the bytes that they moved at the most, and the seconds that a worker computed on
average, of those that the fit took: what is left is the scheduler's and the client's.
"""

import sys
from time import perf_counter

import dask.array as da
import numpy as np
from distributed import Client, get_task_stream, wait

from benchmarks._report import Claim, Table, argument_parser, conclude
from odalib import EPProbitClassifier
from odalib.distributed._blocks import Blocks
from odalib.distributed._ep_fit import learn_blocks

BLOCK_ROWS, N_FEATURES, LIMIT = 250_000, 30, 1.7


def draw_rows(n_rows):
    """Return rows and labels with noise, which workers draw."""
    random = da.random.default_rng(0)
    size = min(BLOCK_ROWS, n_rows)
    X = random.standard_normal(
        (n_rows, N_FEATURES), chunks=(size, N_FEATURES), dtype=np.float32
    )
    noise = random.standard_normal(n_rows, chunks=size)
    return X, X @ np.linspace(1.0, -1.0, N_FEATURES) + noise > 0.5


def time_fit(client, X, y):
    """Return the model, the blocks, and the seconds of the fit and of computing."""
    model = EPProbitClassifier()
    begin = perf_counter()
    with get_task_stream(client) as stream:
        blocks = Blocks.of(X, y, client=client)
        learn_blocks(model, blocks)
        seconds = perf_counter() - begin
    computing = sum(
        span["stop"] - span["start"]
        for task in stream.data
        for span in task["startstops"]
        if span["action"] == "compute"
    )
    return model, blocks, seconds, computing


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("distributed_ep", __doc__)
    parser.add_argument("--rows", type=int, default=4_000_000, help="number of rows")
    parser.add_argument("--runs", type=int, default=2, help="fits on each cluster")
    options = parser.parse_args(arguments)
    columns = {"workers": ">7", "seconds": ">8.2f", "computing": ">9.2f"}
    columns |= {"iterations": ">10", "rounds": ">6", "MB moved": ">8.2f"}
    table = Table(columns)
    fastest, models = {1: np.inf, 2: np.inf}, {}
    for _ in range(options.runs):
        for n_workers in fastest:
            with Client(
                n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
            ) as client:
                X, y = client.persist(draw_rows(options.rows))
                wait([X, y])
                model, blocks, seconds, computing = time_fit(client, X, y)
            table.row(
                n_workers,
                seconds,
                computing / n_workers,
                int(model.n_iter_[0]),
                blocks.rounds,
                blocks.bytes_moved / 1e6,
            )
            fastest[n_workers] = min(fastest[n_workers], seconds)
            models[n_workers] = model
    apart = np.abs(models[1].coef_ - models[2].coef_).max()
    return conclude(
        [
            Claim("one worker over two", fastest[1] / fastest[2], LIMIT, ">="),
            Claim("difference of the weights", apart, 0.0),
        ],
        f"{options.rows} x {N_FEATURES} float32",
        options.strict,
    )


if __name__ == "__main__":
    sys.exit(main())

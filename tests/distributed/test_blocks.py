"""Blocks of rows on workers: intake, checks and rounds."""

import gc
import os
import signal
import time
from functools import reduce
from operator import add

import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask import delayed
from distributed import Client

from odalib.distributed._blocks import PIECE_BYTES, Blocks

ROWS = np.random.default_rng(0).standard_normal((60, 3))
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, size=60)
LABELS = np.array(["a", "b", "c"])[np.arange(60) % 3]
FRAME = pd.DataFrame(ROWS, columns=["a", "b", "c"])


def cut(values, size=20):
    return da.from_array(values, chunks=(size, *values.shape[1:]))


def listed(block):
    return [block]


def weighted_sum(block, factor):
    rows, _, weights = block
    return factor * (weights @ rows)


def held_sum(block):
    return block[0].sum(axis=0)


def with_state(block, state, factor):
    return state + factor * len(block[0])


def nested(first, second):
    return f"({first}{second})"


def letter(block):
    return "abcdefg"[int(block[0][0, 0])]


def absent(block):
    return block.absent


def size_of(block, *broadcast):
    return sum(len(value) for value in broadcast)


def of_all(blocks):
    """Rows, targets and weights of all blocks, brought here for the comparison."""
    parts = blocks.reduce(listed, combine=add)
    rows, targets, weights = zip(*parts, strict=True)
    if targets[0] is not None:
        targets = np.concatenate(targets)
    return np.concatenate(rows), targets, np.concatenate(weights)


def test_blocks_hold_what_the_arrays_hold(threads):
    blocks = Blocks.of(cut(ROWS), cut(LABELS), cut(WEIGHTS), threads)
    rows, labels, weights = of_all(blocks)
    np.testing.assert_array_equal(rows, ROWS)
    np.testing.assert_array_equal(labels, LABELS)
    np.testing.assert_array_equal(weights, WEIGHTS)
    assert blocks.lengths == [20, 20, 20]
    assert (blocks.n_rows, blocks.n_features) == (60, 3)
    assert blocks.feature_names is None


def test_unknown_and_empty_blocks(threads):
    array = cut(ROWS, 7)
    positive = array[array[:, 0] > 0.5]
    blocks = Blocks.of(positive[:, :2], positive[:, 2], client=threads)
    expected = ROWS[ROWS[:, 0] > 0.5]
    rows, targets, weights = of_all(blocks)
    np.testing.assert_array_equal(rows, expected[:, :2])
    np.testing.assert_array_equal(targets, expected[:, 2])
    np.testing.assert_array_equal(weights, np.ones(len(expected)))
    frame = dd.from_pandas(FRAME.assign(row=np.arange(60)), npartitions=5)
    blocks = Blocks.of(frame[frame.row > 40][["a", "b", "c"]], client=threads)
    assert blocks.lengths == [0, 0, 0, 7, 12]
    np.testing.assert_array_equal(of_all(blocks)[0], ROWS[41:])
    np.testing.assert_array_equal(of_all(blocks.usable())[0], ROWS[41:])
    assert blocks.usable().lengths == [7, 12]


def test_frames_give_names_dtype_targets_and_weights(threads):
    frame = FRAME.astype(np.float32).assign(label=LABELS, weight=WEIGHTS)
    frame = dd.from_pandas(frame, npartitions=3)
    blocks = Blocks.of(frame[["a", "b"]], frame.label, frame.weight, threads)
    assert list(blocks.feature_names) == ["a", "b"]
    assert blocks.dtype == np.float32
    rows, labels, weights = of_all(blocks)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, ROWS[:, :2].astype(np.float32))
    np.testing.assert_array_equal(labels, LABELS)
    np.testing.assert_array_equal(weights, WEIGHTS)


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [("f4", "f4"), ("f8", "f8"), ("f2", "f8"), ("i8", "f8"), ("?", "f8")],
)
def test_dtypes_are_those_of_a_fit_in_memory(threads, dtype, kept):
    blocks = Blocks.of(cut(ROWS.astype(dtype)), client=threads)
    assert blocks.dtype == of_all(blocks)[0].dtype == np.dtype(kept)


def test_rows_of_no_weight_are_left_out(threads):
    weights = WEIGHTS * (np.arange(60) % 4 > 0)
    weights[:20] = 0.0
    blocks = Blocks.of(cut(ROWS), cut(LABELS), cut(weights), threads).usable()
    rows, labels, left = of_all(blocks)
    np.testing.assert_array_equal(rows, ROWS[weights > 0])
    np.testing.assert_array_equal(labels, LABELS[weights > 0])
    np.testing.assert_array_equal(left, weights[weights > 0])
    assert blocks.lengths == [15, 15]


def test_a_round_combines_neighbours_in_an_order_of_the_blocks(threads):
    numbers = np.repeat(np.arange(7.0), 2)[:, np.newaxis]
    blocks = Blocks.of(cut(numbers, 2), client=threads)
    assert blocks.reduce(letter, combine=nested) == "(((ab)(cd))((ef)g))"


def test_a_round_sums_as_in_memory(threads):
    blocks = Blocks.of(cut(ROWS), sample_weight=cut(WEIGHTS), client=threads)
    before = blocks.rounds, blocks.bytes_moved
    total = blocks.reduce(weighted_sum, 3.0, combine=add)
    np.testing.assert_allclose(total, 3.0 * WEIGHTS @ ROWS, rtol=1e-13)
    assert blocks.rounds == before[0] + 1
    assert before[1] < blocks.bytes_moved < before[1] + 10_000


def test_what_is_broadcast_is_cut_into_small_tasks(threads):
    large = np.zeros(3 * PIECE_BYTES // 8)
    blocks = Blocks.of(cut(ROWS), client=threads)
    assert blocks.reduce(size_of, large, combine=add) == 3 * len(large)
    # Once for each of the two workers.
    assert blocks.bytes_moved > 2 * large.nbytes


def test_states_stay_on_the_workers_and_go_on(threads):
    blocks = Blocks.of(cut(ROWS), client=threads)
    states = blocks.map(held_sum)
    states = blocks.map(with_state, 10.0, states=states)
    total = blocks.reduce(with_state, 1.0, combine=add, states=states)
    np.testing.assert_allclose(total, ROWS.sum(axis=0) + 660.0, rtol=1e-12)


def test_states_outlive_a_worker(processes):
    blocks = Blocks.of(cut(ROWS, 5), client=processes)
    states = blocks.map(held_sum)
    for _ in range(3):
        states = blocks.map(with_state, 1.0, states=states)
    expected = blocks.reduce(with_state, 0.0, combine=add, states=states)
    victim = next(iter(processes.run(os.getpid).values()))
    os.kill(victim, signal.SIGKILL)
    again = blocks.reduce(with_state, 0.0, combine=add, states=states)
    np.testing.assert_array_equal(again, expected)
    parts = np.split(ROWS, 12)
    own = reduce(add, (part.sum(axis=0) for part in parts)) + 180.0
    np.testing.assert_allclose(again, own, rtol=1e-12)
    processes.wait_for_workers(2, timeout=60)


FRAMED = dd.from_pandas(FRAME.assign(text="x"), npartitions=2)
GAPS = pd.DataFrame({"label": np.where(np.arange(60) == 33, None, LABELS)})
SPOILT = {
    "rows": np.where(np.arange(60) == 33, np.nan, ROWS.T).T,
    "targets": np.where(np.arange(60) == 33, np.inf, WEIGHTS),
    "weights": np.where(np.arange(60) == 33, -1.0, WEIGHTS),
}
ARRAY = cut(ROWS)
BAD = {
    "rows in memory": ((ROWS,), TypeError, "must be a Dask array or data frame"),
    "labels in memory": ((ARRAY, LABELS), TypeError, "y must be a Dask array"),
    "column blocks": (
        (da.from_array(ROWS, chunks=(20, 1)),),
        ValueError,
        "3 blocks of columns",
    ),
    "one dimension": ((cut(WEIGHTS),), ValueError, "must be of 2 dimensions"),
    "sparse": (
        (ARRAY.map_blocks(sp.csr_matrix, meta=sp.csr_matrix((0, 3))),),
        TypeError,
        "csr_matrix blocks",
    ),
    "known chunks that differ": (
        (ARRAY, cut(LABELS, 15)),
        ValueError,
        r"\(20, 20, 20\) and \(15, 15, 15, 15\); .*y.rechunk",
    ),
    "number of chunks that differ": (
        (ARRAY[ARRAY[:, 0] > 0], cut(LABELS, 30)),
        ValueError,
        "3 of unknown sizes",
    ),
    "lengths that differ": (
        (ARRAY[ARRAY[:, 0] > 0], cut(LABELS)),
        ValueError,
        "Block 0: X has .* rows and y has 20",
    ),
    "text": ((FRAMED,), ValueError, "must hold numbers; text has dtype"),
    "missing rows": ((cut(SPOILT["rows"]),), ValueError, "Block 1: X contains NaN"),
    "missing targets": (
        (ARRAY, cut(SPOILT["targets"])),
        ValueError,
        "Block 1: y contains NaN",
    ),
    "missing text": (
        (dd.from_pandas(FRAME, npartitions=3), dd.from_pandas(GAPS, npartitions=3)),
        ValueError,
        "Block 1: y contains NaN",
    ),
    "series": ((FRAMED["a"],), ValueError, "got a series"),
    "bag": ((db.from_sequence([1, 2]),), TypeError, "got Bag"),
    "delayed": ((delayed(ROWS),), TypeError, "got DelayedLeaf"),
    "name of two columns": (
        (dd.from_pandas(FRAME.set_axis(["a", "b", "a"], axis=1), npartitions=2),),
        ValueError,
        "several columns of the name 'a'",
    ),
    "names of two kinds": (
        (dd.from_pandas(FRAME.set_axis(["a", "b", 3], axis=1), npartitions=2),),
        TypeError,
        "such as 3; make all of them text",
    ),
    "blocks of other dimensions": (
        (ARRAY.map_blocks(lambda block: block[:, 0], meta=ROWS[:0]),),
        ValueError,
        "Block 0: X must be of 2 dimensions, got 1",
    ),
    "negative weights": (
        (ARRAY, None, cut(SPOILT["weights"])),
        ValueError,
        "Block 1: .*negative weights",
    ),
    "no weight": ((ARRAY, None, cut(0.0 * WEIGHTS)), ValueError, "zero for every row"),
    "no rows": (
        (ARRAY[ARRAY[:, 0] > 99.0],),
        ValueError,
        "all of its blocks are empty",
    ),
    "no columns": ((ARRAY[:, :0],), ValueError, "no columns"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(threads, case):
    arguments, kind, message = BAD[case]
    with pytest.raises(kind, match=message):
        Blocks.of(*arguments, client=threads)


def test_partition_of_other_columns_is_named(threads):
    parts = [FRAME[:30], FRAME[30:].rename(columns={"c": "d"})]
    frame = dd.from_map(
        lambda place: parts[place], [0, 1], meta=FRAME[:0], enforce_metadata=False
    )
    with pytest.raises(ValueError, match=r"'d'.*announces.*'c'"):
        Blocks.of(frame, client=threads)


def test_an_error_on_a_worker_leaves_nothing_on_the_cluster(threads):
    """Its traceback tells of the blocks, and the client keeps no error without end."""
    blocks = Blocks.of(ARRAY, client=threads)
    assert threads.futures
    with pytest.raises(AttributeError, match="absent"):
        blocks.reduce(absent, combine=add)
    del blocks
    # The client lets go of what it has cancelled in a thread of its own.
    for _ in range(100):
        gc.collect()
        if not threads.futures:
            break
        time.sleep(0.01)
    assert not threads.futures


def test_what_is_no_client_is_named():
    with pytest.raises(TypeError, match=r"must be a distributed.Client.*got str"):
        Blocks.of(ARRAY, client="tcp://127.0.0.1:8786")


def test_no_client():
    with pytest.raises(ValueError, match="There is no Dask client"):
        Blocks.of(ARRAY)


def test_client_that_was_closed(threads):
    client = Client(threads.cluster, set_as_default=False)
    client.close()
    with pytest.raises(ValueError, match="Dask client is closed"):
        Blocks.of(ARRAY, client=client)


def test_current_client_is_taken(threads):
    with Client(threads.cluster.scheduler_address) as client:
        assert Blocks.of(ARRAY).client is client

"""fit_stream reads the same rows from whatever holds them, and skips them alike."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier, SGDRegressor

from odalib import ADFProbitClassifier, ODAClusterer
from odalib.streaming import fit_stream, make_streaming_pipeline
from odalib.streaming.sources import open_source
from tests.streaming.streams import CHUNK, COLUMNS, N_SAMPLES, WEIGHTS, X, Y, chunks

FRAME = pd.DataFrame(X, columns=COLUMNS).assign(label=Y, weight=WEIGHTS)
NAMED = {"target": "label", "sample_weight": "weight"}
CUT = {**NAMED, "batch_size": CHUNK}
ROWS = {"target": Y, "sample_weight": WEIGHTS, "batch_size": CHUNK}


LAZY = da.from_array(X, chunks=(600, 3))
LAZY_FRAME = pl.DataFrame(FRAME.to_dict("list")).lazy()


def starts():
    return range(0, N_SAMPLES, CHUNK)


def csv(folder):
    FRAME.to_csv(folder / "rows.csv", index=False)
    return pd.read_csv(folder / "rows.csv", chunksize=CHUNK), NAMED


def parquet_folder(folder):
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    for place, (start, stop) in enumerate([(0, 500), (500, 800), (800, N_SAMPLES)]):
        pyarrow.parquet.write_table(
            table.slice(start, stop - start),
            folder / f"{place}.parquet",
            row_group_size=200,
        )
    return pyarrow.dataset.dataset(folder, format="parquet"), CUT


def arrow_folder(folder):
    """Files that have no row groups."""
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    pyarrow.dataset.write_dataset(
        table,
        folder / "arrow",
        format="arrow",
        existing_data_behavior="delete_matching",
    )
    return pyarrow.dataset.dataset(folder / "arrow", format="arrow"), CUT


def parquet_file(folder):
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    path = folder / "rows.parquet"
    pyarrow.parquet.write_table(table, path, row_group_size=400)
    return pyarrow.parquet.ParquetFile(path), CUT


def memory_map(folder):
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", Y)
    mapped = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in "Xy"}
    return mapped["X"], {**ROWS, "target": mapped["y"]}


def tuples(folder):
    slices = [slice(start, start + CHUNK) for start in starts()]
    return ((X[rows], Y[rows], WEIGHTS[rows]) for rows in slices), {}


SOURCES = {
    "csv": csv,
    "parquet folder": parquet_folder,
    "arrow folder": arrow_folder,
    "parquet file": parquet_file,
    "memory map": memory_map,
    "tuples": tuples,
    "table": lambda _: (pa.Table.from_pandas(FRAME, preserve_index=False), CUT),
    "record batches": lambda _: (
        pa.Table.from_pandas(FRAME).to_batches(max_chunksize=CHUNK),
        NAMED,
    ),
    "pandas frame": lambda _: (FRAME, CUT),
    "polars frame": lambda _: (pl.DataFrame(FRAME.to_dict("list")), CUT),
    "polars chunks": lambda _: (
        [pl.DataFrame(FRAME[s : s + CHUNK].to_dict("list")) for s in starts()],
        NAMED,
    ),
    "frame beside rows": lambda _: (FRAME[COLUMNS], ROWS),
    "sparse": lambda _: (sp.csr_array(X), ROWS),
    "array": lambda _: (X, ROWS),
    "dask array": lambda _: (
        da.from_array(X, chunks=(CHUNK, 2)),
        {
            "target": da.from_array(Y, chunks=CHUNK),
            "sample_weight": da.from_array(WEIGHTS, chunks=CHUNK),
        },
    ),
    "dask frame": lambda _: (dd.from_pandas(FRAME, npartitions=12, sort=False), NAMED),
}


@pytest.fixture(scope="module")
def expected():
    model = ADFProbitClassifier()
    for start in starts():
        rows = slice(start, start + CHUNK)
        model.partial_fit(X[rows], Y[rows], classes=[0, 1], sample_weight=WEIGHTS[rows])
    return model


@pytest.mark.parametrize("name", SOURCES)
def test_the_same_rows_are_learnt_from_every_source(name, tmp_path, expected):
    source, options = SOURCES[name](tmp_path)
    result = fit_stream(ADFProbitClassifier(), source, classes=[0, 1], **options)
    assert result.n_samples == N_SAMPLES and result.n_resumed == 0
    np.testing.assert_allclose(result.estimator.coef_, expected.coef_, rtol=1e-9)
    if any(part in name for part in ("csv", "parquet", "pandas", "record")):
        assert list(result.estimator.feature_names_in_) == COLUMNS


@pytest.mark.parametrize("name", SOURCES)
def test_what_was_learnt_is_skipped(name, tmp_path):
    source, options = SOURCES[name](tmp_path)
    cut = {key: options.get(key) for key in ("target", "sample_weight", "batch_size")}
    whole = list(open_source(source, **cut).chunks(0, 0))
    for learnt in (0, 1, 5, len(whole)):
        again, _ = SOURCES[name](tmp_path)
        n_samples = sum(chunk.n_samples for chunk in whole[:learnt])
        rest = list(open_source(again, **cut).chunks(learnt, n_samples))
        assert [c.n_samples for c in rest] == [c.n_samples for c in whole[learnt:]]
        for found, before in zip(rest, whole[learnt:], strict=True):
            np.testing.assert_array_equal(found.y, before.y)


def test_chunks_of_parquet_end_with_their_row_groups(tmp_path):
    dataset, options = parquet_folder(tmp_path)
    source = open_source(dataset, **{**options, "batch_size": 150})
    sizes = [chunk.n_samples for chunk in source.chunks(0, 0)]
    # Files of 500, 300 and 400 rows, in groups of 200.
    assert sizes == [150, 50, 150, 50, 100, 150, 50, 100, 150, 50, 150, 50]
    assert source.n_samples == N_SAMPLES


@pytest.mark.parametrize("learnt", [130, 1300])
def test_a_place_in_parquet_that_no_chunk_ends_at_is_refused(learnt, tmp_path):
    dataset, options = parquet_folder(tmp_path)
    match = "within a batch" if learnt < N_SAMPLES else "100 rows more than the stream"
    with pytest.raises(ValueError, match=match):
        open_source(dataset, **options).chunks(2, learnt)


def test_parquet_parts_that_were_learnt_are_not_read(tmp_path):
    dataset, options = parquet_folder(tmp_path)
    source = open_source(dataset, **options)
    (tmp_path / "0.parquet").unlink()
    assert sum(c.n_samples for c in source.chunks(5, 500)) == N_SAMPLES - 500


def test_clusterers_need_no_targets():
    result = fit_stream(ODAClusterer(3, random_state=0), X, batch_size=CHUNK)
    again = fit_stream(ODAClusterer(3, random_state=0), (x for x, _ in chunks()))
    np.testing.assert_array_equal(
        result.estimator.cluster_centers_, again.estimator.cluster_centers_
    )


def test_several_targets_are_named_in_a_list():
    frame = pd.DataFrame(X, columns=COLUMNS)
    seen = []

    class Learner:
        def partial_fit(self, X, y):
            seen.append((list(X.columns), y.shape))

    fit_stream(Learner(), frame, target=["a", "c"], batch_size=600)
    assert seen == [(["b"], (600, 2))] * 2


def test_chunks_may_be_lists_of_texts():
    pipeline = make_streaming_pipeline(
        HashingVectorizer(n_features=64), SGDClassifier(random_state=0)
    )
    texts = [(["red wine", "green tea"], [1, 0]), (["tea"], [0])]
    result = fit_stream(pipeline, texts, classes=[0, 1])
    assert result.n_samples == 3
    assert list(pipeline.predict(["wine", "tea"])) == [1, 0]


def test_chunks_without_rows_are_counted_and_not_learnt():
    batches = [(X[:0], Y[:0]), *chunks(600), (X[:0], Y[:0])]
    result = fit_stream(SGDRegressor(random_state=0), batches)
    assert (result.n_batches, result.n_samples) == (4, N_SAMPLES)


@pytest.mark.parametrize(
    "batches, options, error, match",
    [
        ([], {}, ValueError, "The stream is empty"),
        ([(X[:0], Y[:0])], {}, ValueError, "The stream is empty"),
        ("rows.csv", {}, TypeError, "open it with pandas.read_csv"),
        (7, {}, TypeError, "an iterable of chunks, not a int"),
        (chunks(), {"batch_size": 10}, ValueError, "comes in chunks of its own"),
        (X, {"batch_size": 0}, ValueError, "batch_size=0 must be a number of rows"),
        (X, {"batch_size": 2.5}, ValueError, "batch_size=2.5 must be a number of rows"),
        (X, {"batch_size": True}, ValueError, "batch_size=True must be a number"),
        (LAZY_FRAME, {}, TypeError, "an iterable of chunks, not a LazyFrame"),
        ([LAZY_FRAME], {"target": "y"}, ValueError, "the chunk is a LazyFrame"),
        (X, {"target": Y[:-1]}, ValueError, "1200 rows, but target has 1199"),
        (X, {"target": 3}, TypeError, "3 is neither the name of a column"),
        (X, {"target": "label"}, ValueError, "the chunk is a ndarray"),
        (chunks(), {"target": Y}, ValueError, "only where batches is one array"),
        ([(X, Y, WEIGHTS, X)], {}, ValueError, "one has 4 items"),
        ([(X, Y[:9])], {}, ValueError, "X has 1200 rows, but y has 9"),
        (FRAME, {"target": "price"}, ValueError, "no column 'price' for target"),
        (chunks(), {"every": 0}, ValueError, "every=0 must be"),
        (LAZY, {"batch_size": 9}, ValueError, "a Array comes in chunks of its own"),
        (LAZY, {"target": Y}, ValueError, "2 blocks of Dask, but target has no"),
        (LAZY, {"target": LAZY[:600, 0]}, ValueError, "2 blocks of Dask, .* has 1"),
        (LAZY, {"target": LAZY[1:, 0]}, ValueError, "X has 600 rows, but y has 599"),
        (
            pa.RecordBatch.from_pandas(FRAME),
            {},
            TypeError,
            "A RecordBatch of pyarrow is no stream",
        ),
    ],
)
def test_what_is_no_stream_is_refused(batches, options, error, match):
    model = SGDRegressor()
    with pytest.raises(error, match=match):
        fit_stream(model, batches, **options)
    assert not hasattr(model, "coef_")


def test_an_estimator_that_cannot_learn_is_refused():
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(TypeError, match="LogisticRegression has no partial_fit"):
        fit_stream(LogisticRegression(), chunks())


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda f: f.rename(columns={"b": "e"}), r"missing \['b'\], new \['e'\]"),
        (lambda f: f[["b", "a", "c"]], "the same in another order"),
        (lambda f: f.to_numpy(), "3 columns without names, where the first chunk had"),
    ],
)
def test_a_chunk_with_other_columns_is_refused(change, match):
    frames = [FRAME[COLUMNS][s : s + CHUNK] for s in starts()]
    frames[3] = change(frames[3])
    model = ODAClusterer(3, random_state=0)
    with pytest.raises(ValueError, match=f"Chunk 3 has other columns.*{match}") as info:
        fit_stream(model, frames)
    assert "chunk 3 of the stream" in info.value.__notes__[0]
    assert model.n_samples_seen_ == 3 * CHUNK


def test_an_error_of_the_stream_says_which_chunk_and_leaves_what_was_learnt():
    def broken():
        yield from list(chunks())[:4]
        raise OSError("the disk is gone")

    model = ADFProbitClassifier()
    with pytest.raises(OSError, match="the disk is gone") as info:
        fit_stream(model, broken(), classes=[0, 1])
    assert "chunk 4" in info.value.__notes__[0]
    assert model.n_samples_seen_ == 4 * CHUNK

"""Blocks of rows: their cut, their bounds, and what they hold."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.annealing import rows as module
from odalib.inference.annealing.codebook import assign, collect_moments
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.rows import RowBlocks, weighted_mean
from tests.oracles.divergences import draw_rows

from .problems import random_codebook

LAYOUTS = {"dense": np.asarray, "csr": sp.csr_matrix}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


def draw_sparse(density):
    """Rows of which so many entries are not zero, dense, (300, 2)."""
    random = np.random.default_rng(0)
    return random.random((300, 2)) * (random.random((300, 2)) < density)


@pytest.mark.parametrize("n_rows", [1, 127, 128, 129, 30_000])
@pytest.mark.parametrize("width", [1, 32, 1000, 10**6])
def test_spans_cover_the_rows_in_order_and_stay_small(n_rows, width):
    spans = RowBlocks(np.zeros((n_rows, 1)), np.ones(n_rows)).spans(width)
    covered = [i for span in spans for i in range(span.start, span.stop)]
    assert covered == list(range(n_rows))
    longest = max(span.stop - span.start for span in spans)
    assert longest <= module.MAX_BLOCK
    assert longest * width <= module.WORK_ELEMENTS or longest <= module.MIN_BLOCK


def test_the_cut_does_not_depend_on_the_number_of_threads():
    x, cuts = np.zeros((30_000, 7)), []
    for n_jobs in (1, 2, 5):
        rows = RowBlocks(x, np.ones(30_000), n_jobs=n_jobs)
        cuts.append(rows.map(lambda block, span: (span.start, len(block)), 50))
    assert cuts[0] == cuts[1] == cuts[2]
    assert len(cuts[0]) > 3


@layouts
def test_no_work_array_holds_all_rows_and_codevectors(layout):
    """Neither in passes that reduce nor in the search for the nearest."""
    n_rows, n_codevectors = 60_000, 60
    x = draw_rows("squared_euclidean", n_rows, 2, 0)
    rows, codebook = (
        RowBlocks(layout(x), np.ones(n_rows)),
        random_codebook(x, n_codevectors),
    )
    divergence = as_divergence("squared_euclidean")
    tracemalloc.start()
    try:
        collect_moments(rows, divergence, codebook, 1.0, codebook.points)
        assign(rows, divergence, codebook)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * 8 * module.WORK_ELEMENTS < 8 * n_rows * n_codevectors / 2


@layouts
def test_reduce_passes_rows_with_their_weights_and_span(layout, monkeypatch):
    monkeypatch.setattr(module, "MAX_BLOCK", 128)
    x, weights = np.arange(600.0).reshape(300, 2), np.arange(1.0, 301.0)
    rows = RowBlocks(layout(x), weights)

    def on_block(block, block_weights, span):
        dense = block.toarray() if sp.issparse(block) else block
        np.testing.assert_array_equal(dense, x[span])
        np.testing.assert_array_equal(block_weights, weights[span])
        return block_weights @ block

    np.testing.assert_array_equal(rows.reduce(on_block, 1), weights @ x)
    assert rows.total_weight == 300 * 301 / 2


@pytest.mark.parametrize("cache", [0, 2**26], ids=["by block", "cached"])
@pytest.mark.parametrize("shift", [None, np.array([0.5, 1e6, -2.0])], ids=["", "shift"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f8", np.uint8])
def test_blocks_are_centred_contiguous_float64(dtype, shift, cache, monkeypatch):
    monkeypatch.setattr(module, "CACHE_BYTES", cache)
    x = np.asfortranarray(
        np.random.default_rng(0).integers(0, 200, (9000, 3)).astype(dtype)
    )
    x.flags.writeable = False
    rows = RowBlocks(x, np.ones(9000), shift)

    def check(block, span):
        assert block.dtype == np.float64
        assert block.flags.c_contiguous
        centred = x[span].astype(float) - (0.0 if shift is None else shift)
        np.testing.assert_array_equal(block, centred)

    assert len(rows.map(check, 1)) == 2
    check(rows.select(slice(3, 9)), slice(3, 9))
    check(rows.select(np.array([8, 1])), np.array([8, 1]))


@pytest.mark.parametrize("cache", [0, 2**26], ids=["by block", "cached"])
def test_memory_maps_are_read(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(module, "CACHE_BYTES", cache)
    x = np.random.default_rng(0).normal(size=(9000, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    codebook, divergence = (
        random_codebook(x.astype(float), 3),
        as_divergence("squared_euclidean"),
    )
    one, other = (
        collect_moments(RowBlocks(rows, np.ones(9000)), divergence, codebook, 1.0)
        for rows in (mapped, x.astype(float))
    )
    np.testing.assert_array_equal(one.total, other.total)


@pytest.mark.parametrize(("limit", "is_sparse"), [(600, False), (599, True)])
def test_few_sparse_rows_are_kept_dense(limit, is_sparse, monkeypatch):
    """By the number of their entries, zeros counted."""
    monkeypatch.setattr(module, "SMALL_ELEMENTS", limit)
    x = draw_sparse(0.1)
    rows = RowBlocks(sp.csr_matrix(x), np.ones(300))
    (block,) = rows.map(lambda block, _: block, 1)
    assert sp.issparse(block) == is_sparse
    dense = block.toarray() if is_sparse else block
    np.testing.assert_array_equal(dense, x)


@pytest.mark.parametrize("cache", [0, 2**26], ids=["by block", "cached"])
@pytest.mark.parametrize("groups", [None, np.arange(300) % 7], ids=["", "groups"])
def test_sparse_rows_that_are_shifted_are_dense_block_by_block(
    groups, cache, monkeypatch
):
    monkeypatch.setattr(module, "MAX_BLOCK", 128)
    monkeypatch.setattr(module, "CACHE_BYTES", cache)
    x = draw_sparse(0.3)
    shift = np.array([0.5, -2.0])
    held = np.arange(300) if groups is None else np.argsort(groups, kind="stable")
    rows = RowBlocks(sp.csr_matrix(x), np.ones(300), shift, groups=groups)

    def check(block, span):
        assert len(block) <= 128
        np.testing.assert_array_equal(block, x[held[span]] - shift)

    rows.map(check, 1)
    check(rows.select(np.array([8, 1])), np.array([8, 1]))


@layouts
def test_covariance(layout):
    x, weights = draw_rows("squared_euclidean", 9000, 3, 0), np.linspace(0.1, 2.0, 9000)
    expected = np.cov(x, rowvar=False, aweights=weights, ddof=0)
    result = RowBlocks(layout(x), weights).covariance()
    np.testing.assert_allclose(result, expected, rtol=1e-10)


@layouts
def test_mean_and_scale(layout):
    x, weights = draw_rows("squared_euclidean", 9000, 3, 0), np.linspace(0.1, 2.0, 9000)
    mean, scale = RowBlocks(layout(x), weights).mean_and_scale()
    expected = np.average(x, axis=0, weights=weights)
    np.testing.assert_allclose(mean, expected, rtol=1e-11)
    square = np.average((x - expected) ** 2, axis=0, weights=weights).mean()
    assert scale == pytest.approx(np.sqrt(square), rel=1e-11)


@layouts
def test_scale_of_equal_rows_is_zero(layout):
    _, scale = RowBlocks(layout(np.full((7, 2), 3.0)), np.ones(7)).mean_and_scale()
    assert scale == 0.0


@layouts
def test_weighted_mean(layout):
    x, weights = draw_rows("squared_euclidean", 9000, 3, 0), np.linspace(0.1, 2.0, 9000)
    rows = layout(x.astype(np.float32))
    expected = np.average(x.astype(np.float32).astype(float), axis=0, weights=weights)
    np.testing.assert_allclose(weighted_mean(rows, weights), expected, rtol=1e-12)


@layouts
def test_phi_of_all_rows(layout):
    x = draw_rows("kullback_leibler", 9000, 3, 0)
    divergence = as_divergence("kullback_leibler")
    phi = RowBlocks(layout(x), np.ones(9000)).phi(divergence)
    np.testing.assert_allclose(phi, divergence.phi(x), rtol=1e-13)

"""The kernels of predictions that serve, compiled or not, against those in NumPy."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.kernels import association as serving
from odalib.kernels.reference import association as reference

# Codevectors, features and rows. A tile is 32 rows, and four planes at a time.
SHAPES = [(1, 1, 1), (3, 2, 31), (4, 5, 32), (6, 3, 33), (41, 20, 300), (8, 130, 65)]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
shifts = pytest.mark.parametrize("has_shift", [True, False])


def problem(shape, seed, *, has_shift=True, spread=1.0):
    """Rows, shift, gradients and offsets."""
    n_codevectors, n_features, n_rows = shape
    random = np.random.default_rng(seed)
    rows = spread * random.normal(size=(n_rows, n_features))
    points = spread * random.normal(size=(n_codevectors, n_features))
    shift = 100.0 * random.normal(size=n_features) if has_shift else None
    if has_shift:
        rows += shift
    return rows, shift, points, 0.5 * (points**2).sum(axis=1)


def starts_of(n_codevectors, random):
    inner = np.flatnonzero(random.random(n_codevectors) < 0.4)
    return np.unique(np.append(0, inner))


def assert_equal_votes(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-200)
    np.testing.assert_allclose(found.sum(axis=0), 1.0, rtol=1e-14)


@shifts
@shapes
@pytest.mark.parametrize("adds", [True, False])
def test_votes(shape, has_shift, adds):
    arguments = problem(shape, 1, has_shift=has_shift)
    starts = starts_of(shape[0], np.random.default_rng(2))
    found = serving.class_votes(*arguments, starts, adds)
    assert_equal_votes(found, reference.class_votes(*arguments, starts, adds))


@pytest.mark.parametrize("adds", [True, False])
def test_votes_of_logits_beyond_exponentials(adds):
    """Only their differences count."""
    arguments = problem((6, 3, 40), 0, has_shift=False, spread=1e3)
    rows, _, points, offsets = arguments
    assert (rows @ points.T - offsets).max() > 1e5
    starts = np.array([0, 2, 5])
    found = serving.class_votes(*arguments, starts, adds)
    assert_equal_votes(found, reference.class_votes(*arguments, starts, adds))


@given(
    seed=st.integers(0, 2**16),
    shape=st.tuples(st.integers(1, 13), st.integers(1, 9), st.integers(1, 90)),
    spread=st.sampled_from([1e-3, 1.0, 30.0]),
    adds=st.booleans(),
)
def test_rows_of_any_spread(seed, shape, spread, adds):
    """Also where nearly all votes vanish."""
    arguments = problem(shape, seed, spread=spread)
    starts = starts_of(shape[0], np.random.default_rng(seed))
    found = serving.class_votes(*arguments, starts, adds)
    assert_equal_votes(found, reference.class_votes(*arguments, starts, adds))


def test_votes_are_the_formula():
    """Two classes, of one codevector and of two."""
    rows, planes = np.array([[1.0], [-2.0]]), np.array([[0.5], [1.0], [2.0]])
    offsets = np.array([0.25, 0.0, 1.0])
    added, largest = (
        serving.class_votes(rows, None, planes, offsets, np.array([0, 1]), adds)
        for adds in (True, False)
    )
    for place, x in enumerate((1.0, -2.0)):
        votes = [math.exp(g * x - c) for (g,), c in zip(planes, offsets, strict=True)]
        first = votes[0] / sum(votes)
        assert added[0, place] == pytest.approx(first, rel=1e-14)
        first = votes[0] / (votes[0] + max(votes[1:]))
        assert largest[0, place] == pytest.approx(first, rel=1e-14)


def test_what_is_said_of_a_row_depends_on_nothing_else():
    """To the last bit, where kernels are compiled; BLAS gives them up."""
    rtol = 0.0 if serving.compiled else 1e-12
    arguments = problem((9, 6, 200), 3)
    starts = np.array([0, 4])
    whole = serving.class_votes(*arguments, starts, True)
    for part in (slice(0, 1), slice(5, 17), slice(150, 200)):
        rows = arguments[0][part]
        found = serving.class_votes(rows, *arguments[1:], starts, True)
        np.testing.assert_allclose(found, whole[:, part], rtol=rtol)


@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda rows: np.repeat(rows, 2, axis=0)[::2],
        lambda rows: rows.astype(np.float32),
        sp.csr_matrix,
        sp.csr_array,
    ],
    ids=["fortran", "strided", "float32", "csr matrix", "csr array"],
)
def test_rows_in_any_layout(layout):
    rows, _, points, _ = problem((7, 5, 100), 4, has_shift=False)
    rows = np.round(8.0 * rows) / 8.0
    sums, largest = serving.row_sums(layout(rows), points[0], 0.5)
    np.testing.assert_allclose(sums, rows @ points[0] + 0.5, rtol=1e-6, atol=1e-6)
    assert largest == np.abs(rows).max()


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 20), (3000, 33)], ids=str)
def test_sums_of_rows(shape):
    random = np.random.default_rng(5)
    rows, weights = random.normal(size=shape), random.normal(size=shape[1])
    sums, largest = serving.row_sums(rows, weights, -0.25)
    np.testing.assert_allclose(sums, rows @ weights - 0.25, rtol=1e-12, atol=1e-13)
    assert largest == serving.largest_size(rows) == np.abs(rows).max()


@pytest.mark.parametrize("has_constant", [True, False])
@pytest.mark.parametrize("part", [np.asarray, np.triu, np.tril, np.zeros_like])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 40), (20, 3, 70), (33, 5, 32)])
def test_latent_moments(shape, part, has_constant):
    n_features, n_beliefs, n_rows = shape
    random = np.random.default_rng(7)
    rows = random.normal(size=(n_rows, n_features))
    n_weights = n_features + has_constant
    means = random.normal(size=(n_beliefs, n_weights))
    roots = part(random.normal(size=(n_beliefs, n_weights, n_weights)))
    found = serving.latent_moments(rows, means, roots)
    whole = np.column_stack([rows, np.ones(n_rows)]) if has_constant else rows
    np.testing.assert_allclose(found[0], whole @ means.T, rtol=1e-11, atol=1e-12)
    covariances = roots @ roots.transpose(0, 2, 1)
    variances = np.einsum("ni,pij,nj->np", whole, covariances, whole)
    np.testing.assert_allclose(found[1], variances, rtol=1e-11, atol=1e-12)
    expected = reference.latent_moments(sp.csr_array(rows), means, roots)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("place", [0, 31, 32, 99])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_size_is_found_anywhere(place, sign):
    rows = np.full((20, 5), 0.5)
    rows.flat[place] = sign * 3.0
    assert serving.largest_size(rows) == 3.0
    assert serving.row_sums(rows, np.zeros(5), 0.0)[1] == 3.0
    assert serving.largest_size(np.empty((0, 5))) == 0.0


def test_sums_that_overflow_leave_it_to_the_largest_size():
    rows = np.array([[1e308, -1e308], [1.0, 1.0]])
    sums, largest = serving.row_sums(rows, np.array([1e10, 1e10]), 0.0)
    assert largest == 1e308 and sums[1] == 2e10


def test_arrays_that_do_not_belong_together_are_refused():
    rows, shift, points, offsets = problem((4, 3, 10), 6)
    starts = np.array([0, 2])
    for changed in (
        (rows[:, 1:], shift, points, offsets),
        (rows, shift[1:], points, offsets),
        (rows, shift, points, offsets[1:]),
        (rows, shift, points[:0], offsets[:0]),
    ):
        rows_, shift_, points_, offsets_ = map(np.ascontiguousarray, changed)
        with pytest.raises(ValueError):
            serving.class_votes(rows_, shift_, points_, offsets_, np.array([0]), True)
        with pytest.raises(ValueError):
            serving.class_votes(rows_, shift_, points_, offsets_, starts, True)
    with pytest.raises(ValueError):
        serving.row_sums(rows, np.ones(2), 0.0)
    with pytest.raises(ValueError):
        serving.latent_moments(rows, np.ones((2, 3)), np.ones((2, 2, 4)))

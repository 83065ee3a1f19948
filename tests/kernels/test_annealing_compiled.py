"""The kernels that serve, compiled or not, against those in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.kernels import annealing as serving
from odalib.kernels.reference import annealing as reference

# One tile holds 1,024 rows at the most, and 64 at the least.
SHAPES = [(1, 1, 1), (2, 1, 7), (5, 3, 64), (3, 2, 2051), (40, 9, 130), (1100, 2, 150)]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)


def problem(shape, seed, *, spread=1.0):
    """Arguments of `gibbs_sums`, multipliers left out."""
    n_codevectors, n_features, n_rows = shape
    random = np.random.default_rng(seed)
    rows = spread * random.normal(size=(n_rows, n_features))
    points = spread * random.normal(size=(n_codevectors, n_features))
    weights = random.dirichlet(np.ones(n_codevectors))
    return (
        rows,
        random.uniform(0.1, 2.0, n_rows),
        points,
        0.5 * (points**2).sum(axis=1),
        np.log(weights),
        random.uniform(0.2, 3.0),
        points,
    )


def multipliers_of(kind, arguments, seed):
    rows, *_, points = arguments
    random = np.random.default_rng(seed)
    if kind == "none":
        return None
    return random.normal(size=len(rows) if kind == "rows" else points.shape)


def assert_equal_sums(found, expected, arguments):
    weight, total, log_normaliser, axis = found
    scale = np.abs(arguments[1] @ np.abs(arguments[0])).max()
    np.testing.assert_allclose(weight, expected[0], rtol=1e-9, atol=1e-13 * scale)
    np.testing.assert_allclose(total, expected[1], rtol=1e-9, atol=1e-13 * scale)
    np.testing.assert_allclose(log_normaliser, expected[2], rtol=1e-10, atol=1e-12)
    largest = np.abs(expected[3]).max(initial=0.0) + scale**2
    np.testing.assert_allclose(axis, expected[3], rtol=1e-8, atol=1e-12 * largest)


@shapes
@pytest.mark.parametrize("kind", ["none", "rows", "covectors"])
def test_sums(shape, kind):
    arguments = problem(shape, 0)
    given_rows = [array.copy() for array in arguments[:2]]
    multipliers = multipliers_of(kind, arguments, 1)
    found = serving.gibbs_sums(*arguments, multipliers)
    expected = reference.gibbs_sums(*arguments, multipliers)
    assert_equal_sums(found, expected, arguments)
    for array, before in zip(arguments, given_rows, strict=False):
        np.testing.assert_array_equal(array, before)


def test_sums_of_logits_beyond_exponentials():
    """Only their differences count."""
    arguments = problem((6, 3, 40), 0, spread=1e3)
    rows, _, points, offsets, _, beta, _ = arguments
    assert (beta * (rows @ points.T - offsets)).max() > 1e5
    found = serving.gibbs_sums(*arguments)
    assert_equal_sums(found, reference.gibbs_sums(*arguments), arguments)


@given(
    seed=st.integers(0, 2**16),
    shape=st.tuples(st.integers(1, 12), st.integers(1, 6), st.integers(1, 90)),
    spread=st.sampled_from([1e-3, 1.0, 30.0, 1e3]),
    kind=st.sampled_from(["none", "rows", "covectors"]),
)
def test_sums_of_any_spread(seed, shape, spread, kind):
    """Also where nearly all associations vanish."""
    arguments = problem(shape, seed, spread=spread)
    multipliers = multipliers_of(kind, arguments, seed)
    found = serving.gibbs_sums(*arguments, multipliers)
    expected = reference.gibbs_sums(*arguments, multipliers)
    assert_equal_sums(found, expected, arguments)


@pytest.mark.parametrize("has_shift", [True, False])
@pytest.mark.parametrize("shape", [*SHAPES, (9, 31, 75), (3, 65, 40), (20, 65, 40)])
def test_nearest(shape, has_shift):
    rows, _, planes, offsets, *_ = problem(shape, 2)
    shift = np.linspace(-1.0, 1.0, shape[1]) if has_shift else None
    rows.flags.writeable = False
    labels, affinity = serving.nearest(rows, planes, offsets, shift)
    expected = reference.nearest(rows, planes, offsets, shift)
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_allclose(affinity, expected[1], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("shape", [(9, 6, 200), (20, 40, 200)], ids=str)
def test_the_nearest_of_a_row_depends_on_nothing_else(shape):
    """To the last bit, where kernels are compiled; BLAS gives them up."""
    rtol = 0.0 if serving.compiled else 1e-12
    rows, _, planes, offsets, *_ = problem(shape, 3)
    labels, affinity = serving.nearest(rows, planes, offsets)
    for part in (slice(0, 1), slice(5, 17), slice(150, 200)):
        one, other = serving.nearest(rows[part], planes, offsets)
        np.testing.assert_array_equal(one, labels[part])
        np.testing.assert_allclose(other, affinity[part], rtol=rtol, atol=rtol)


@pytest.mark.parametrize("shape", [*SHAPES, (16, 32, 300), (90, 70, 270)], ids=str)
@pytest.mark.parametrize("spread", [1e-120, 1.0, 1e120])
def test_cells_of_the_nearest(shape, spread):
    rows, weights, points, *_ = problem(shape, 3, spread=spread)
    planes, offsets = 2.0 * points, (points**2).sum(axis=1)
    found = serving.nearest_cells(rows, weights, planes, offsets)
    expected = reference.nearest_cells(rows, weights, planes, offsets)
    np.testing.assert_array_equal(found[0], expected[0])
    for one, other in zip(found[1:], expected[1:], strict=True):
        scale = np.abs(other).max()
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12 * scale)


def test_single_precision_decides_nothing():
    """Codevectors nearer to each other than its rounding, and a row far from all."""
    random = np.random.default_rng(4)
    points = 10.0 * np.repeat(random.normal(size=(20, 40)), 2, axis=0)
    points[1::2] += 1e-4 * random.normal(size=(20, 40))
    rows = points[random.integers(40, size=500)]
    rows = rows + 1e-4 * random.normal(size=rows.shape)
    rows[7] *= 1e4
    # In extended precision.
    distance = (np.longdouble(rows)[:, np.newaxis] - np.longdouble(points)) ** 2
    expected = distance.sum(axis=2).argmin(axis=1)
    labels, _ = serving.nearest(rows, 2.0 * points, (points**2).sum(axis=1))
    np.testing.assert_array_equal(labels, expected)


def test_the_first_of_equal_codevectors_of_many_features():
    """Of whole numbers, whose sums are exact in any order."""
    random = np.random.default_rng(6)
    points = np.tile(random.integers(-9, 10, size=(2, 80)), (2, 1)).astype(np.float64)
    rows = random.integers(-9, 10, size=(100, 80)).astype(np.float64)
    labels, _ = serving.nearest(rows, points, 0.5 * (points**2).sum(axis=1))
    assert set(labels) == {0, 1}


@pytest.mark.parametrize("n_equal", [2, 40])
def test_the_first_of_many_equal_codevectors(n_equal):
    random = np.random.default_rng(5)
    points = np.tile(random.normal(size=(2, 50)), (n_equal, 1))
    labels, _ = serving.nearest(
        random.normal(size=(100, 50)), points, 0.5 * (points**2).sum(axis=1)
    )
    assert set(labels) == {0, 1}


@pytest.mark.parametrize("kernels", [serving, reference], ids=["serving", "reference"])
@pytest.mark.parametrize("label", [-1, 2])
def test_cells_that_do_not_exist_are_refused(kernels, label):
    rows, ones = np.ones((3, 2)), np.ones(3)
    with pytest.raises(ValueError, match=f"Row 2 is of cell {label}, and there are 2"):
        kernels.cell_sums(rows, ones, np.array([0, 1, label]), 2)


@given(
    seed=st.integers(0, 2**16),
    shape=st.tuples(st.integers(16, 60), st.integers(32, 80), st.integers(1, 400)),
    gap=st.sampled_from([0.0, 1.0, 30.0]),
    offset=st.sampled_from([0.0, 1e3]),
    kind=st.sampled_from(["none", "rows", "covectors"]),
)
def test_sums_where_rows_are_screened(seed, shape, gap, offset, kind):
    rows, weights, points, _, logs, beta, _ = problem(shape, seed)
    points = (1.0 + gap) * points
    rows += points[np.random.default_rng(seed).integers(len(points), size=len(rows))]
    rows, points = rows + offset, points + offset
    arguments = (
        rows,
        weights,
        2.0 * points,
        (points**2).sum(axis=1),
        logs,
        beta,
        points,
    )
    multipliers = multipliers_of(kind, arguments, seed)
    found = serving.gibbs_sums(*arguments, multipliers)
    expected = reference.gibbs_sums(*arguments, multipliers)
    # Products of numbers of this size round by as much as associations differ.
    slack = 1e-13 * (1.0 + beta * np.abs(arguments[3]).max())
    for one, other in zip(found, expected, strict=True):
        scale = np.abs(other).max() + (offset + gap) ** 2
        np.testing.assert_allclose(one, other, atol=100 * slack * scale)


def test_the_first_of_equal_codevectors_is_nearest():
    rows = np.linspace(-2.0, 2.0, 50)[:, np.newaxis]
    points = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    labels, _ = serving.nearest(rows, points, 0.5 * points[:, 0] ** 2)
    assert set(labels) == {0, 1}


@pytest.mark.parametrize(
    "layout",
    [
        np.asarray,
        np.asfortranarray,
        lambda rows: np.repeat(rows, 2, axis=0)[::2],
        lambda rows: rows.astype(np.float32),
        sp.csr_matrix,
        sp.csr_array,
    ],
    ids=["c", "fortran", "strided", "float32", "csr matrix", "csr array"],
)
def test_rows_in_any_layout(layout):
    arguments = problem((6, 4, 200), 3)
    rows = layout(arguments[0])
    if not sp.issparse(rows):
        rows.flags.writeable = False
    found = serving.gibbs_sums(rows, *arguments[1:], arguments[1])
    expected = reference.gibbs_sums(rows, *arguments[1:], arguments[1])
    assert_equal_sums(found, expected, arguments)
    planes = np.asfortranarray(arguments[2])
    labels, _ = serving.nearest(rows, planes, arguments[3])
    np.testing.assert_array_equal(
        labels, reference.nearest(rows, planes, arguments[3])[0]
    )


def test_the_same_bits_every_time():
    arguments = problem((30, 7, 3000), 4)
    first, second = (serving.gibbs_sums(*arguments, arguments[1]) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_associations_too_small_for_a_float_are_zero():
    """Not the smallest number there is: its arithmetic is slow."""
    rows, points = np.zeros((4, 1)), np.array([[0.0], [40.0]])
    offsets, halves = 0.5 * points[:, 0] ** 2, np.log([0.5, 0.5])
    weight, total, _, _ = serving.gibbs_sums(
        rows, np.ones(4), points, offsets, halves, 1.0, points
    )
    np.testing.assert_array_equal(weight, [4.0, 0.0])
    np.testing.assert_array_equal(total, [[0.0], [0.0]])


def test_arrays_that_do_not_fit_are_refused():
    """Compiled kernels would read beyond their ends."""
    rows, weights, points, offsets, logs, beta, _ = problem((4, 3, 10), 6)
    labels = np.zeros(10, dtype=np.int64)
    calls = [
        lambda: serving.nearest(rows, points[:, :2], offsets),
        lambda: serving.nearest(rows, points, offsets[:3]),
        lambda: serving.nearest(rows, points, offsets, np.zeros(2)),
        lambda: serving.nearest_cells(rows, weights[:9], points, offsets),
        lambda: serving.cell_sums(rows, weights[:9], labels, 4),
        lambda: serving.cell_sums(rows, weights, labels[:9], 4),
        lambda: serving.gibbs_sums(
            rows, weights[:9], points, offsets, logs, beta, points
        ),
        lambda: serving.gibbs_sums(
            rows, weights, points[:, :2], offsets, logs, beta, points
        ),
        lambda: serving.gibbs_sums(
            rows, weights, points, offsets, logs, beta, points, np.ones(9)
        ),
        lambda: serving.gibbs_sums(
            rows, weights, points, offsets, logs, beta, points, np.ones((4, 2))
        ),
    ]
    for call in calls:
        with pytest.raises((ValueError, IndexError)):
            call()


def test_nothing_to_sum_over_is_refused():
    empty = problem((3, 2, 5), 5)
    none = np.empty((0, 2))
    for place, array in ((0, none), (2, none)):
        changed = [*empty]
        changed[place] = array
        if place == 2:
            changed[3] = changed[4] = np.empty(0)
            changed[6] = none
        with pytest.raises(ValueError):
            serving.gibbs_sums(*changed)

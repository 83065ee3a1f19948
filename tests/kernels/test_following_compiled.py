"""Codebooks that follow rows: the kernels that serve against those in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing.divergences import (
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    Mahalanobis,
    SquaredEuclidean,
)
from odalib.kernels import annealing as serving
from odalib.kernels.reference import annealing as reference
from odalib.kernels.reference.hashes import row_hashes

# Beside lanes of eight codevectors, and of many features; beyond 16 codevectors of 32
# features rows are screened.
SHAPES = [(1, 1, 5), (3, 2, 40), (8, 64, 30), (21, 5, 60), (20, 33, 70), (17, 80, 300)]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
kinds = pytest.mark.parametrize("kind", ["none", "rows", "covectors"])

DIVERGENCES = {
    "squared": lambda d: SquaredEuclidean(),
    "mahalanobis": lambda d: Mahalanobis(np.eye(d) + 0.5 / d),
    "kullback": lambda d: KullbackLeibler(),
    "itakura": lambda d: ItakuraSaito(),
    "logistic": lambda d: Logistic(),
}


def problem(shape, seed, divergence="squared", *, spread=1.0, batch=1, gap=0.0):
    """Arguments of `follow` up to the multipliers; `gap` parts the codevectors."""
    n_codevectors, n_features, n_rows = shape
    random = np.random.default_rng(seed)
    points = random.uniform(0.1, 0.9, (n_codevectors, n_features))
    if divergence == "squared":
        points = spread * (1.0 + gap) * random.normal(size=points.shape)
        near = random.integers(n_codevectors, size=n_rows)
        noise = spread * random.normal(size=(n_rows, n_features))
        rows = noise + (points[near] if gap else 0.0)
    else:
        rows = random.uniform(0.01, 0.99, (n_rows, n_features))
    starts = np.arange(0, n_rows, batch)
    return (
        rows,
        random.uniform(0.5, 2.0, n_rows),
        starts,
        random.uniform(0.001, 0.02, len(starts)),
        points,
        random.dirichlet(np.ones(n_codevectors)),
        DIVERGENCES[divergence](n_features),
        random.uniform(0.2, 3.0) / spread**2,
    )


def rest_of(kind, arguments, seed):
    """Multipliers, and sums so far."""
    random = np.random.default_rng(seed)
    rows, points = arguments[0], arguments[4]
    multipliers = None
    if kind != "none":
        size = len(rows) if kind == "rows" else points.shape
        multipliers = random.normal(size=size)
    return (
        multipliers,
        random.normal(size=points.shape),
        random.uniform(size=len(points)),
    )


def assert_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        scale = np.abs(other).max(initial=1e-300)
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-11 * scale)


@shapes
@kinds
@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_steps_of_one_row(shape, kind, divergence):
    arguments = problem(shape, 0, divergence)
    given_arrays = [array.copy() for array in (*arguments[:2], *arguments[4:6])]
    rest = rest_of(kind, arguments, 1)
    assert_equal(serving.follow(*arguments, *rest), reference.follow(*arguments, *rest))
    arrays = (*arguments[:2], *arguments[4:6])
    for array, before in zip(arrays, given_arrays, strict=True):
        np.testing.assert_array_equal(array, before)


@shapes
@kinds
@pytest.mark.parametrize("gap", [0.0, 20.0], ids=["all near", "few near"])
@pytest.mark.parametrize("batch", [7, 64])
def test_steps_of_batches(shape, kind, gap, batch):
    arguments = problem(shape, 2, batch=batch, gap=gap)
    rest = rest_of(kind, arguments, 3)
    assert_equal(serving.follow(*arguments, *rest), reference.follow(*arguments, *rest))


@pytest.mark.parametrize("divergence", ["kullback", "mahalanobis"])
def test_batches_of_other_divergences(divergence):
    arguments = problem((6, 4, 50), 4, divergence, batch=8)
    rest = rest_of("rows", arguments, 5)
    assert_equal(serving.follow(*arguments, *rest), reference.follow(*arguments, *rest))


@given(
    seed=st.integers(0, 2**16),
    shape=st.tuples(st.integers(1, 40), st.integers(1, 70), st.integers(1, 50)),
    spread=st.sampled_from([1e-100, 1e-3, 1.0, 1e100]),
    gap=st.sampled_from([0.0, 3.0, 1e3]),
    batch=st.sampled_from([1, 5, 50]),
    kind=st.sampled_from(["none", "rows", "covectors"]),
)
def test_any_scale_and_gap(seed, shape, spread, gap, batch, kind):
    arguments = problem(shape, seed, spread=spread, gap=gap, batch=batch)
    multipliers, axis, mass = rest_of(kind, arguments, seed)
    rest = multipliers, 0.0 * axis, mass
    assert_equal(serving.follow(*arguments, *rest), reference.follow(*arguments, *rest))


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize(
    ("shape", "batch"), [((5, 3, 48), 1), ((20, 40, 48), 1), ((20, 40, 48), 8)], ids=str
)
@pytest.mark.parametrize("kernels", [serving, reference], ids=["serving", "reference"])
def test_the_same_bits_however_calls_are_cut(divergence, shape, batch, kernels):
    rows, weights, starts, steps, points, rho, *others = problem(
        shape, 6, divergence, batch=batch
    )
    multipliers, axis, mass = rest_of("rows", (rows, *[None] * 3, points), 7)
    whole = kernels.follow(
        rows, weights, starts, steps, points, rho, *others, multipliers, axis, mass
    )
    state = points, rho, axis, mass
    for first, last in ((0, 2), (2, 3), (3, len(starts))):
        bounds = [*starts, len(rows)]
        span = slice(bounds[first], bounds[last])
        points, rho, axis, mass = state
        state = kernels.follow(
            rows[span],
            weights[span],
            starts[first:last] - bounds[first],
            steps[first:last],
            points,
            rho,
            *others,
            multipliers[span],
            axis,
            mass,
        )
    for one, other in zip(state, whole, strict=True):
        np.testing.assert_array_equal(one, other)


@shapes
@kinds
@pytest.mark.parametrize("batch", [1, 7, 300])
@pytest.mark.parametrize("divergence", ["squared", "mahalanobis"])
def test_a_shift_is_as_if_it_had_been_subtracted(shape, kind, batch, divergence):
    arguments = problem(shape, 20, divergence, batch=batch)
    rest = rest_of(kind, arguments, 21)
    expected = serving.follow(*arguments, *rest)
    shift = np.linspace(-2.0, 3.0, shape[1])
    rows = arguments[0] + shift
    shifted = serving.follow(rows - shift, *arguments[1:], *rest)
    assert_equal(shifted, expected)
    for kernels in (serving, reference):
        found = kernels.follow(rows, *arguments[1:], *rest, shift)
        own = kernels.follow(rows - shift, *arguments[1:], *rest)
        for one, other in zip(found, own, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_shift_of_other_features_is_refused():
    arguments = problem((3, 2, 40), 22, batch=8)
    rest = rest_of("none", arguments, 23)
    with pytest.raises(ValueError, match=r"shift|shapes"):
        serving.follow(*arguments, *rest, np.zeros(3))


@pytest.mark.parametrize(
    ("divergence", "value"), [("kullback", 0.0), ("logistic", 0.0), ("logistic", 1.0)]
)
def test_codevectors_on_the_boundary(divergence, value):
    """Their planes move with the mean of all, whichever codevector a row moves."""
    arguments = problem((5, 6, 40), 8, divergence)
    rows, points = arguments[0], arguments[4]
    points[1] = points[2, :3] = rows[:10] = value
    points[:, 5] = rows[:, 5] = value
    rest = rest_of("covectors", arguments, 9)
    found = serving.follow(*arguments, *rest)
    assert_equal(found, reference.follow(*arguments, *rest))
    assert (found[0][1] != value).any()


@pytest.mark.parametrize("weight", [0.0, 1e-300])
@pytest.mark.parametrize("n_features", [3, 100], ids=["narrow", "wide"])
def test_the_nearest_codevector_may_weigh_nothing(n_features, weight):
    """Where all products of weight and exponential vanish, logarithms decide."""
    points = np.zeros((9, n_features))
    points[1:, 0] = np.arange(5.0, 13.0)
    rho = np.array([weight, *np.full(8, 0.125)])
    arguments = (
        np.zeros((1, n_features)),
        np.ones(1),
        np.array([0]),
        np.array([0.5]),
        points,
        rho,
        SquaredEuclidean(),
        40.0,
    )
    rest = None, np.zeros_like(points), np.zeros(9)
    found = serving.follow(*arguments, *rest)
    with np.errstate(divide="ignore"):
        assert_equal(found, reference.follow(*arguments, *rest))
    # log(1e-300) = -690.8 beside log(1 / 8) - 40 * 25 = -1002.1
    np.testing.assert_allclose(found[3], np.eye(9)[int(weight == 0.0)], atol=1e-100)


@pytest.mark.parametrize("shape", [(5, 3, 40), (5, 90, 40)], ids=["narrow", "wide"])
@pytest.mark.parametrize("batch", [1, 8])
def test_weights_are_normalised(shape, batch):
    arguments = list(problem(shape, 14, batch=batch))
    arguments[5] = 1.5 * arguments[5]
    rest = rest_of("none", arguments, 15)
    found = serving.follow(*arguments, *rest)
    assert_equal(found, reference.follow(*arguments, *rest))
    np.testing.assert_allclose(found[1].sum(), 1.0, rtol=1e-14)


def test_planes_on_the_boundary_follow_the_mean_while_no_row_is_near():
    """A codevector at zero: rows far away move the mean, and then one comes near."""
    points = np.array([[0.0, 1.0], [0.5, 1.0], [5.0, 1.0]])
    rows = np.array([[5.0, 1.0]] * 30 + [[0.02, 1.0]])
    arguments = (
        rows,
        np.ones(31),
        np.arange(31),
        np.full(31, 0.05),
        points,
        np.array([0.4, 0.4, 0.2]),
        KullbackLeibler(),
        1.0,
    )
    rest = None, np.zeros((3, 2)), np.zeros(3)
    found = serving.follow(*arguments, *rest)
    assert_equal(found, reference.follow(*arguments, *rest))
    assert 0.1 < found[3][0] < 0.9


@pytest.mark.parametrize("inverse_temperature", [1e10, 1e40, 1e300])
def test_temperatures_at_which_single_precision_overflows(inverse_temperature):
    arguments = list(problem((20, 40, 64), 16, batch=16, gap=20.0))
    arguments[7] = inverse_temperature
    rest = rest_of("rows", arguments, 17)
    assert_equal(serving.follow(*arguments, *rest), reference.follow(*arguments, *rest))


@pytest.mark.parametrize("n_features", [2, 90], ids=["narrow", "wide"])
def test_a_row_leaves_alone_what_is_hardly_associated(n_features):
    """exp(-27) is above 1e-12, exp(-28) below."""
    points = np.zeros((3, n_features))
    points[1, 0], points[2, 0] = np.sqrt(27.0), -np.sqrt(28.0)
    rho = np.full(3, 1.0 / 3.0)
    moved, weights, _, mass = serving.follow(
        np.zeros((1, n_features)),
        np.ones(1),
        np.array([0]),
        np.array([0.1]),
        points,
        rho,
        SquaredEuclidean(),
        1.0,
        None,
        np.zeros_like(points),
        np.zeros(3),
    )
    assert moved[1, 0] < points[1, 0] and moved[2, 0] == points[2, 0]
    share = np.exp(-27.0) / (1.0 + np.exp(-27.0))
    np.testing.assert_allclose(mass, [1.0 - share, share, 0.0], rtol=1e-12)
    np.testing.assert_allclose(weights.sum(), 1.0, rtol=1e-15)


def test_a_dead_codevector_of_many_stays_dead():
    arguments = list(problem((20, 40, 64), 10, batch=16, gap=20.0))
    arguments[5] = np.append(0.0, np.full(19, 1.0 / 19.0))
    rest = rest_of("none", arguments, 11)
    with np.errstate(divide="ignore"):
        expected = reference.follow(*arguments, *rest)
    found = serving.follow(*arguments, *rest)
    assert_equal(found, expected)
    np.testing.assert_array_equal(found[0][0], arguments[4][0])


@pytest.mark.parametrize("shape", [(4, 3, 40), (20, 40, 40)], ids=str)
def test_a_step_of_one_row_among_others_is_one(shape):
    """It leaves alone what is hardly associated, as where every step has one row."""
    rows, weights, _, _, points, rho, *others = problem(shape, 18, gap=20.0)
    rho[0] = 1e-14 * rho[1]
    starts, steps = np.array([0, 7, 8, 20]), np.full(4, 0.05)
    arguments = rows, weights, starts, steps, points, rho, *others
    rest = rest_of("covectors", arguments, 19)
    assert_equal(serving.follow(*arguments, *rest), reference.follow(*arguments, *rest))


@pytest.mark.parametrize("kernels", [serving, reference], ids=["serving", "reference"])
@pytest.mark.parametrize("batch", [1, 16])
def test_codevectors_that_fade_away_stay_where_they_are(kernels, batch):
    """Of a weight that halves a thousand times and more nothing is left."""
    points = np.array([[0.0, 0.0], [50.0, 0.0], [60.0, 0.0]])
    n_rows = 1200 * batch
    found, weights, _, mass = kernels.follow(
        np.zeros((n_rows, 2)),
        np.ones(n_rows),
        np.arange(0, n_rows, batch),
        np.full(1200, 0.5),
        points,
        np.full(3, 1.0 / 3.0),
        SquaredEuclidean(),
        2.0,
        None,
        np.zeros((3, 2)),
        np.zeros(3),
    )
    np.testing.assert_allclose(found, points, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weights, [1.0, 0.0, 0.0], atol=1e-300)
    np.testing.assert_allclose(mass, [n_rows, 0.0, 0.0], atol=1e-300)


@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda rows: np.repeat(rows, 2, axis=0)[::2],
        sp.csr_array,
    ],
    ids=["fortran", "strided", "csr"],
)
@pytest.mark.parametrize("batch", [1, 9])
def test_rows_in_any_layout(layout, batch):
    arguments = list(problem((6, 4, 50), 12, batch=batch))
    rest = rest_of("covectors", arguments, 13)
    expected = reference.follow(*arguments, *rest)
    arguments[0] = layout(arguments[0])
    assert_equal(serving.follow(*arguments, *rest), expected)


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[1.5, 0.0, -0.0], [-2.0, 3.0, 1e-3]]),
        np.array([[1e-310, 5e-324], [3e-309, 0.0]]),
        np.array([[1e308, -1e-300], [0.0, 1e307]]),
        np.zeros((3, 2)),
        np.empty((0, 4)),
    ],
    ids=["plain", "subnormal", "huge", "zeros", "none"],
)
def test_hashes_are_the_same_bits(rows):
    random = np.random.default_rng(0)
    salts = random.integers(2**63, size=rows.shape[1]).astype(np.uint64)
    for starts in (np.array([0]), np.arange(max(len(rows), 1))):
        expected = row_hashes(rows, starts, salts)
        np.testing.assert_array_equal(serving.row_hashes(rows, starts, salts), expected)
        np.testing.assert_array_equal(
            serving.row_hashes(sp.csr_array(rows), starts, salts), expected
        )


def test_hashes_of_batches_are_those_of_each():
    rows = (
        np.random.default_rng(1).normal(size=(30, 3))
        * np.geomspace(1, 1e9, 30)[:, None]
    )
    salts = np.zeros(3, dtype=np.uint64)
    starts = np.array([0, 7, 8, 20])
    apart = [
        serving.row_hashes(part, np.array([0]), salts)
        for part in np.split(rows, starts[1:])
    ]
    np.testing.assert_array_equal(
        serving.row_hashes(rows, starts, salts), np.concatenate(apart)
    )

"""Both sides of probits by the kernels that serve, compiled or not."""

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from odalib.kernels import association as serving
from odalib.kernels.reference import association as reference

# Of five roundings; in scipy, of the exponential of a rounded square of up to 700.
RTOL = 1.2e-15 if serving.compiled else 5e-13


def margins_of_all_sizes():
    small = 10.0 ** np.linspace(-20.0, 0.0, 60)
    sizes = np.concatenate([[0.0], small, np.linspace(0.0, 38.7, 400)])
    return np.concatenate([-sizes, sizes])[:, np.newaxis]


def belief(n_features, n_weights, part, seed):
    """Rows, mean and root."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(75, n_features))
    root = part(random.normal(size=(n_weights, n_weights)))
    return rows, random.normal(size=n_weights), root


def test_digits_of_both_tails():
    """Of the less probable side, to where no float is left."""
    margins = margins_of_all_sizes()
    negative, positive = serving.both_sides(margins)
    with mpmath.workdps(50):
        expected = [[float(mpmath.ncdf(-abs(z)))] for (z,) in margins.tolist()]
    rarer = np.minimum(negative, positive)
    np.testing.assert_allclose(rarer, expected, rtol=RTOL, atol=5e-324)
    np.testing.assert_array_equal(np.maximum(negative, positive), 1.0 - rarer)
    np.testing.assert_array_equal(serving.both_sides(-margins)[0], positive)
    assert 0.0 < rarer[np.abs(margins) < 38.45].min() < 1e-322


def test_both_tails_are_those_of_scipy():
    margins = np.linspace(-37.0, 37.0, 500)[:, np.newaxis]
    negative, positive = serving.both_sides(margins)
    np.testing.assert_allclose(positive, ndtr(margins), rtol=5e-13)
    np.testing.assert_allclose(negative, ndtr(-margins), rtol=5e-13)
    rarer = np.minimum(negative, positive)
    np.testing.assert_allclose(np.log(rarer), log_ndtr(-np.abs(margins)), rtol=1e-14)


def test_sides_of_no_margin_are_equal():
    """And of next to none the right one is not the less probable."""
    margins = 1e-17 * np.arange(400.0)[:, np.newaxis]
    negative, positive = serving.both_sides(margins)
    assert negative[0] == positive[0] == 0.5
    assert (np.diff(positive, axis=0) >= 0.0).all() and positive[-1] > 0.5
    assert (np.diff(negative, axis=0) <= 0.0).all() and negative[-1] < 0.5


def test_sides_of_margins_beyond_all_floats():
    negative, positive = serving.both_sides(np.array([[39.0, -39.0, 1e300, -np.inf]]))
    assert negative.tolist() == [[0.0, 1.0, 0.0, 1.0]]
    assert positive.tolist() == [[1.0, 0.0, 1.0, 0.0]]
    assert np.isnan(serving.both_sides(np.array([[np.nan]]))).all()


@pytest.mark.parametrize("shape", [(0, 1), (1, 1), (31, 1), (33, 2), (7, 10)], ids=str)
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, np.flip])
def test_margins_in_any_layout(shape, layout):
    margins = layout(3.0 * np.random.default_rng(0).normal(size=shape))
    found = serving.both_sides(margins)
    expected = reference.both_sides(margins)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == shape
        np.testing.assert_allclose(one, other, rtol=1e-14)


@given(
    seed=st.integers(0, 2**16),
    n_features=st.integers(1, 23),
    has_constant=st.booleans(),
    part=st.sampled_from([np.asarray, np.triu, np.tril, np.zeros_like]),
    n_rows=st.integers(0, 75),
)
def test_sides_of_rows(seed, n_features, has_constant, part, n_rows):
    """Of any layout; compiled, those of the moments to the last bit."""
    rows, *of_weights = belief(n_features, n_features + has_constant, part, seed)
    rows = rows[:n_rows]
    sides, largest = serving.probit_sides(rows, *of_weights)
    moments = serving.latent_moments(rows, *(part[np.newaxis] for part in of_weights))
    mean, variance = moments
    expected = np.hstack(serving.both_sides(mean / np.sqrt(1.0 + variance)))
    np.testing.assert_array_equal(sides, expected)
    assert largest == np.abs(rows).max(initial=0.0)
    for other in (np.asfortranarray(rows), sp.csr_array(rows)):
        found = serving.probit_sides(other, *of_weights)
        np.testing.assert_allclose(found[0], sides, rtol=1e-9)
        assert found[1] == largest


def test_sides_of_a_row_depend_on_nothing_else():
    """To the last bit, where kernels are compiled; BLAS gives them up."""
    rows, *of_weights = belief(21, 22, np.triu, 1)
    sides, _ = serving.probit_sides(rows, *of_weights)
    rtol = 0.0 if serving.compiled else 1e-12
    for part in (slice(0, 1), slice(5, 17), slice(31, 75)):
        found, _ = serving.probit_sides(rows[part], *of_weights)
        np.testing.assert_allclose(found, sides[part], rtol=rtol)


@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf, 1e200, -1e200])
@pytest.mark.parametrize("place", [(0, 0), (3, 4), (31, 6), (32, 2), (74, 6)], ids=str)
def test_what_is_too_large_or_no_number_is_told_of(place, value):
    rows, mean, root = belief(7, 7, np.asarray, 2)
    rows[place] = value
    rows.flags.writeable = False
    _, largest = serving.probit_sides(rows, mean, root)
    assert largest == abs(value) or (np.isnan(value) and np.isnan(largest))


def test_beliefs_that_do_not_fit_are_refused():
    rows, mean, root = belief(7, 7, np.asarray, 3)
    for changed in ((mean[2:], root[2:]), (mean, root[1:]), (mean[:, None], root)):
        with pytest.raises(ValueError):
            serving.probit_sides(rows, *changed)

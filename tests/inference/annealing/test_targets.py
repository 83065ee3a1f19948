"""Targets in the divergence: what they count for, and where cells are cut for them."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.divergences import Mahalanobis, as_divergence
from odalib.inference.annealing.fit import anneal
from odalib.inference.annealing.rows import RowBlocks
from odalib.inference.annealing.targets import NO_TARGETS, TargetWeight, WithTargets
from tests.oracles.divergences import CLOSED_FORMS, NAMES, draw_rows

from .problems import make_settings
from .regressions import curved_batch, regression_settings, spec_of

names = pytest.mark.parametrize("name", NAMES)
PRECISION = np.array([[2.0, 0.5], [0.5, 1.0]])


def joint(name, weight=0.3):
    """Divergence of two features and two targets."""
    base = Mahalanobis(PRECISION) if name == "mahalanobis" else as_divergence(name)
    return WithTargets(base, weight, 2)


def closed_form(name, x, mu, weight):
    """``(1 - w) d(x, mu) + w ||y - nu||^2`` of rows that end with two targets."""
    if name == "mahalanobis":
        apart = float((x - mu)[:2] @ PRECISION @ (x - mu)[:2])
    else:
        apart = CLOSED_FORMS[name](x[:2], mu[:2])
    return (1.0 - weight) * apart + weight * math.fsum((x[2:] - mu[2:]) ** 2)


def joint_rows(name, n_rows, seed):
    features = draw_rows(name, n_rows, 2, seed)
    targets = 3.0 * np.random.default_rng(seed).normal(size=(n_rows, 2)) - 1.0
    return np.hstack([features, targets])


def bregman(divergence, x, mu):
    gradient = divergence.gradient(mu[np.newaxis])[0]
    phi = divergence.phi(np.stack([x, mu]))
    return phi[0] - phi[1] - gradient @ (x - mu)


@names
@given(seed=st.integers(0, 999), weight=st.floats(0.0, 0.999))
def test_divergence_is_that_of_features_and_targets(name, seed, weight):
    x, mu = joint_rows(name, 2, seed)
    expected = closed_form(name, x, mu, weight)
    found = bregman(joint(name, weight), x, mu)
    scale = np.abs(joint(name, weight).phi(np.stack([x, mu]))).max() + 1.0
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12 * scale)
    assert found > -1e-12 * scale
    assert bregman(joint(name, weight), x, x) == pytest.approx(0.0, abs=1e-12 * scale)


@names
def test_gradient_and_hessian_are_those_of_differences(name):
    divergence, points = joint(name), joint_rows(name, 6, 1)
    step = 1e-5
    gradient = divergence.gradient(points)
    for j in range(4):
        ahead, behind = points.copy(), points.copy()
        ahead[:, j] += step * np.abs(points[:, j])
        behind[:, j] -= step * np.abs(points[:, j])
        slope = (divergence.phi(ahead) - divergence.phi(behind)) / (
            ahead[:, j] - behind[:, j]
        )
        np.testing.assert_allclose(gradient[:, j], slope, rtol=1e-5, atol=1e-7)
    vectors = np.random.default_rng(2).normal(size=points.shape)
    steps = 1e-6 * np.abs(points) * vectors
    change = divergence.gradient(points + steps) - divergence.gradient(points - steps)
    product = divergence.hessian_product(points, 2.0 * steps)
    np.testing.assert_allclose(product, change, rtol=1e-4, atol=1e-9)


@names
def test_sparse_rows_have_the_same_phi(name):
    rows = joint_rows(name, 5, 0)
    np.testing.assert_allclose(
        joint(name).phi(sp.csr_matrix(rows)), joint(name).phi(rows), rtol=1e-12
    )


def test_it_is_of_the_domain_of_its_features():
    divergence = joint("kullback_leibler")
    assert divergence.visible is divergence.base
    assert divergence.n_hidden == 2
    assert (divergence.name, divergence.lower) == (divergence.base.name, 0.0)
    assert not divergence.translation_invariant
    assert joint("squared_euclidean").translation_invariant
    divergence.check_domain(np.array([[1.0, 0.0, -5.0, -1.0]]))
    with pytest.raises(ValueError, match="-5"):
        divergence.check_domain(np.array([[-5.0, 0.0, 1.0, 1.0]]))
    # On the boundary, gradients are taken inside; targets know none.
    points, mean = np.array([[0.0, 2.0, 0.0, -3.0]]), np.array([1.0, 2.0, 0.0, 0.0])
    inside = divergence.interior(points, mean)
    base = divergence.base.interior(points[:, :2], mean[:2])
    np.testing.assert_array_equal(inside, np.hstack([base, points[:, 2:]]))
    assert inside[0, 0] > 0.0
    steps = np.array([[-3.0, 0.1, -7.0, 7.0]])
    points = np.array([[1.0, 2.0, 1.0, 1.0]])
    np.testing.assert_array_equal(
        divergence.shorten(points, steps), [[-0.5, 0.1, -7.0, 7.0]]
    )


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_a_precision_is_learnt_from_the_features(layout):
    rows = joint_rows("squared_euclidean", 30, 0)
    learnt = WithTargets(Mahalanobis(), 0.4, 2).bind(
        RowBlocks(layout(rows), np.ones(30))
    )
    expected = np.linalg.inv(np.cov(rows[:, :2], rowvar=False, ddof=0))
    np.testing.assert_allclose(learnt.base.precision, expected, rtol=1e-8)
    assert (learnt.weight, learnt.n_hidden) == (0.4, 2)
    shift = rows.mean(axis=0)
    if layout is np.asarray:
        moved = WithTargets(Mahalanobis(), 0.4, 2).bind(
            RowBlocks(rows, np.ones(30), shift)
        )
        np.testing.assert_allclose(moved.base.precision, expected, rtol=1e-8)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_targets_are_measured_to_vary_as_rows_do(name, layout):
    """Mean divergence from the mean row; half of it each, of two targets."""
    batch = curved_batch(name)
    weights, x = batch.weights, batch.rows
    mean = np.average(x, axis=0, weights=weights)
    apart = np.average([CLOSED_FORMS[name](row, mean) for row in x], weights=weights)
    batch = replace(batch, rows=layout(x))
    target = TargetWeight(0.7).measured(batch, as_divergence(name))
    assert target.weight == 0.7
    joined = target.joined(batch)
    joined = joined.toarray() if sp.issparse(joined) else joined
    np.testing.assert_array_equal(joined[:, :-2], x)
    y = joined[:, -2:]
    centred = y - np.average(y, axis=0, weights=weights)
    variance = np.average(centred**2, axis=0, weights=weights)
    np.testing.assert_allclose(variance, apart / 2.0, rtol=1e-9)
    # In the order and signs of the targets.
    assert np.corrcoef(y[:, 0], batch.targets[:, 0])[0, 1] == pytest.approx(1.0)
    assert target.divergence(as_divergence(name)).n_hidden == 2


@given(
    power=st.integers(-30, 30),
    offset=st.floats(-1e3, 1e3),
    seed=st.integers(0, 99),
)
def test_units_of_targets_do_not_matter(power, offset, seed):
    batch = curved_batch(seed=seed)
    unit = np.array([10.0**power, 1.0])
    moved = replace(batch, targets=(batch.targets + offset) * unit)
    base = as_divergence("squared_euclidean")
    one, other = (
        TargetWeight(0.5).measured(rows, base).joined(rows)[:, -2:]
        for rows in (batch, moved)
    )
    np.testing.assert_allclose(other - other[0], one - one[0], rtol=1e-6, atol=1e-6)


def test_without_weight_nothing_is_joined():
    batch, base = curved_batch(), as_divergence("squared_euclidean")
    for target in (NO_TARGETS, NO_TARGETS.measured(batch, base), TargetWeight(0.0)):
        assert target.joined(batch) is batch.rows
        assert target.divergence(base) is base
        assert target.unit == ()


def cells_of(batch, name, weight):
    """Codevectors in the order of their first feature, without their targets."""
    target = TargetWeight(weight).measured(batch, as_divergence(name))
    settings = regression_settings(
        spec_of(target=target), n_codevectors=5, divergence=name
    )
    solution = anneal(batch, settings)
    shift = 0.0 if solution.shift is None else solution.shift[:3]
    points = solution.codebook.points[:, :3] + shift
    return points[points[:, 0].argsort()]


@pytest.mark.parametrize("value", [7.0, 0.1, 1e6 / 7.0])
@pytest.mark.parametrize("name", ["squared_euclidean", "kullback_leibler"])
def test_targets_that_do_not_vary_cut_no_cells(name, value):
    """As targets that are all zero."""
    batch = curved_batch(name)
    found, expected = (
        cells_of(replace(batch, targets=np.full((80, 2), one)), name, 0.5)
        for one in (value, 0.0)
    )
    assert len(found) == 5
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    batch = replace(batch, targets=np.full((80, 2), value))
    target = TargetWeight(0.5).measured(batch, as_divergence(name))
    np.testing.assert_array_equal(target.joined(batch)[:, 3:], 0.0)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("name", ["squared_euclidean", "kullback_leibler"])
def test_targets_far_from_zero_cut_the_same_cells(name, layout):
    batch = curved_batch(name)
    batch = replace(batch, rows=layout(batch.rows))
    far = replace(batch, targets=batch.targets + 2.0**30)
    found, expected = (cells_of(rows, name, 0.5) for rows in (far, batch))
    # The targets themselves are rounded to 1e-7.
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_rows_that_are_all_alike_give_targets_no_unit():
    batch = curved_batch()
    equal = replace(batch, rows=np.ones((80, 3)), targets=batch.rows[:, :1])
    target = TargetWeight(0.5).measured(equal, as_divergence("squared_euclidean"))
    assert target.unit == (0.0,)


def boundary(weight):
    """Where two cells of even rows in [0, 1] meet; y jumps at 0.2."""
    x = (np.arange(500)[:, np.newaxis] + 0.5) / 500
    batch = Batch(x, np.ones(500), 10.0 * (x > 0.2))
    base = as_divergence("squared_euclidean")
    spec = spec_of(target=TargetWeight(weight).measured(batch, base))
    solution = anneal(batch, regression_settings(spec, n_codevectors=2))
    points = solution.codebook.points + solution.shift
    # Cells of the fit are of x and y; the rows of each are an interval of x.
    joined = spec.annealed(batch)
    apart = (1.0 - weight) * (x - points[:, 0]) ** 2
    if weight:
        apart = apart + weight * (joined[:, 1:] - points[:, 1]) ** 2
    first = apart.argmin(axis=1) == points[:, 0].argmin()
    assert (np.diff(first.astype(int)) != 0).sum() == 1
    return x[first].max()


def test_cells_are_cut_where_the_target_changes():
    """Two cells of even rows are halves; the more y counts, the nearer to its jump."""
    assert boundary(0.0) == pytest.approx(0.5, abs=0.01)
    assert boundary(0.9) == pytest.approx(0.2, abs=0.005)


def test_the_units_of_targets_change_no_cell():
    batch, base = curved_batch(n_rows=60), as_divergence("squared_euclidean")
    moved = replace(batch, targets=batch.targets * [2.0**40, 0.25])
    points = []
    for rows in (batch, moved):
        spec = spec_of(target=TargetWeight(0.4).measured(rows, base))
        solution = anneal(rows, regression_settings(spec, n_codevectors=4))
        points.append(solution.codebook.points)
    np.testing.assert_allclose(points[0], points[1], rtol=1e-9, atol=1e-9)
    plain = anneal(batch, make_settings(n_codevectors=4)).codebook.points
    assert points[0].shape == (4, 5)
    assert not np.allclose(points[0][:, :3], plain, rtol=0.01)


def test_settings_choose_with_the_weight_measured():
    """Local models are told what targets count for, in units of the rows at hand."""
    batch = curved_batch(n_rows=60)
    spec = spec_of(target=TargetWeight(0.4), ridge=None)
    settings = regression_settings(spec, n_codevectors=4)
    chosen = spec.tuned(batch, settings, 1).local_models
    expected = TargetWeight(0.4).measured(batch, settings.divergence)
    assert chosen.target == expected
    np.testing.assert_array_equal(chosen.annealed(batch), expected.joined(batch))
    assert chosen.divergence(settings.divergence).weight == 0.4

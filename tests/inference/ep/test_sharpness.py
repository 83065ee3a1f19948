"""How sure coupled probabilities may be, against likelihoods on a grid."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.ep.coupling import normalise
from odalib.inference.ep.sharpness import Sharpness


def drawn(power, n_rows=400, n_classes=4, seed=0):
    """Log probabilities, and classes drawn from these to a power."""
    random = np.random.default_rng(seed)
    log_p = normalise(random.normal(size=(n_rows, n_classes)))
    truth = np.exp(normalise(power * log_p))
    classes = [random.choice(n_classes, p=row / row.sum()) for row in truth]
    return log_p, np.array(classes)


def log_posterior(log_power, belief, log_p, classes, weights):
    own = normalise(np.exp(log_power) * log_p)[np.arange(len(classes)), classes]
    return weights @ own - 0.5 * belief.precision * (log_power - belief.mean) ** 2


@pytest.mark.parametrize("belief", [Sharpness(), Sharpness(0.7, 9.0)], ids=str)
@pytest.mark.parametrize("power", [0.2, 1.0, 3.0])
def test_mode_and_curvature(power, belief):
    """The mode by a grid, the curvature by the expected second difference."""
    log_p, classes = drawn(power)
    weights = np.linspace(0.5, 2.0, len(classes))
    found = belief.learn(log_p, classes, weights)
    grid = found.mean + np.linspace(-0.01, 0.01, 401)
    values = [log_posterior(t, belief, log_p, classes, weights) for t in grid]
    assert abs(np.argmax(values) - 200) <= 1
    given = np.exp(normalise(found.power * log_p))
    spread = (given * log_p**2).sum(axis=1) - (given * log_p).sum(axis=1) ** 2
    information = found.power**2 * weights @ spread
    assert found.precision == pytest.approx(belief.precision + information)


def test_the_power_that_classes_were_drawn_with_is_found():
    for power in (0.5, 1.0, 2.5):
        log_p, classes = drawn(power, n_rows=20_000)
        found = Sharpness().learn(log_p, classes, np.ones(len(classes)))
        assert abs(found.mean - np.log(power)) < 4.0 * found.precision**-0.5


@given(seed=st.integers(0, 1000))
def test_a_weight_is_so_many_rows(seed):
    log_p, classes = drawn(2.0, n_rows=30, seed=seed)
    weights = np.random.default_rng(seed).integers(1, 5, 30)
    weighted = Sharpness().learn(log_p, classes, weights.astype(float))
    repeated = Sharpness().learn(
        log_p.repeat(weights, axis=0), classes.repeat(weights), np.ones(weights.sum())
    )
    assert weighted.mean == pytest.approx(repeated.mean, abs=1e-10)
    assert weighted.precision == pytest.approx(repeated.precision)


def test_one_batch_after_the_other_is_nearly_both_at_once():
    log_p, classes = drawn(2.0, n_rows=1000)
    half, ones = slice(500), np.ones(500)
    rest = slice(500, None)
    whole = Sharpness().learn(log_p, classes, np.ones(1000))
    first = Sharpness().learn(log_p[half], classes[half], ones)
    both = first.learn(log_p[rest], classes[rest], ones)
    assert both.mean == pytest.approx(whole.mean, abs=0.01)
    assert both.precision == pytest.approx(whole.precision, rel=0.05)


def test_rows_that_are_all_right_or_all_wrong_end_within_bounds():
    """Log probabilities down to -1e5 neither overflow nor run away."""
    for scale in (1.0, 1e5):
        log_p = np.tile([0.0, -scale, -scale], (50, 1))
        right = Sharpness().learn(log_p, np.zeros(50, int), np.ones(50))
        wrong = Sharpness().learn(log_p, np.ones(50, int), np.ones(50))
        assert wrong.power < 1.0 <= right.power
        assert np.exp(-5.0) <= wrong.power
        assert right.power <= np.exp(5.0)
        assert np.isfinite([right.precision, wrong.precision]).all()


def test_before_any_row_nothing_is_sharpened():
    assert Sharpness().power == 1.0

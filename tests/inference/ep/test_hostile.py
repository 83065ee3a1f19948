"""Problems on which expectation propagation is known to break: always an answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.ep import infer
from odalib.inference.ep.gaussians import Covariance, linear_map
from odalib.inference.ep.gaussians.weights import prior_belief
from odalib.inference.ep.logistic import Logistic
from odalib.inference.ep.probit import Probit

from .problems import SPACES, labels_of_teacher

solvers = pytest.mark.parametrize("solver", ["auto", "sequential", "parallel"])
prior_variances = pytest.mark.parametrize("prior_variance", [1e-6, 1.0, 1e6])


def make_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))
    wide = random.normal(size=(100, 5000))
    coins = np.where(random.random(40) < 0.5, 1.0, -1.0)
    separable = labels_of_teacher(X, random, noise=0.0)
    alternating = np.tile([1.0, -1.0], 20)
    fives = np.repeat(X[:5], 8, axis=0)
    constants = np.column_stack([X, np.full(40, 14.62), np.zeros(40)])
    outlier = X.copy()
    outlier[7] = 1e6, 0.0, 0.0
    return {
        "all of one class": (X, np.ones(40)),
        "separable": (X, separable),
        "labels are noise": (X, coins),
        "copies that contradict": (fives, alternating),
        "copies that agree": (fives, np.repeat(separable[:5], 8)),
        "constant columns": (constants, coins),
        "all rows the same": (np.full((40, 2), 3.0), alternating),
        "all rows zero": (np.zeros((40, 2)), alternating),
        "one row": (X[:1], np.ones(1)),
        "one wide row": (wide[:1], np.ones(1)),
        "5000 features": (wide, labels_of_teacher(wide, random)),
        "features times 1e8": (1e8 * X, coins),
        "features times 1e8, separable": (1e8 * X, separable),
        "features times 1e8, one class": (1e8 * X, np.ones(40)),
        "features times 1e8, wide": (1e8 * wide[:9, :20], coins[:9]),
        "features times 1e-8": (1e-8 * X, separable),
        "mislabelled outlier": (outlier, -separable[7] * separable),
    }


ROWS = make_rows()
kinds = pytest.mark.parametrize("kind", ROWS)


def assert_answer(inference, tol=1e-6):
    """Finite, possible, and converged or owned up to."""
    for values in (
        inference.mean,
        inference.variance,
        inference.cavity.mean,
        inference.cavity.variance,
        inference.sites.precision,
        inference.sites.shift,
        inference.log_evidence,
        inference.residuals[-1],
    ):
        assert np.isfinite(values).all()
    assert (inference.variance >= 0).all()
    assert (inference.sites.precision >= 0).all()
    assert inference.log_evidence < 1e-9
    assert inference.n_iter == len(inference.residuals)
    assert inference.converged == (inference.residuals[-1] <= tol)


@solvers
@prior_variances
@kinds
def test_regression(kind, prior_variance, solver):
    X, y = ROWS[kind]
    belief = prior_belief(np.full(X.shape[1], prior_variance))
    inference = infer(linear_map(X, belief), Probit(y), solver=solver)
    assert_answer(inference)
    # Sweeps need no damping; all at once is allowed to stall, and is not the last word.
    assert inference.converged or solver == "parallel"
    belief = inference.posterior.belief
    assert np.isfinite(belief.mean).all()
    mean, variance = belief.latent(X)
    assert np.isfinite(mean).all()
    assert (variance >= 0).all()
    assert (belief.marginals() <= prior_variance * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("prior_variance", [1e-6, 1e6])
@pytest.mark.parametrize(
    "likelihood",
    [
        Logistic,
        lambda y: Probit(y, power=np.full(len(y), 0.01)),
        lambda y: Probit(y, noise_variance=1e-8),
    ],
    ids=["logistic", "small powers", "hardly any noise"],
)
@pytest.mark.parametrize("kind", [kind for kind in ROWS if kind != "5000 features"])
def test_other_likelihoods(kind, likelihood, prior_variance):
    X, y = ROWS[kind]
    model = linear_map(X, prior_belief(np.full(X.shape[1], prior_variance)))
    inference = infer(model, likelihood(y))
    assert_answer(inference)
    assert inference.converged


@solvers
@prior_variances
@pytest.mark.parametrize(
    "kind", [kind for kind in ROWS if "1e8" not in kind and kind != "5000 features"]
)
def test_covariance(kind, prior_variance, solver):
    """Of low rank, rounded: what the rows of the linear map themselves keep."""
    X, y = ROWS[kind]
    model = SPACES["covariance"](X, np.full(X.shape[1], prior_variance))
    inference = infer(model, Probit(y), solver=solver)
    assert_answer(inference)
    assert inference.converged or solver == "parallel"


@pytest.mark.parametrize("prior_variance", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    "kind", [kind for kind in ROWS if kind not in ("5000 features", "all rows zero")]
)
def test_double_loop(kind, prior_variance):
    """The last that 'auto' tries: it must not fail where the others may."""
    X, y = ROWS[kind]
    model = linear_map(X, prior_belief(np.full(X.shape[1], prior_variance)))
    assert_answer(infer(model, Probit(y), solver="double_loop"))


def test_double_loop_refuses_known_latent_values():
    X, y = ROWS["all rows zero"]
    model = linear_map(X, prior_belief(np.ones(2)))
    with pytest.raises(ValueError, match=r"double_loop.* latent values of no variance"):
        infer(model, Probit(y), solver="double_loop")


@pytest.mark.parametrize("solver", ["auto", "sequential", "blocked", "parallel"])
@pytest.mark.parametrize("kind", ["separable", "copies that agree", "one row"])
@prior_variances
def test_step_that_the_labels_allow(kind, prior_variance, solver):
    """Without noise the scale of the weights is no matter."""
    X, y = ROWS[kind]
    likelihood = Probit(y, noise_variance=0.0)
    model = linear_map(X, prior_belief(np.full(X.shape[1], prior_variance)))
    inference = infer(model, likelihood, solver=solver)
    assert_answer(inference)
    assert inference.converged or solver == "parallel"
    if inference.converged:
        at_one = infer(linear_map(X, prior_belief(np.ones(X.shape[1]))), likelihood)
        assert inference.log_evidence == pytest.approx(at_one.log_evidence, abs=1e-4)


def test_auto_is_no_worse_than_what_it_tries():
    """Latent values that vary 1e15 times as much as the noise."""
    X, y = ROWS["features times 1e8, wide"]
    model = linear_map(X, prior_belief(np.full(X.shape[1], 1e6)))
    likelihood = Probit(y, noise_variance=1e-8)
    assert infer(model, likelihood, solver="sequential").converged
    assert infer(model, likelihood).converged


@given(
    seed=st.integers(0, 2**16),
    n=st.integers(1, 12),
    d=st.integers(1, 15),
    logs=st.lists(st.integers(-3, 3), min_size=15, max_size=15),
    log_variance=st.integers(-6, 6),
    weight=st.sampled_from([0.01, 0.5, 1.0, 1.5, 1e4]),
)
def test_any_scales_any_labels(seed, n, d, logs, log_variance, weight):
    """Columns of very different scales, values that coincide, labels at random."""
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(n, d)), 1) * 10.0 ** np.array(logs[:d])
    y = np.where(random.random(n) < 0.5, 1.0, -1.0)
    model = linear_map(X, prior_belief(np.full(d, 10.0**log_variance)))
    power, counts = np.full(n, min(weight, 1.0)), np.full(n, max(weight, 1.0))
    inference = infer(model, Probit(y, power=power), counts=counts)
    assert_answer(inference)
    assert inference.converged


@pytest.mark.parametrize("scale", [1e4, 1e6, 1e8])
def test_wide_rows_with_one_large_column(scale):
    """Their Gram matrix has lost the others to rounding; the rows have not."""
    random = np.random.default_rng(0)
    X = random.normal(size=(5, 8))
    X[:, 0] *= scale
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    gram = infer(linear_map(X, prior_belief(np.ones(8))), Probit(y))
    weights = infer(SPACES["weights"](X, np.ones(8)), Probit(y))
    assert weights.converged
    assert gram.converged
    assert gram.log_evidence == pytest.approx(weights.log_evidence, abs=1e-5)
    np.testing.assert_allclose(
        gram.posterior.belief.marginals(),
        weights.posterior.belief.marginals(),
        rtol=1e-4,
    )


@solvers
def test_known_latent_values_are_left_alone(solver):
    """Rows without variance: the labels are as probable as the prior mean says."""
    mean = np.array([0.5, -2.0, 0.0])
    model = Covariance(np.zeros((3, 3)), mean)
    inference = infer(model, Probit(np.ones(3)), solver=solver)
    assert_answer(inference)
    np.testing.assert_array_equal(inference.mean, mean)
    # log Phi(0.5) + log Phi(-2) + log Phi(0)
    assert inference.log_evidence == pytest.approx(-4.845277929530633, rel=1e-12)

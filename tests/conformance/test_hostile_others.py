"""Numbers at the ends: learners of the user's, scores, Dask collections, one row."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.linear_model import SGDRegressor

from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
    IsingModel,
    ODAClassifier,
    ODAClusterer,
    ODARegressor,
)
from odalib import distributed as many

from .cases import REGRESSORS, every_regressor, feed, two_blobs
from .comparing import assert_finite, leaves
from .kinds import of_kind

KIND = "hostile numbers"


@pytest.fixture(scope="module")
def client():
    """Client of one worker in this process."""
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as one,
        Client(one, set_as_default=False) as client,
    ):
        yield client


@of_kind(KIND, ODARegressor)
@pytest.mark.parametrize("factor", [1e80, 1e100])
def test_learners_whose_errors_overflow_are_named(factor):
    """SGD steps to 1e170 and more; before, NumPy warned of squares."""
    X, y = two_blobs()
    X[-1] *= factor
    model = ODARegressor(2, local_model=SGDRegressor(random_state=0), random_state=0)
    before = leaves(vars(model))
    with pytest.raises(ValueError, match=r"SGDRegressor.* squares overflow\. Scale"):
        model.fit(X, y.astype(float))
    assert leaves(vars(model)) == before


@of_kind(KIND, ODARegressor)
@every_regressor
def test_targets_that_the_dtype_of_rows_does_not_hold(estimator):
    """Before, they were predicted as infinite, with a warning of NumPy's."""
    X, _ = two_blobs()
    X = X.astype(np.float32)
    y = np.sin(X[:, 0]).astype(float)
    model = clone(estimator).fit(X, 1e45 * y)
    with pytest.raises(ValueError, match=r"Predictions of X reach .* float32 does not"):
        model.predict(X)
    model = clone(estimator).fit(X, 1e30 * y)
    values = model.predict(X)
    assert values.dtype == np.float32
    assert np.isfinite(values).all()
    with pytest.raises(ValueError, match="Variances of predictions of X reach"):
        model.predict(X, return_std=True)


@of_kind(KIND, ODARegressor)
@every_regressor
def test_weights_times_squares_of_targets_are_refused(estimator):
    """Either alone is in range."""
    X, y = two_blobs()
    model = clone(estimator)
    with pytest.raises(ValueError, match="sums of weights times squares of y overflow"):
        model.fit(X, 1e130 * y, sample_weight=np.full(len(X), 1e90))
    assert not hasattr(model, "n_features_in_")


SCORED = {
    "clusterer": ODAClusterer(2, random_state=0),
    "classifier": ODAClassifier(2, random_state=0),
    "regressor": REGRESSORS["constants"],
    "probit": EPProbitClassifier(),
    "filtering": ADFProbitClassifier(random_state=0),
    "gaussian process": EPGaussianProcessClassifier(optimizer=None),
    "spins": IsingModel(),
}
every_scored = pytest.mark.parametrize("estimator", SCORED.values(), ids=SCORED)


@of_kind(KIND, *map(type, SCORED.values()))
@every_scored
def test_scores_of_weights_at_the_ends(estimator):
    """Weights count in proportion; those that no float sums are refused as in a fit."""
    X, y = two_blobs(30)
    if isinstance(estimator, IsingModel):
        X = np.c_[y, 1 - y, np.arange(len(y)) % 3 == 0].astype(float)
    model = clone(estimator).fit(X, y)
    weight = 1.0 + np.arange(len(X)) % 4
    expected = model.score(X, y, sample_weight=weight)
    for power in (-1000, 1000):
        found = model.score(X, y, sample_weight=np.ldexp(weight, power))
        assert found == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="sample_weight sums to more than a float"):
        model.score(X, y, sample_weight=np.full(len(X), 1e308))
    # From 1.9 on scikit-learn refuses them, in its own words.
    with pytest.raises(ValueError, match=r"(non-zero number|row a positive)"):
        model.score(X, y, sample_weight=np.zeros(len(X)))


@of_kind(KIND, ODARegressor)
def test_scores_that_no_float_holds_are_refused():
    """Before, R^2 was infinite or no number, and NumPy warned of it."""
    X, y = two_blobs(30)
    model = clone(REGRESSORS["constants"]).fit(X, y)
    one = np.where(np.arange(len(y)) == 5, 1e308, 1e-300)
    for weight, factor in ((one, 1.0), (None, 1e200)):
        with pytest.raises(ValueError, match="The score is no number"):
            model.score(X, y * factor + 0.5, sample_weight=weight)


DISTANT = {
    "clusterer": many.ODAClusterer,
    "classifier": many.ODAClassifier,
    "regressor": many.ODARegressor,
}


@of_kind(KIND, ODAClusterer, ODAClassifier, ODARegressor)
@pytest.mark.parametrize("name", DISTANT)
def test_weights_of_collections_are_refused_as_in_memory(name, client):
    """Before, NumPy's warnings of zero, infinity and singular matrices came through."""
    X, y = two_blobs(30)
    refused = [
        (np.full(len(X), 1e308), "sums to more than a float holds"),
        (np.where(np.arange(len(X)) % 2, 1e-125, 1e90), "goes down to 1e-125 where"),
    ]
    if name != "clusterer":
        refused.append((np.full(len(X), 1e250), r"sums to .*e\+251 rows"))
    targets = () if name == "clusterer" else (_cut(y),)
    for weight, words in refused:
        with pytest.raises(ValueError, match=f"sample_weight {words}"):
            DISTANT[name](2, random_state=0, client=client).fit(
                _cut(X), *targets, sample_weight=_cut(weight)
            )


@of_kind(KIND, ODARegressor)
def test_weights_times_squares_of_targets_of_collections(client):
    X, y = two_blobs(30)
    weight = _cut(np.full(len(X), 1e90))
    with pytest.raises(ValueError, match="times squares of y overflow"):
        many.ODARegressor(2, random_state=0, client=client).fit(
            _cut(X), _cut(1e130 * y), sample_weight=weight
        )


def _cut(array):
    return da.from_array(array, chunks=(7, *array.shape[1:]))


RARE = {
    "codevectors": ODAClassifier(2, random_state=0),
    "filtering": ADFProbitClassifier(random_state=0),
    "probit": EPProbitClassifier(),
}


@of_kind(KIND, ODAClassifier, ADFProbitClassifier, EPProbitClassifier)
@pytest.mark.parametrize("estimator", RARE.values(), ids=RARE)
def test_a_class_of_one_row_in_very_many(estimator):
    """Finite probabilities from a stream of sparse rows; and by weights of 1e-6."""
    n_rows = 20_000
    rng = np.random.RandomState(0)
    X = sp.csr_array(rng.rand(n_rows, 2))
    y = (np.arange(n_rows) == 12_345).astype(int)
    model = clone(estimator)
    for start in range(0, n_rows, 10_000):
        part = slice(start, start + 10_000)
        feed(model, X[part], y[part]) if start else model.partial_fit(
            X[part], y[part], classes=[0, 1]
        )
    assert_finite(model, X[:50], "one of 20,000")
    assert (model.predict(X[:50]) == 0).all()
    X, y = two_blobs()
    model = clone(estimator).fit(X, y, sample_weight=np.where(y, 1e-6, 1.0))
    assert_finite(model, X, "weights of 1e-6")

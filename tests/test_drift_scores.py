"""`drift_score_`: how far a call of partial_fit has moved a model."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone

from odalib import (
    ADFProbitClassifier,
    EPProbitClassifier,
    Mahalanobis,
    ODAClassifier,
    ODAClusterer,
    ODARegressor,
)

CENTRES = 6.0 * np.random.default_rng(0).normal(size=(5, 3))


def rows_about(shift, n_rows, seed):
    random = np.random.default_rng(seed)
    rows = CENTRES[random.integers(5, size=n_rows)] + shift
    return rows + random.normal(size=rows.shape)


def squared(now, before):
    return cdist(now, before, "sqeuclidean")


def weighted(now, before):
    return squared(now * [1.0, 2.0, 3.0], before * [1.0, 2.0, 3.0])


def kullback_leibler(now, before):
    now, before = now[:, np.newaxis], before[np.newaxis]
    return (now * np.log(now / before) - now + before).sum(axis=2)


@pytest.mark.parametrize(
    ("divergence", "between"),
    [
        ("squared_euclidean", squared),
        ("kullback_leibler", kullback_leibler),
        (Mahalanobis(np.diag([1.0, 4.0, 9.0])), weighted),
    ],
    ids=["squared_euclidean", "kullback_leibler", "mahalanobis"],
)
def test_it_is_the_mean_divergence_from_the_codevectors_before(divergence, between):
    model = ODAClusterer(5, divergence=divergence, random_state=0)
    model.partial_fit(rows_about(30.0, 2048, 0))
    before = model.cluster_centers_
    # Two batches, and none left in the queue.
    model.partial_fit(rows_about(30.5, 512, 1))
    expected = model.cluster_weights_ @ between(model.cluster_centers_, before).min(1)
    assert expected > 0
    np.testing.assert_allclose(model.drift_score_, expected, rtol=1e-6)


def test_it_tells_clusters_that_move_from_those_that_do_not():
    model = ODAClusterer(5, step="constant", random_state=0)
    still = [
        model.partial_fit(rows_about(0.0, 512, seed)).drift_score_ for seed in range(20)
    ]
    moving = [
        model.partial_fit(rows_about(0.2 * seed, 512, seed)).drift_score_
        for seed in range(20)
    ]
    assert max(moving[5:]) > min(moving[5:]) > 5 * max(still)


@pytest.mark.parametrize("how", ["fit", "warm-up"])
def test_it_is_zero_where_there_is_nothing_to_compare_with(how):
    model = ODAClusterer(5, random_state=0)
    rows = rows_about(0.0, 4096, 0)
    if how == "fit":
        model.partial_fit(rows).partial_fit(rows).fit(rows)
    else:
        model.partial_fit(rows[:1000]).partial_fit(rows[1000:2000])
    assert model.drift_score_ == 0.0
    assert not hasattr(clone(model), "drift_score_")


def test_rows_that_wait_in_the_queue_move_nothing():
    model = ODAClusterer(5, random_state=0).partial_fit(rows_about(0.0, 4096, 0))
    assert model.partial_fit(rows_about(9.0, 255, 1)).drift_score_ == 0.0
    assert model.partial_fit(rows_about(9.0, 1, 2)).drift_score_ > 0.0


def test_a_call_that_is_refused_leaves_it():
    model = ODAClusterer(5, random_state=0).partial_fit(rows_about(0.0, 4096, 0))
    before = model.partial_fit(rows_about(1.0, 512, 1)).drift_score_
    with pytest.raises(ValueError):
        model.partial_fit(np.full((512, 3), np.nan))
    assert model.drift_score_ == before
    assert pickle.loads(pickle.dumps(model)).drift_score_ == before


@pytest.mark.parametrize(
    "model",
    [
        ODAClassifier(n_codevectors=10, random_state=0),
        ODARegressor(n_codevectors=5, random_state=0),
    ],
    ids=["classifier", "regressor"],
)
def test_of_codevectors_with_classes_or_local_models(model):
    rows = rows_about(0.0, 4096, 0)
    model.partial_fit(rows, (rows[:, 0] > 0).astype(int))
    still = model.partial_fit(rows[:512], (rows[:512, 0] > 0).astype(int)).drift_score_
    rows = rows[:512] + 3.0
    moved = model.partial_fit(rows, (rows[:, 0] > 0).astype(int)).drift_score_
    assert 0.0 < 3.0 * still < moved


def test_a_class_that_joins_does_not_count():
    model = ODAClassifier(n_codevectors=6, random_state=0)
    rows = rows_about(0.0, 4096, 0)
    model.partial_fit(rows, (rows[:, 0] > 0).astype(int))
    model.partial_fit(np.full((256, 3), 1e3), np.full(256, 2))
    assert model.drift_score_ < 1.0


PROBITS = {
    "expectation propagation": EPProbitClassifier(),
    "all covariances": ADFProbitClassifier(),
    "forgetting": ADFProbitClassifier(forgetting=0.999),
    "no covariances": ADFProbitClassifier(covariance="diagonal"),
}
probits = pytest.mark.parametrize("model", PROBITS.values(), ids=PROBITS)


def labelled(n_rows, seed, slope=(1.0, -2.0, 0.5)):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_rows, 3))
    return rows, (rows @ slope + random.normal(size=n_rows) > 0).astype(int)


@probits
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_weights_move_by_standard_deviations(model, fit_intercept):
    model = clone(model).set_params(fit_intercept=fit_intercept)
    model.partial_fit(*labelled(200, 0), classes=[0, 1])
    before = np.append(model.coef_[0], model.intercept_[: int(fit_intercept)])
    model.partial_fit(*labelled(50, 1))
    now = np.append(model.coef_[0], model.intercept_[: int(fit_intercept)])
    variances = model.covariance_[0]
    if variances.ndim == 2:
        variances = np.diag(variances)
    expected = np.sqrt(np.mean((now - before) ** 2 / variances))
    np.testing.assert_allclose(model.drift_score_, expected, rtol=1e-9)


@probits
def test_it_tells_a_boundary_that_moves(model):
    model = clone(model).partial_fit(*labelled(2000, 0), classes=[0, 1])
    still = [model.partial_fit(*labelled(200, seed)).drift_score_ for seed in (1, 2, 3)]
    # Where earlier rows are forgotten, deviations are those of a few hundred.
    assert max(still) < (1.0 if getattr(model, "forgetting", 1.0) == 1.0 else 1.5)
    turned = model.partial_fit(*labelled(200, 4, (-1.0, 2.0, 0.5))).drift_score_
    assert turned > 4.0 * max(still)


@probits
def test_probits_have_none_before_a_stream(model):
    model = clone(model)
    assert not hasattr(model, "drift_score_")
    rows, y = labelled(200, 0)
    assert model.partial_fit(rows, y, classes=[0, 1]).drift_score_ > 0.0
    before = model.partial_fit(rows, y).drift_score_
    with pytest.raises(ValueError):
        model.partial_fit(rows, y + 5)
    assert pickle.loads(pickle.dumps(model)).drift_score_ == before
    assert model.fit(rows, y).drift_score_ == 0.0


def test_it_counts_the_weights_of_all_pairs():
    rows, y = labelled(300, 0)
    y = y + (rows[:, 2] > 1.0)
    model = ADFProbitClassifier().partial_fit(rows, y, classes=[0, 1, 2])
    before = np.column_stack([model.coef_, model.intercept_])
    model.partial_fit(rows[:50], y[:50])
    moved = np.column_stack([model.coef_, model.intercept_]) - before
    deviations = np.sqrt(np.diagonal(model.covariance_, axis1=1, axis2=2))
    expected = np.sqrt(np.mean((moved / deviations) ** 2))
    np.testing.assert_allclose(model.drift_score_, expected, rtol=1e-9)

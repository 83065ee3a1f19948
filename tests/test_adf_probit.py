"""ADFProbitClassifier: parameters, attributes, streams and predictions."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from odalib import ADFProbitClassifier
from odalib.inference.ep.adf import Prior, begin

CENTRES = np.array([[-2.0, 0.0], [2.0, 0.5], [0.0, 3.0]])
# Parameters of every kind of belief.
KINDS = {
    "full": {},
    "forgetting": {"forgetting": 0.99},
    "diagonal": {"covariance": "diagonal"},
    "forgetting diagonal": {"covariance": "diagonal", "forgetting": 0.99},
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def blobs(n_samples=120, k=2, seed=0):
    y = np.arange(n_samples) % k
    return CENTRES[y] + np.random.default_rng(seed).normal(size=(n_samples, 2)), y


def make(**params):
    return ADFProbitClassifier(random_state=0, **params)


def assert_same(a, b, **tolerance):
    for name in ("coef_", "intercept_", "covariance_", "n_samples_seen_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), **tolerance)


# What is learnt


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_rows_as_they_come(covariance):
    """A fit without shuffling is one pass of the engine."""
    X, y = blobs()
    model = make(
        prior_variance=[2.0, 0.5],
        intercept_variance=3.0,
        covariance=covariance,
        shuffle=False,
    ).fit(X, y)
    prior = Prior(np.zeros(3), np.array([2.0, 0.5, 3.0]))
    design = np.column_stack([X, np.ones(len(X))])
    belief = begin(prior, covariance).learn(design, 2.0 * y - 1, np.ones(len(X)))
    mean, spread = belief.moments
    np.testing.assert_array_equal(model.coef_, mean[None, :2])
    np.testing.assert_array_equal(model.intercept_, mean[None, 2])
    np.testing.assert_array_equal(model.covariance_, spread[None])
    margin = (design @ mean) / np.sqrt(1.0 + belief.latent(design)[1])
    np.testing.assert_allclose(model.decision_function(X), margin, rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], ndtr(margin), rtol=1e-12)
    for found, expected in zip(
        model.latent_mean_and_variance(X), belief.latent(design), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("scheme", "n_problems"), [("ovo", 6), ("ovr", 4)])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_shapes_of_several_classes(scheme, n_problems, covariance):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(80, 3)), np.arange(80) % 4
    model = make(multi_class=scheme, covariance=covariance).fit(X, y)
    assert model.coef_.shape == (n_problems, 3)
    assert model.intercept_.shape == (n_problems,)
    tail = (4, 4) if covariance == "full" else (4,)
    assert model.covariance_.shape == (n_problems, *tail)
    assert model.predict_proba(X).shape == (80, 4)
    mean, variance = model.latent_mean_and_variance(X)
    assert mean.shape == variance.shape == (80, n_problems)
    assert model.n_samples_seen_ == 80.0


def test_a_pair_of_classes_is_learnt_from_its_own_rows():
    X, y = blobs(k=3)
    model = make(shuffle=False).fit(X, y)
    for p, (first, second) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = (y == first) | (y == second)
        alone = make(shuffle=False).fit(X[rows], y[rows])
        np.testing.assert_array_equal(model.coef_[p], alone.coef_[0])
        np.testing.assert_array_equal(model.covariance_[p], alone.covariance_[0])


def test_a_class_against_the_rest():
    X, y = blobs(k=3)
    model = make(shuffle=False, multi_class="ovr").fit(X, y)
    alone = make(shuffle=False).fit(X, y == 2)
    np.testing.assert_array_equal(model.coef_[2], alone.coef_[0])


def test_without_intercept():
    X, y = blobs()
    model = make(fit_intercept=False).fit(X, y)
    assert model.intercept_.tolist() == [0.0]
    assert model.covariance_.shape == (1, 2, 2)
    np.testing.assert_allclose(model.decision_function([[0.0, 0.0]]), [0.0])


def test_probabilities_are_about_as_good_as_those_of_tuned_regression():
    for load in (load_breast_cancer, load_iris):
        X, y = load(return_X_y=True)
        own, peer = (
            -cross_val_score(
                make_pipeline(StandardScaler(), model), X, y, scoring="neg_log_loss"
            ).mean()
            for model in (
                make(prior_variance=10.0, n_orderings=5),
                LogisticRegression(),
            )
        )
        assert own < 1.3 * peer


# Rows, weights and orders


@kinds
@pytest.mark.parametrize("n_orderings", [1, 3])
def test_row_order_and_repetition_do_not_matter(kind, n_orderings):
    X, y = blobs(k=3)
    X = np.round(X, 1)
    weights = np.arange(len(X)) % 4
    model = make(n_orderings=n_orderings, **kind).fit(X, y, sample_weight=weights)
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = make(n_orderings=n_orderings, **kind).fit(
        X[order], y[order], sample_weight=weights[order]
    )
    repeated = make(n_orderings=n_orderings, **kind).fit(
        X.repeat(weights, axis=0), y.repeat(weights)
    )
    assert_same(shuffled, model, rtol=1e-12)
    assert_same(repeated, model, rtol=1e-12)


def test_another_seed_goes_another_way():
    X, y = blobs()
    coefs = [
        ADFProbitClassifier(random_state=seed).fit(X, y).coef_ for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(coefs[0], coefs[1])
    assert (coefs[0] != coefs[2]).all()


def test_orderings_reduce_what_the_order_decides():
    X, y = blobs(60)
    spreads = [
        np.std(
            [
                ADFProbitClassifier(random_state=seed, n_orderings=n).fit(X, y).coef_
                for seed in range(20)
            ],
            axis=0,
        ).max()
        for n in (1, 16)
    ]
    assert spreads[1] < 0.5 * spreads[0]


@kinds
@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_matrix])
def test_sparse_rows_as_dense_ones(kind, layout):
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 6)) * (random.random((150, 6)) < 0.4)
    y = (X[:, 0] + random.normal(size=150) > 0).astype(int)
    dense, sparse = make(**kind).fit(X, y), make(**kind).fit(layout(X), y)
    assert_same(sparse, dense, rtol=1e-12)
    dense.partial_fit(X, y)
    sparse.partial_fit(layout(X), y)
    assert_same(sparse, dense, rtol=1e-12)
    np.testing.assert_allclose(
        sparse.predict_proba(layout(X)), dense.predict_proba(X), rtol=1e-12
    )


def test_very_many_sparse_features():
    """No array of 100,000 x 100,000, and rows tell of their own features."""
    random = np.random.default_rng(0)
    columns = random.integers(0, 100_000, (300, 5))
    y = (columns[:, 0] % 2).astype(int)
    columns[:, 0] = y
    rows = np.repeat(np.arange(300), 5)
    X = sp.csr_array((np.ones(1500), (rows, columns.ravel())), shape=(300, 100_000))
    model = make(covariance="diagonal", forgetting=0.9999).fit(X, y)
    assert model.covariance_.shape == (1, 100_001)
    assert model.score(X, y) == 1.0
    assert model.coef_[0, 0] < 0 < model.coef_[0, 1]
    unseen = np.setdiff1d(np.arange(100_000), columns)
    np.testing.assert_array_equal(model.coef_[0, unseen], 0.0)
    np.testing.assert_allclose(model.covariance_[0, unseen], 1.0, rtol=1e-12)


@kinds
def test_float32_is_kept(kind):
    X, y = blobs(k=3)
    single = make(**kind).fit(X.astype(np.float32), y)
    answers = (
        single.coef_,
        single.intercept_,
        single.covariance_,
        single.predict_proba(X.astype(np.float32)),
        single.predict_log_proba(X.astype(np.float32)),
        single.decision_function(X.astype(np.float32)),
    )
    assert {answer.dtype for answer in answers} == {np.dtype(np.float32)}
    ordered = make(shuffle=False, **kind)
    assert_same(
        ordered.fit(X.astype(np.float32), y),
        clone(ordered).fit(X, y),
        rtol=1e-4,
        atol=1e-6,
    )


# Streams


@kinds
def test_a_stream_is_learnt_in_the_order_of_arrival(kind):
    X, y = blobs(k=3)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(X))
    stream = make(**kind)
    for rows in np.array_split(np.arange(len(X)), 7):
        assert (
            stream.partial_fit(
                X[rows], y[rows], classes=[0, 1, 2], sample_weight=weights[rows]
            )
            is stream
        )
    whole = make(shuffle=False, **kind).fit(X, y, sample_weight=weights)
    assert_same(stream, whole, rtol=0.0)
    assert stream.n_samples_seen_ == weights.sum()


@kinds
def test_a_stream_goes_on_after_a_fit_and_a_fit_begins_anew(kind):
    X, y = blobs()
    stream = make(shuffle=False, **kind).fit(X[:60], y[:60])
    stream.partial_fit(X[60:], y[60:])
    assert_same(stream, make(shuffle=False, **kind).fit(X, y), rtol=0.0)
    assert_same(stream.fit(X, y), make(shuffle=False, **kind).fit(X, y), rtol=0.0)


@kinds
def test_copies_go_on_alike(kind):
    X, y = blobs()
    stream = make(**kind).partial_fit(X[:60], y[:60], classes=[0, 1])
    copied = pickle.loads(pickle.dumps(stream))
    assert_same(
        copied.partial_fit(X[60:], y[60:]),
        stream.partial_fit(X[60:], y[60:]),
        rtol=0.0,
    )


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_forgetting_follows_a_change(covariance):
    """50 rows after labels have turned round, of 1,000 the other way."""
    X, y = blobs(1050)
    y[1000:] = 1 - y[1000:]
    scores = [
        make(covariance=covariance, forgetting=forgetting)
        .partial_fit(X, y, classes=[0, 1])
        .score(X[1000:], y[1000:])
        for forgetting in (1.0, 0.99)
    ]
    assert scores[0] < 0.5
    assert scores[1] > 0.95


def test_forgetting_may_change_in_mid_stream():
    X, y = blobs()
    rows = np.array_split(np.arange(len(X)), 2)
    stream = make(fit_intercept=False)
    stream.partial_fit(X[rows[0]], y[rows[0]], classes=[0, 1])
    before = stream.coef_
    stream.set_params(forgetting=0.5).partial_fit([[0.0, 0.0]], [1])
    np.testing.assert_allclose(stream.coef_, 0.5 * before, rtol=1e-12)
    stream.set_params(forgetting=1.0).partial_fit(X[rows[1]], y[rows[1]])
    assert stream.n_samples_seen_ == len(X) + 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prior_variance", 2.0),
        ("prior_variance", [1.0, 2.0]),
        ("fit_intercept", False),
        ("intercept_variance", 1.0),
        ("multi_class", "ovr"),
        ("covariance", "diagonal"),
    ],
)
def test_what_a_belief_is_made_of_cannot_change(name, value):
    X, y = blobs()
    stream = make().fit(X, y)
    before = pickle.dumps(stream._beliefs)
    stream.set_params(**{name: value})
    with pytest.raises(ValueError, match=f"{name} cannot change in mid-stream"):
        stream.partial_fit(X, y)
    assert pickle.dumps(stream._beliefs) == before
    stream.fit(X, y).partial_fit(X, y)


def test_parameters_are_checked_in_mid_stream():
    X, y = blobs()
    stream = make().fit(X, y).set_params(forgetting=1.5)
    with pytest.raises(ValueError, match="'forgetting' parameter"):
        stream.partial_fit(X, y)


def refused_calls(X, y):
    yield "labels", r"\[77\]", {"X": X, "y": np.where(y == 1, 77, y)}
    yield "classes", "differ from those", {"X": X, "y": y, "classes": [0, 1, 2]}
    yield "NaN", "NaN", {"X": np.where(X > 1.0, np.nan, X), "y": y}
    yield "a feature less", "expecting 2 features", {"X": X[:, :1], "y": y}
    yield "huge values", "scale X", {"X": X * 1e130, "y": y}
    yield (
        "no weight",
        "zero",
        {"X": X, "y": y, "sample_weight": np.zeros(len(X))},
    )
    yield "negative", "[Nn]egative", {"X": X, "y": y, "sample_weight": -np.ones(len(X))}
    yield (
        "heavy rows",
        "a unit of weight is an update",
        {"X": X, "y": y, "sample_weight": np.full(len(X), 1e7)},
    )
    yield "rows without labels", "inconsistent", {"X": X, "y": y[:-1]}


@kinds
def test_a_refused_call_changes_nothing(kind):
    X, y = blobs()
    model = make(**kind).partial_fit(X, y, classes=[0, 1])
    before = {name: pickle.dumps(value) for name, value in vars(model).items()}
    for name, match, call in refused_calls(X, y):
        for method in (model.partial_fit, model.fit):
            if method == model.fit and name in ("labels", "classes", "a feature less"):
                continue
            with pytest.raises(ValueError, match=match):
                method(**call)
            after = {key: pickle.dumps(value) for key, value in vars(model).items()}
            assert after == before, name


# Bad parameters and labels


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"prior_variance": 0.0}, "'prior_variance' parameter"),
        ({"prior_variance": np.inf}, "'prior_variance' parameter"),
        ({"prior_variance": [1.0, np.inf]}, "inf for feature 1"),
        ({"prior_variance": [1.0, -1.0]}, "-1.0 for feature 1"),
        ({"prior_variance": [1.0, np.nan]}, "nan for feature 1"),
        ({"prior_variance": [1.0, 2.0, 3.0]}, r"\(3,\) where X has 2 features"),
        ({"intercept_variance": -1.0}, "'intercept_variance' parameter"),
        ({"forgetting": 0.0}, "'forgetting' parameter"),
        ({"n_orderings": 2, "shuffle": False}, "set shuffle=True"),
        ({"multi_class": "ecoc"}, "'multi_class' parameter"),
    ],
)
def test_bad_parameters(params, match):
    with pytest.raises(ValueError, match=match):
        make(**params).fit(*blobs())


def test_one_class_is_named():
    X, _ = blobs(20)
    with pytest.raises(ValueError, match="one class, 'spam'"):
        make().fit(X, ["spam"] * 20)
    weights = np.arange(20) == 3
    with pytest.raises(ValueError, match="one class, 'ham'"):
        make().fit(X, ["spam", "ham"] * 10, sample_weight=weights)


def test_two_announced_classes_of_which_one_has_come():
    X, _ = blobs(50)
    model = make().partial_fit(X, np.ones(50), classes=[0, 1])
    proba = model.predict_proba(X)
    assert (proba[:, 1] > 0.5).all()
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_the_first_batch_needs_the_classes():
    X, y = blobs()
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        make().partial_fit(X, y)


def test_labels_of_any_kind():
    X, y = blobs(60)
    names = np.array(["no", "yes"])[y]
    expected = make().fit(X, y)
    for labels in (
        names,
        names.astype(object),
        names.astype(np.dtypes.StringDType()),
        y.astype(object),
        y == 1,
        pd.Series(names, dtype="category"),
    ):
        model = make().fit(X, labels)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        np.testing.assert_array_equal(
            model.predict(X), model.classes_[expected.predict(X)]
        )
    with pytest.warns(DataConversionWarning):
        make().fit(X, pd.DataFrame({"t": y}))


# Hard data


@kinds
def test_separable_data_have_probabilities_inside_of_zero_and_one(kind):
    random = np.random.default_rng(0)
    X = np.r_[random.normal(size=(50, 2)) - 50, random.normal(size=(50, 2)) + 50]
    y = np.repeat([0, 1], 50)
    model = make(**kind).fit(X, y)
    proba = model.predict_proba(X)
    assert ((proba > 0) & (proba < 1)).all()
    assert np.isfinite(model.predict_log_proba(X)).all()
    assert model.score(X, y) == 1.0


@kinds
@pytest.mark.parametrize("prior_variance", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e8])
def test_every_scale_is_answered(kind, prior_variance, factor):
    """Also duplicated and constant columns, and labels at random."""
    X, y = blobs(300)
    X = factor * np.column_stack([X, X[:, 0], np.full(300, 7.0)])
    for labels in (y, np.random.default_rng(0).integers(0, 2, 300)):
        model = make(prior_variance=prior_variance, **kind).fit(X, labels)
        for answer in (
            model.predict_proba(X),
            model.predict_log_proba(X),
            model.decision_function(X),
        ):
            assert np.isfinite(answer).all()
        assert (model.latent_mean_and_variance(X)[1] > 0).all()


@kinds
def test_opposite_labels_of_the_same_rows(kind):
    """And one far mislabelled row: about one half where rows are tied."""
    random = np.random.default_rng(0)
    X = np.r_[
        np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0),
        [[60.0, 60.0]],
        random.normal(size=(20, 2)) * 0.1 + 60,
    ]
    y = np.r_[np.arange(40) % 2, 0, np.ones(20, int)]
    model = make(n_orderings=20, **kind).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()
    np.testing.assert_allclose(model.predict_proba(X[:1])[0, 1], 0.5, atol=0.12)


@pytest.mark.parametrize("X", [np.full((40, 2), 3.0), np.zeros((40, 2))])
def test_constant_columns(X):
    proba = make(n_orderings=10).fit(X, np.arange(40) % 2).predict_proba(X)
    np.testing.assert_allclose(proba, 0.5, atol=0.1)


def test_a_rare_class_in_a_stream():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(2000, 3)), np.zeros(2000, int)
    y[1500] = 1
    stream = make()
    for rows in np.array_split(np.arange(2000), 20):
        stream.partial_fit(X[rows], y[rows], classes=[0, 1])
    rate = stream.predict_proba(X)[:, 1].mean()
    assert 2e-4 < rate < 1.2e-3


# Among scikit-learn's tools


def test_in_scikit_learns_tools():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), make()),
        {
            "adfprobitclassifier__prior_variance": [0.1, 10.0],
            "adfprobitclassifier__covariance": ["full", "diagonal"],
        },
        scoring="neg_log_loss",
    ).fit(X, y)
    assert search.best_params_["adfprobitclassifier__covariance"] == "full"
    proba = cross_val_predict(search.best_estimator_, X, y, method="predict_proba")
    assert log_loss(y, proba) < 0.3
    for wrapped in (
        CalibratedClassifierCV(make(), cv=3),
        OneVsRestClassifier(make()),
        VotingClassifier(
            [("adf", make()), ("peer", LogisticRegression())], voting="soft"
        ),
    ):
        assert wrapped.fit(scale(X), y).score(scale(X), y) > 0.85


def test_learning_curve_by_partial_fit():
    X, y = blobs(90)
    _, _, scores = learning_curve(
        make(), X, y, exploit_incremental_learning=True, train_sizes=[0.5, 1.0], cv=3
    )
    assert (scores > 0.8).all()


def test_column_names_are_kept_and_checked():
    X, y = blobs()
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = make().partial_fit(frame, y, classes=[0, 1])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(frame[["b", "a"]], y)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_fractional_weights_far_from_the_origin_come_to_an_end(covariance):
    """Where floats cannot tell the peak of a tilted density from its neighbours."""
    X = np.array([[1e17], [1e17], [-1e17]])
    model = ADFProbitClassifier(covariance=covariance, shuffle=False)
    model.fit(X, [0, 1, 0], sample_weight=[0.5, 0.5, 0.25])
    assert np.isfinite(model.predict_proba(X)).all()

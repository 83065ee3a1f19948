"""The estimators among scikit-learn's tools, which give what is given by hand."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import (
    MultiOutputClassifier,
    MultiOutputRegressor,
    RegressorChain,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
    ODAClassifier,
    ODARegressor,
)

IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = scale(IRIS)
# Ten features of a hundred patients.
PATIENTS, MALIGNANT = (part[:100] for part in load_breast_cancer(return_X_y=True))
PATIENTS = PATIENTS[:, :10]
WEIGHT = np.random.default_rng(0).integers(1, 4, 150).astype(float)
# Four features of as many patients with diabetes, and how these fared.
DIABETICS, PROGRESS = (part[:150] for part in load_diabetes(return_X_y=True))
DIABETICS = scale(DIABETICS[:, [2, 3, 8, 9]])

CLASSIFIERS = {
    "probit": EPProbitClassifier(),
    "filtering": ADFProbitClassifier(random_state=0),
    "gaussian process": EPGaussianProcessClassifier(),
    # Quick to fit: the divergence as it is, no polish.
    "codevectors": ODAClassifier(6, metric=None, polish=None, random_state=0),
}
every_classifier = pytest.mark.parametrize(
    "classifier", CLASSIFIERS.values(), ids=CLASSIFIERS
)
STREAMS = {name: CLASSIFIERS[name] for name in ("probit", "filtering", "codevectors")}
every_stream = pytest.mark.parametrize("classifier", STREAMS.values(), ids=STREAMS)
REGRESSORS = {
    "local models": ODARegressor(6, metric=None, random_state=0),
    "constants": ODARegressor(6, local_model="constant", random_state=0),
}
every_regressor = pytest.mark.parametrize(
    "regressor", REGRESSORS.values(), ids=REGRESSORS
)


def assert_same_probabilities(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# Searches


def by_hand(estimator, folds, X, y):
    """Mean log loss of the folds, negative."""
    losses = []
    for train, test in folds.split(X, y):
        model = clone(estimator).fit(X[train], y[train])
        losses.append(log_loss(y[test], model.predict_proba(X[test]), labels=[0, 1]))
    return -np.mean(losses)


def test_a_search_over_prior_variances():
    """Numbers, arrays and words; of all, the scores are those of fits by hand."""
    one_feature = np.where(np.arange(10) == 0, 1.0, 1e-4)
    variances = [1e-6, 0.1, one_feature, np.ones(10), "evidence", "ard"]
    folds = StratifiedKFold(3)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), EPProbitClassifier()),
        {"epprobitclassifier__prior_variance": variances},
        scoring="neg_log_loss",
        cv=folds,
    ).fit(PATIENTS, MALIGNANT)
    scores = search.cv_results_["mean_test_score"]
    for variance, score in zip(variances, scores, strict=True):
        model = make_pipeline(StandardScaler(), EPProbitClassifier(variance))
        assert score == pytest.approx(by_hand(model, folds, PATIENTS, MALIGNANT))
    # With next to no weights probabilities are the frequencies of the classes.
    shares = np.bincount(MALIGNANT) / len(MALIGNANT)
    assert scores[0] == pytest.approx(shares @ np.log(shares), rel=0.05)
    best = search.best_estimator_[-1]
    assert scores.argmax() == 3
    np.testing.assert_array_equal(best.prior_variance, np.ones(10))
    np.testing.assert_array_equal(best.prior_variance_, np.ones((1, 10)))


def test_a_search_over_kernels():
    """The linear kernel wins where the classes are told apart by a plane."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    y = (X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=80) > 0).astype(int)
    kernels = [RBF(0.1), DotProduct(1.0, "fixed"), Matern(0.1, nu=0.5)]
    folds = KFold(4)
    search = GridSearchCV(
        EPGaussianProcessClassifier(optimizer=None),
        {"kernel": kernels},
        scoring="neg_log_loss",
        cv=folds,
    ).fit(X, y)
    assert search.best_params_ == {"kernel": kernels[1]}
    assert search.best_score_ == pytest.approx(
        by_hand(search.estimator.set_params(kernel=kernels[1]), folds, X, y)
    )
    # A parameter inside of a kernel is one of the classifier.
    inside = GridSearchCV(
        EPGaussianProcessClassifier(
            1.0 * RBF(1.0) + WhiteKernel(0.1, "fixed"), optimizer=None
        ),
        {"kernel__k1__k2__length_scale": [1e-2, 3.0]},
        scoring="neg_log_loss",
        cv=folds,
    ).fit(X, y)
    assert inside.best_params_ == {"kernel__k1__k2__length_scale": 3.0}


@every_classifier
def test_cross_validated_scores(classifier):
    scores = cross_val_score(classifier, IRIS, SPECIES, cv=3, scoring="neg_log_loss")
    assert (scores > -0.35).all()


@every_classifier
@pytest.mark.parametrize(
    "method", ["predict_proba", "predict_log_proba", "decision_function"]
)
def test_cross_validated_predictions(classifier, method):
    if not hasattr(classifier, method):
        method = "predict"
    folds = StratifiedKFold(3)
    found = cross_val_predict(classifier, IRIS, SPECIES, cv=folds, method=method)
    for train, test in folds.split(IRIS, SPECIES):
        model = clone(classifier).fit(IRIS[train], SPECIES[train])
        np.testing.assert_array_equal(found[test], getattr(model, method)(IRIS[test]))


@every_stream
def test_a_learning_curve_by_increments(classifier):
    """Its scores are those of one stream in as many calls, predicted in between."""
    X, y = scale(PATIENTS), MALIGNANT
    folds = KFold(2)
    sizes, _, scores = learning_curve(
        classifier,
        X,
        y,
        train_sizes=[20, 35, 50],
        cv=folds,
        scoring="neg_log_loss",
        exploit_incremental_learning=True,
    )
    for fold, (train, test) in enumerate(folds.split(X)):
        model = clone(classifier)
        edges = [0, *sizes]
        for row, rows in enumerate(np.split(train, sizes[:-1])):
            model.partial_fit(X[rows], y[rows], classes=[0, 1])
            loss = log_loss(y[test], model.predict_proba(X[test]), labels=[0, 1])
            assert scores[row, fold] == pytest.approx(-loss, rel=1e-9)
            assert len(rows) == edges[row + 1] - edges[row]


# Ensembles and decompositions


@every_classifier
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration(classifier, method):
    """Of a classifier that is calibrated already, little is lost."""
    calibrated = CalibratedClassifierCV(classifier, method=method, cv=3)
    calibrated.fit(IRIS, SPECIES, sample_weight=WEIGHT)
    probabilities = calibrated.predict_proba(IRIS)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert calibrated.score(IRIS, SPECIES) > 0.9
    inner = calibrated.calibrated_classifiers_[0].estimator
    train, _ = next(iter(StratifiedKFold(3).split(IRIS, SPECIES)))
    expected = clone(classifier).fit(
        IRIS[train], SPECIES[train], sample_weight=WEIGHT[train]
    )
    assert_same_probabilities(inner.predict_proba(IRIS), expected.predict_proba(IRIS))


def test_calibration_of_a_fitted_classifier():
    model = EPProbitClassifier().fit(IRIS[::2], SPECIES[::2])
    calibrated = CalibratedClassifierCV(FrozenEstimator(model), method="sigmoid")
    calibrated.fit(IRIS[1::2], SPECIES[1::2])
    assert log_loss(SPECIES, calibrated.predict_proba(IRIS)) < 0.25


@pytest.mark.parametrize(
    ("binary", "classifier"),
    [
        (EPProbitClassifier(), EPProbitClassifier(multi_class="ovr")),
        (ADFProbitClassifier(shuffle=False),) * 2,
        (EPGaussianProcessClassifier(), EPGaussianProcessClassifier()),
    ],
    ids=repr,
)
def test_one_against_the_rest(binary, classifier):
    """Around a classifier it gives what ``'ovr'`` gives within."""
    around = OneVsRestClassifier(binary).fit(IRIS, SPECIES)
    if isinstance(classifier, ADFProbitClassifier):
        classifier = clone(classifier).set_params(multi_class="ovr")
    within = clone(classifier).fit(IRIS, SPECIES)
    np.testing.assert_allclose(
        around.predict_proba(IRIS), within.predict_proba(IRIS), rtol=1e-5
    )
    np.testing.assert_array_equal(around.predict(IRIS), within.predict(IRIS))


@pytest.mark.parametrize(
    "classifier", [CLASSIFIERS["probit"], CLASSIFIERS["filtering"]], ids=repr
)
def test_a_stream_of_one_against_the_rest(classifier):
    around = OneVsRestClassifier(classifier)
    within = clone(classifier).set_params(multi_class="ovr")
    for rows in np.split(np.random.default_rng(2).permutation(150), 3):
        around.partial_fit(IRIS[rows], SPECIES[rows], classes=[0, 1, 2])
        within.partial_fit(IRIS[rows], SPECIES[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(
        around.predict_proba(IRIS), within.predict_proba(IRIS), rtol=1e-5
    )


def test_one_against_one_of_gaussian_processes():
    around = OneVsOneClassifier(EPGaussianProcessClassifier()).fit(IRIS, SPECIES)
    within = EPGaussianProcessClassifier(multi_class="one_vs_one").fit(IRIS, SPECIES)
    np.testing.assert_array_equal(around.predict(IRIS), within.predict(IRIS))
    for model, pair in zip(around.estimators_, [(0, 1), (0, 2), (1, 2)], strict=True):
        rows = np.isin(SPECIES, pair)
        mean, _ = model.latent_mean_and_variance(IRIS[rows])
        problem = around.estimators_.index(model)
        expected = within.latent_mean_and_variance(IRIS[rows])[0][:, problem]
        np.testing.assert_allclose(mean, expected, atol=1e-5)


def test_one_against_one_of_codevectors():
    """Each pair has codevectors of its own."""
    around = OneVsOneClassifier(CLASSIFIERS["codevectors"]).fit(IRIS, SPECIES)
    assert [len(model.codevectors_) for model in around.estimators_] == [6, 6, 6]
    assert around.score(IRIS, SPECIES) > 0.93
    stream = OneVsOneClassifier(CLASSIFIERS["codevectors"])
    for rows in np.split(np.random.default_rng(2).permutation(150), 3):
        stream.partial_fit(IRIS[rows], SPECIES[rows], classes=[0, 1, 2])
    assert stream.score(IRIS, SPECIES) > 0.93


def test_bags_of_codevectors():
    """Weights of a bag are repetitions, and its members those fits."""
    model = CLASSIFIERS["codevectors"]
    bag = BaggingClassifier(model, n_estimators=3, random_state=0).fit(IRIS, SPECIES)
    for member, rows in zip(bag.estimators_, bag.estimators_samples_, strict=True):
        expected = clone(model).set_params(random_state=member.random_state)
        expected.fit(IRIS[rows], SPECIES[rows])
        assert_same_probabilities(
            member.predict_proba(IRIS), expected.predict_proba(IRIS)
        )
    assert bag.score(IRIS, SPECIES) > 0.93


def test_several_outputs():
    Y = np.c_[SPECIES, SPECIES == 1]
    model = MultiOutputClassifier(EPProbitClassifier()).fit(IRIS, Y)
    first = EPProbitClassifier().fit(IRIS, SPECIES)
    assert_same_probabilities(model.predict_proba(IRIS)[0], first.predict_proba(IRIS))


def test_soft_voting_averages_the_probabilities():
    vote = VotingClassifier(list(CLASSIFIERS.items()), voting="soft")
    vote.fit(IRIS, SPECIES, sample_weight=WEIGHT)
    members = [
        clone(member).fit(IRIS, SPECIES, sample_weight=WEIGHT).predict_proba(IRIS)
        for member in CLASSIFIERS.values()
    ]
    assert_same_probabilities(vote.predict_proba(IRIS), np.mean(members, axis=0))


def test_stacking():
    stack = StackingClassifier(
        list(CLASSIFIERS.items()), final_estimator=EPProbitClassifier(), cv=3
    ).fit(IRIS, SPECIES)
    assert stack.transform(IRIS).shape == (150, 3 * len(CLASSIFIERS))
    assert stack.score(IRIS, SPECIES) > 0.93


def test_features_are_selected_by_their_weights():
    """Two of the features do not matter, and the evidence finds which."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    y = (2.0 * X[:, 0] - 1.5 * X[:, 2] + rng.normal(size=200) > 0).astype(int)
    selector = SelectFromModel(EPProbitClassifier("ard"), threshold="mean").fit(X, y)
    assert selector.get_support().tolist() == [True, False, True, False]


# Frames and metadata


@every_classifier
@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"]
)
def test_frames(classifier, frame):
    """Names go through a pipeline whose steps give frames, and change no number."""
    if isinstance(classifier, ADFProbitClassifier):
        # Orders depend on the last bits, and these on the layout of a frame.
        classifier = clone(classifier).set_params(shuffle=False)
    names = load_iris().feature_names
    rows = frame(dict(zip(names, IRIS.T, strict=True)))
    labels = np.array(load_iris().target_names)[SPECIES]
    output = "pandas" if frame is pd.DataFrame else "polars"
    pipeline = make_pipeline(StandardScaler(), clone(classifier))
    pipeline.set_output(transform=output).fit(rows, labels)
    assert pipeline[-1].feature_names_in_.tolist() == names
    plain = make_pipeline(StandardScaler(), clone(classifier)).fit(IRIS, labels)
    np.testing.assert_allclose(
        pipeline.predict_proba(rows), plain.predict_proba(IRIS), rtol=1e-5
    )
    assert pipeline.predict(rows).tolist() == plain.predict(IRIS).tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        pipeline[-1].predict(rows[names[::-1]])


@every_classifier
def test_weights_are_routed(classifier):
    """Through a search and a pipeline, to ``fit`` and to the score."""
    with config_context(enable_metadata_routing=True):
        asking = clone(classifier).set_fit_request(sample_weight=True)
        asking.set_score_request(sample_weight=True)
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), asking
        )
        grid = {f"{pipeline.steps[-1][0]}__random_state": [0]}
        if isinstance(classifier, EPProbitClassifier):
            grid = {"epprobitclassifier__prior_variance": [1.0]}
        # Asked of the pipeline by name: scikit-learn before 1.8 does not look inside.
        if hasattr(pipeline, "set_score_request"):
            pipeline.set_score_request(sample_weight=True)
        search = GridSearchCV(pipeline, grid, cv=StratifiedKFold(3))
        search.fit(IRIS, SPECIES, sample_weight=WEIGHT)
    X = StandardScaler().fit_transform(IRIS)
    model = clone(classifier).fit(X, SPECIES, sample_weight=WEIGHT)
    assert_same_probabilities(search.predict_proba(IRIS), model.predict_proba(X))
    by_hand = []
    for train, test in StratifiedKFold(3).split(IRIS, SPECIES):
        scaler = StandardScaler().fit(IRIS[train])
        model = clone(classifier).fit(
            scaler.transform(IRIS[train]), SPECIES[train], sample_weight=WEIGHT[train]
        )
        rows = scaler.transform(IRIS[test])
        by_hand.append(model.score(rows, SPECIES[test], sample_weight=WEIGHT[test]))
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(by_hand))


@every_stream
def test_classes_and_weights_of_a_stream_can_be_asked_for(classifier):
    with config_context(enable_metadata_routing=True):
        asking = clone(classifier).set_partial_fit_request(
            classes=True, sample_weight=True
        )
        requests = asking.get_metadata_routing().partial_fit.requests
    assert requests == {"classes": True, "sample_weight": True}


# Regressors


@every_regressor
def test_cross_validated_values(regressor):
    folds = KFold(3)
    found = cross_val_predict(regressor, DIABETICS, PROGRESS, cv=folds)
    for train, test in folds.split(DIABETICS):
        model = clone(regressor).fit(DIABETICS[train], PROGRESS[train])
        np.testing.assert_array_equal(found[test], model.predict(DIABETICS[test]))
    scores = cross_val_score(regressor, DIABETICS, PROGRESS, cv=folds)
    assert (scores > 0.1).all()


@every_regressor
def test_a_search_over_local_models(regressor):
    grid = {"local_model": ["constant", "linear"], "blend": [True, False]}
    search = GridSearchCV(regressor, grid, cv=3).fit(DIABETICS, PROGRESS)
    assert search.best_params_["local_model"] == "linear"
    best = clone(regressor).set_params(**search.best_params_)
    np.testing.assert_array_equal(
        search.predict(DIABETICS), best.fit(DIABETICS, PROGRESS).predict(DIABETICS)
    )


@every_regressor
def test_several_targets_one_by_one(regressor):
    """In turn, or each from those before it; one fit of all has the same cells."""
    Y = np.c_[PROGRESS, DIABETICS[:, 0] ** 2]
    turns = MultiOutputRegressor(regressor).fit(DIABETICS, Y)
    for column, model in enumerate(turns.estimators_):
        expected = clone(regressor).fit(DIABETICS, Y[:, column])
        np.testing.assert_array_equal(
            model.predict(DIABETICS), expected.predict(DIABETICS)
        )
    together = clone(regressor).fit(DIABETICS, Y)
    np.testing.assert_allclose(
        together.codevectors_, turns.estimators_[0].codevectors_, rtol=1e-12
    )
    chain = RegressorChain(regressor).fit(DIABETICS, Y)
    assert np.isfinite(chain.predict(DIABETICS)).all()


def test_votes_and_stacks_of_regressors():
    members = [
        clone(member).fit(DIABETICS, PROGRESS, sample_weight=WEIGHT)
        for member in REGRESSORS.values()
    ]
    vote = VotingRegressor(list(REGRESSORS.items()))
    vote.fit(DIABETICS, PROGRESS, sample_weight=WEIGHT)
    expected = np.mean([member.predict(DIABETICS) for member in members], axis=0)
    np.testing.assert_allclose(vote.predict(DIABETICS), expected, rtol=1e-12)
    stack = StackingRegressor(list(REGRESSORS.items()), RidgeCV(), cv=3)
    assert stack.fit(DIABETICS, PROGRESS).score(DIABETICS, PROGRESS) > 0.3


@every_regressor
def test_targets_in_other_units(regressor):
    """Standardised around a regressor, they give what they give within."""
    around = TransformedTargetRegressor(regressor, transformer=StandardScaler())
    around.fit(DIABETICS, PROGRESS)
    within = clone(regressor).fit(DIABETICS, PROGRESS)
    np.testing.assert_allclose(
        around.predict(DIABETICS), within.predict(DIABETICS), rtol=1e-6
    )


@every_regressor
def test_weights_of_a_regressor_are_routed(regressor):
    with config_context(enable_metadata_routing=True):
        asking = clone(regressor).set_fit_request(sample_weight=True)
        asking.set_score_request(sample_weight=True)
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), asking
        )
        pipeline.fit(DIABETICS, PROGRESS, sample_weight=WEIGHT)
        found = pipeline.score(DIABETICS, PROGRESS, sample_weight=WEIGHT)
    X = StandardScaler().fit_transform(DIABETICS)
    model = clone(regressor).fit(X, PROGRESS, sample_weight=WEIGHT)
    assert found == model.score(X, PROGRESS, sample_weight=WEIGHT)

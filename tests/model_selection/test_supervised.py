"""PathSearchCV over classifiers and regressors: the choice of a grid, from few fits."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from odalib import ODAClassifier, ODARegressor, PathSearchCV

from .common import scores_of

IRIS, SPECIES = load_iris(return_X_y=True)
WINE, CULTIVARS = load_wine(return_X_y=True)
PATIENTS, PROGRESS = load_diabetes(return_X_y=True)
N_FOLDS = 3
STRATIFIED = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
FOLDS = KFold(N_FOLDS, shuffle=True, random_state=0)
# Of which a fit is quick, and the level of its own number the fit itself.
PLAIN = {"metric": None, "polish": None, "random_state": 0}


class Recorder(ODAClassifier):
    """Writes down the rows and the number of every fit."""

    fits: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        Recorder.fits.append((len(X), self.n_codevectors))
        return super().fit(X, y, sample_weight)


@pytest.fixture(autouse=True)
def _forget():
    Recorder.fits.clear()


def both(estimator, X, y, values, cv):
    """Search along the path, and over a grid."""
    name = "n_codevectors"
    path = PathSearchCV(
        estimator.set_params(**{name: values[-1]}),
        values=values,
        cv=cv,
        rule="best",
        refit=False,
    )
    grid = GridSearchCV(estimator, {name: values}, cv=cv, refit=False)
    return path.fit(X, y), grid.fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "values"),
    [
        (IRIS, SPECIES, [3, 5, 10]),
        (scale(WINE), CULTIVARS, [3, 5, 10]),
    ],
    ids=["iris", "wine"],
)
def test_a_classifier_has_the_number_that_a_grid_has(X, y, values):
    path, grid = both(ODAClassifier(**PLAIN), X, y, values, STRATIFIED)
    assert path.best_params_ == grid.best_params_
    found, expected = (search.cv_results_ for search in (path, grid))
    # The fit of a fold is that of the largest number.
    for fold in range(N_FOLDS):
        name = f"split{fold}_test_score"
        assert found[name][-1] == expected[name][-1]
    error = path.cv_results_["standard_error_test_score"].max()
    np.testing.assert_allclose(
        found["mean_test_score"], expected["mean_test_score"], atol=2.0 * error
    )


@pytest.mark.parametrize("local_model", ["constant", "linear"])
def test_a_regressor_has_the_number_that_a_grid_has(local_model):
    """One codevector is too few, and for linear models thirty are too many."""
    model = ODARegressor(local_model=local_model, metric=None, random_state=0)
    path, grid = both(model, PATIENTS, PROGRESS, [1, 3, 30], FOLDS)
    assert path.best_params_ == grid.best_params_
    assert (
        path.best_params_["n_codevectors"] == {"constant": 30, "linear": 3}[local_model]
    )
    np.testing.assert_array_equal(scores_of(path)[-1], scores_of(grid)[-1])


def test_every_fold_is_fitted_once():
    search = PathSearchCV(Recorder(12, **PLAIN), values=[3, 5, 12], cv=STRATIFIED)
    search.fit(IRIS, SPECIES)
    *folds, (n_rows, number) = Recorder.fits
    assert folds == [(100, 12)] * N_FOLDS
    assert n_rows == 150
    assert number == search.best_params_["n_codevectors"]
    assert is_classifier(search)
    expected = ODAClassifier(number, **PLAIN).fit(IRIS, SPECIES)
    for method in ("predict", "predict_proba", "predict_log_proba"):
        np.testing.assert_array_equal(
            getattr(search, method)(IRIS), getattr(expected, method)(IRIS)
        )
    np.testing.assert_array_equal(search.classes_, [0, 1, 2])


def test_the_defaults_are_searched_along_the_path_too():
    """Metric, decision and polish are those of the fit of the fold."""
    model = ODAClassifier(6, random_state=0)
    search = PathSearchCV(model, values=[3, 6], cv=STRATIFIED, rule="best")
    search.fit(IRIS, SPECIES)
    for (train, test), scores in zip(
        STRATIFIED.split(IRIS, SPECIES), scores_of(search).T, strict=True
    ):
        fitted = ODAClassifier(6, random_state=0).fit(IRIS[train], SPECIES[train])
        for number, score in zip((3, 6), scores, strict=True):
            level = fitted.at(n_codevectors=number, X=IRIS[train], y=SPECIES[train])
            assert level.score(IRIS[test], SPECIES[test]) == score
        assert fitted.score(IRIS[test], SPECIES[test]) == scores[1]


def test_a_polished_level_predicts_as_a_fit_of_its_number():
    """By log loss, within two standard errors; without rows it is behind."""
    X, y, values, rows = IRIS, SPECIES, [3, 6, 15], []
    for train, test in STRATIFIED.split(X, y):
        largest = ODAClassifier(values[-1], random_state=0).fit(X[train], y[train])
        taught = {"X": X[train], "y": y[train]}
        for number in values[:-1]:
            models = (
                largest.at(n_codevectors=number),
                largest.at(n_codevectors=number, **taught),
                ODAClassifier(number, random_state=0).fit(X[train], y[train]),
            )
            losses = [log_loss(y[test], one.predict_proba(X[test])) for one in models]
            rows.append(losses)
    losses = np.reshape(rows, (N_FOLDS, len(values) - 1, 3))
    behind = losses[:, :, 1] - losses[:, :, 2]
    error = behind.std(axis=0) / np.sqrt(N_FOLDS - 1.0)
    assert (behind.mean(axis=0) < 2.0 * error).all()
    assert losses[:, :, 1].mean() < losses[:, :, 0].mean()


def test_levels_of_a_pipeline_learn_what_its_last_step_did():
    weight = np.random.default_rng(0).integers(1, 4, 150).astype(float)
    pipeline = make_pipeline(StandardScaler(), ODAClassifier(6, random_state=0))
    search = PathSearchCV(pipeline, values=[3, 6], cv=STRATIFIED, refit=False)
    search.set_params(scoring=_minus_loss)
    search.fit(IRIS, SPECIES, odaclassifier__sample_weight=weight)
    train, test = next(iter(STRATIFIED.split(IRIS, SPECIES)))
    scaler = StandardScaler().fit(IRIS[train])
    taught = {
        "X": scaler.transform(IRIS[train]),
        "y": SPECIES[train],
        "sample_weight": weight[train],
    }
    level = ODAClassifier(6, random_state=0).fit(*taught.values())
    level = level.at(n_codevectors=3, **taught)
    expected = -log_loss(
        SPECIES[test], level.predict_proba(scaler.transform(IRIS[test]))
    )
    assert scores_of(search)[0][0] == pytest.approx(expected, rel=1e-12)


def _minus_loss(model, X, y):
    return -log_loss(y, model.predict_proba(X))


@pytest.mark.parametrize("number", [5, None])
def test_without_values_there_is_one_for_each_class_at_least(number):
    model = ODAClassifier(number, max_codevectors=5, **PLAIN)
    search = PathSearchCV(model, cv=STRATIFIED).fit(IRIS, SPECIES)
    assert search.cv_results_["param_n_codevectors"].tolist() == [3, 4, 5]


def test_fewer_than_classes_is_refused_by_the_path():
    search = PathSearchCV(ODAClassifier(**PLAIN), values=[2, 4], cv=STRATIFIED)
    with pytest.warns(UserWarning, match="n_codevectors=2 is not on the path"):
        search.fit(IRIS, SPECIES)
    assert search.best_params_ == {"n_codevectors": 4}


def test_folds_of_a_classifier_are_stratified():
    """Of rows in the order of their classes; of a regressor each fold is one class."""
    search = PathSearchCV(ODAClassifier(3, **PLAIN), cv=3).fit(IRIS, SPECIES)
    assert search.best_score_ > 0.9
    regressor = ODARegressor(3, metric=None, random_state=0)
    search = PathSearchCV(regressor, cv=3, rule="best").fit(IRIS, SPECIES)
    assert is_regressor(search)
    assert search.best_score_ <= 0.0


def test_other_scores_weights_and_pipelines():
    weight = np.random.default_rng(0).integers(1, 4, 150).astype(float)
    pipeline = make_pipeline(StandardScaler(), ODAClassifier(6, **PLAIN))
    search = PathSearchCV(pipeline, values=[3, 6], scoring="neg_log_loss", cv=2)
    search.fit(IRIS, SPECIES, odaclassifier__sample_weight=weight)
    name = "odaclassifier__n_codevectors"
    assert list(search.best_params_) == [name]
    assert search.best_estimator_[-1].n_samples_seen_ == weight.sum()
    assert -0.5 < search.best_score_ < 0.0
    np.testing.assert_allclose(search.predict_proba(IRIS).sum(axis=1), 1.0, rtol=1e-12)


def test_resolutions_are_searched_at_the_last():
    """Those before it keep their numbers."""
    model = ODAClassifier(9, resolutions=[[0, 1], None], **PLAIN)
    search = PathSearchCV(model, cv=STRATIFIED).fit(IRIS, SPECIES)
    numbers = search.cv_results_["param_n_codevectors"].tolist()
    assert numbers == list(range(numbers[0], 10))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.tree_.n_levels == 2

"""Prequential scores are those of a loop that predicts and then learns."""

import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import MiniBatchKMeans
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import accuracy_score, log_loss, mean_squared_error, r2_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.preprocessing import StandardScaler

from odalib import ADFProbitClassifier, ODAClassifier
from odalib.streaming import fit_stream, make_streaming_pipeline
from tests.streaming.streams import CHUNK, N_SAMPLES, WEIGHTS, X, Y, chunks

TARGET = np.stack([9.0 + X[:, 0], np.sin(X[:, 1])], axis=1)


def classifier():
    return make_streaming_pipeline(StandardScaler(), ADFProbitClassifier())


class DummyMean(BaseEstimator):
    """Predicts the mean of the last batch."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    partial_fit = fit

    def predict(self, X):
        return np.full(len(X), self.mean_)


def by_hand(model, targets, method, **options):
    """Predictions of every chunk but the first, before it is learnt."""
    predicted = []
    for start in range(0, N_SAMPLES, CHUNK):
        rows = slice(start, start + CHUNK)
        if start:
            predicted.append(getattr(model, method)(X[rows]))
        model.partial_fit(X[rows], targets[rows], **options)
    return np.concatenate(predicted)


@pytest.mark.parametrize("weights", [np.ones(N_SAMPLES), WEIGHTS])
@pytest.mark.parametrize("window", [None, 3])
def test_scores_of_a_classifier_are_those_of_a_loop(weights, window):
    model, found = classifier(), []
    chunked = [slice(start, start + CHUNK) for start in range(0, N_SAMPLES, CHUNK)]
    for rows in chunked:
        if rows.start:
            found.append(model.predict_proba(X[rows]))
        model.partial_fit(X[rows], Y[rows], [0, 1], weights[rows])
    result = fit_stream(
        classifier(),
        ((X[rows], Y[rows], weights[rows]) for rows in chunked),
        classes=[0, 1],
        scoring=["accuracy", "neg_log_loss"],
    )
    found, truth, weights = np.concatenate(found), Y[CHUNK:], weights[CHUNK:]
    stops = result.curve("accuracy", window).n_samples
    np.testing.assert_array_equal(stops, [rows.stop for rows in chunked[1:]])
    for name, expected in (("accuracy", accuracy_score), ("neg_log_loss", log_loss)):
        sign = 1 if name == "accuracy" else -1
        answers = found.argmax(axis=1) if name == "accuracy" else found
        spans = [
            slice(0 if window is None else max(0, stop - window * CHUNK), stop)
            for stop in stops - CHUNK
        ]
        np.testing.assert_allclose(
            result.curve(name, window).score,
            [
                sign * expected(truth[s], answers[s], sample_weight=weights[s])
                for s in spans
            ],
            rtol=1e-12,
        )
    assert result.scores["accuracy"] == result.curve("accuracy").score[-1]


@pytest.mark.parametrize("window", [None, 1, 4])
def test_r2_is_that_of_the_rows_whatever_chunks_they_came_in(window):
    def model():
        return make_streaming_pipeline(
            StandardScaler(), MultiOutputRegressor(SGDRegressor(random_state=0))
        )

    result = fit_stream(
        model(),
        X,
        target=TARGET,
        batch_size=CHUNK,
        scoring={"r2": "r2", "mse": "neg_mean_squared_error"},
    )
    found, truth = by_hand(model(), TARGET, "predict"), TARGET[CHUNK:]
    stops = np.arange(CHUNK, len(truth) + 1, CHUNK)
    firsts = 0 * stops if window is None else np.maximum(stops - window * CHUNK, 0)
    spans = [slice(a, b) for a, b in zip(firsts, stops, strict=True)]
    np.testing.assert_allclose(
        result.curve("r2", window).score,
        [r2_score(truth[span], found[span]) for span in spans],
        rtol=1e-9,
    )
    np.testing.assert_allclose(
        result.curve("mse", window).score,
        [-mean_squared_error(truth[span], found[span]) for span in spans],
        rtol=1e-9,
    )


def test_r2_keeps_its_digits_far_from_zero():
    rng = np.random.default_rng(0)
    target = 1e8 + rng.normal(size=N_SAMPLES)
    model = DummyMean()
    result = fit_stream(model, X, target=target, batch_size=CHUNK, scoring="r2")
    found, truth = by_hand(DummyMean(), target, "predict"), target[CHUNK:]
    np.testing.assert_allclose(result.scores["r2"], r2_score(truth, found), rtol=1e-6)


def test_r2_of_weighted_rows_is_that_of_scikit_learn():
    rows, target = X[:, [0, 2]], TARGET[:, 0]
    chunked = [slice(start, start + CHUNK) for start in range(0, N_SAMPLES, CHUNK)]
    model, found = SGDRegressor(random_state=0), []
    for span in chunked:
        if span.start:
            found.append(model.predict(rows[span]))
        model.partial_fit(rows[span], target[span], WEIGHTS[span])
    result = fit_stream(
        SGDRegressor(random_state=0),
        ((rows[span], target[span], WEIGHTS[span]) for span in chunked),
        scoring="r2",
    )
    weights = WEIGHTS[CHUNK:]
    expected = r2_score(target[CHUNK:], np.concatenate(found), sample_weight=weights)
    np.testing.assert_allclose(result.scores["r2"], expected, rtol=1e-9)


def test_r2_of_one_value_is_not_known():
    batches = [(X[:50], X[:50, 0]), (X[50:90], np.ones(40)), (X[90:], X[90:, 0])]
    result = fit_stream(SGDRegressor(random_state=0), batches, scoring="r2")
    assert np.isnan(result.curve().score[0]) and np.isfinite(result.scores["r2"])


def test_chunks_of_one_class_and_classes_not_yet_known_are_scored():
    order = np.argsort(Y[:240], kind="stable")
    batches = [(X[rows], Y[rows]) for rows in np.split(order, 6)]
    model = ODAClassifier(6, random_state=0)
    result = fit_stream(model, batches, scoring="neg_log_loss")
    scores = result.curve(window=1).score
    new = next(i for i, (_, y) in enumerate(batches) if y.any()) - 1
    # What only knows the first class gives the second no probability at all.
    np.testing.assert_allclose(scores[:new], 0.0, atol=1e-12)
    share = batches[new + 1][1].mean()
    np.testing.assert_allclose(scores[new], share * np.log(np.finfo(float).eps))


def test_a_fitted_estimator_is_scored_from_the_first_chunk_on():
    model = classifier().partial_fit(X, Y, classes=[0, 1])
    expected = model.score(X[:CHUNK], Y[:CHUNK])
    result = fit_stream(model, chunks(), scoring="accuracy")
    assert len(result.curve().score) == 12
    assert result.curve().score[0] == expected


def test_any_callable_scores():
    def inertia(estimator, X, y=None):
        return -estimator.score(X)

    model = MiniBatchKMeans(3, random_state=0, n_init=1)
    result = fit_stream(model, (x for x, _ in chunks()), scoring=inertia)
    model, scores = MiniBatchKMeans(3, random_state=0, n_init=1), []
    for x, _ in chunks():
        scores += [-model.score(x)] if hasattr(model, "cluster_centers_") else []
        model.partial_fit(x)
    np.testing.assert_allclose(result.curve("score", window=1).score, scores)
    np.testing.assert_allclose(result.scores["score"], np.mean(scores))


def test_scores_are_named_as_asked_and_others_refused():
    result = fit_stream(
        classifier(), chunks(), classes=[0, 1], scoring=["accuracy", "neg_log_loss"]
    )
    for name in (None, "r2"):
        with pytest.raises(ValueError, match=r"\['accuracy', 'neg_log_loss'\]"):
            result.curve(name)
    with pytest.raises(ValueError, match="window=0 must be"):
        result.curve("accuracy", window=0)
    with pytest.raises(ValueError, match="'exactness'"):
        fit_stream(classifier(), chunks(), scoring="exactness")


def test_a_single_chunk_has_no_scores():
    result = fit_stream(
        classifier(), [(X, Y)], classes=[0, 1], scoring=["accuracy", "r2"]
    )
    assert result.scores == {}
    assert len(result.curve("r2").score) == 0


def test_the_bar_counts_rows_and_shows_scores(capsys):
    for batches in (chunks(), X):
        target = Y if batches is X else None
        model = SGDClassifier(loss="log_loss", random_state=0)
        fit_stream(
            model,
            batches,
            target=target,
            classes=[0, 1],
            scoring="accuracy",
            progress=True,
        )
    shown = capsys.readouterr().err
    assert "1.20k rows" in shown and "accuracy=" in shown
    assert "100%" in shown and "1.20k/1.20k" in shown


@pytest.mark.parametrize(
    "missing, options, match",
    [
        ("tqdm.auto", {"progress": True}, r"tqdm: pip install .odalib\[streaming\]"),
        ("pandas", {}, r"not installed: pip install .odalib\[streaming\]"),
    ],
)
def test_what_is_not_installed_is_named(missing, options, match, monkeypatch):
    import pyarrow as pa

    table = pa.table({"a": X[:, 0], "label": Y})
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=match):
        fit_stream(SGDRegressor(), table, target="label", **options)

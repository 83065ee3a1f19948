"""Streams of ODAClassifier: classes that join, weights, drift."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

from odalib import ODAClassifier

from .conformance.comparing import answers, assert_close, assert_same_bits, leaves

IRIS, SPECIES = load_iris(return_X_y=True)
BLOBS, PLACES = make_blobs(
    6000, centers=4, n_features=3, center_box=(-10, 10), random_state=0
)


def few(n_codevectors=8, **params):
    """Classifier that is quick to fit: the divergence as it is, no polish."""
    params = {"metric": None, "polish": None, "random_state": 0, **params}
    return ODAClassifier(n_codevectors, **params)


def in_order(*codes):
    """Rows of some of the places, in the order of the blobs."""
    return np.flatnonzero(np.isin(PLACES, codes))


def in_calls(model, rows, size=250, **kwargs):
    for part in np.split(rows, range(size, len(rows), size)):
        model.partial_fit(BLOBS[part], PLACES[part], **kwargs)
    return model


def test_a_stream_learns_what_a_fit_learns():
    rows = np.arange(5000)
    streamed = in_calls(few(), rows)
    fitted = few().fit(BLOBS[rows], PLACES[rows])
    expected = fitted.score(BLOBS[5000:], PLACES[5000:])
    assert streamed.score(BLOBS[5000:], PLACES[5000:]) >= expected - 0.002
    assert streamed.n_samples_seen_ == 5000


def test_the_default_streams():
    """What is chosen is chosen on the first rows."""
    model = ODAClassifier(max_codevectors=6, random_state=0)
    in_calls(model, np.arange(3000), 1000)
    decision = model.decision_
    assert model.score(BLOBS[5000:], PLACES[5000:]) > 0.97
    in_calls(model, np.arange(3000, 5000), 1000)
    assert model.score(BLOBS[5000:], PLACES[5000:]) > 0.97
    assert model.decision_ == decision


@pytest.mark.parametrize("n_before", [0, 1, 30, 3000])
@pytest.mark.parametrize("n_rows", [1, 40])
def test_a_class_first_met_is_predicted_at_once(n_before, n_rows):
    """While rows are gathered and after; from its first row on."""
    old, new = in_order(0, 1, 3)[:n_before], in_order(2)
    model = few()
    if n_before:
        in_calls(model, old, 1000)
    model.partial_fit(BLOBS[new[:n_rows]], PLACES[new[:n_rows]])
    assert 2 in model.classes_
    assert 2 in model.codevector_classes_
    later = new[100:200]
    assert model.score(BLOBS[later], PLACES[later]) > 0.97
    if n_before == 3000:
        others = in_order(0, 1, 3)[3000:]
        assert model.score(BLOBS[others], PLACES[others]) > 0.97


def test_a_stream_of_one_class_knows_it():
    """Others may come; it cannot be refused as in a fit."""
    rows = in_order(1)
    model = few().partial_fit(BLOBS[rows[:50]], PLACES[rows[:50]])
    assert model.classes_.tolist() == [1]
    np.testing.assert_array_equal(model.predict(BLOBS[:9]), 1)
    np.testing.assert_array_equal(model.predict_proba(BLOBS[:9]), 1.0)
    said = model.explain(BLOBS[:9])
    np.testing.assert_array_equal(said.margin, np.inf)
    model.partial_fit(BLOBS[:50], PLACES[:50])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.score(BLOBS[50:], PLACES[50:]) > 0.95


def test_names_that_join_are_kept_whole():
    names = np.array(["b", "a", "the longest", "c"])
    model = few()
    for place in (0, 2, 1, 3):
        rows = in_order(place)[:60]
        model.partial_fit(BLOBS[rows], names[PLACES[rows]])
    assert model.classes_.tolist() == sorted(names)
    assert np.mean(model.predict(BLOBS) == names[PLACES]) > 0.95
    columns = model.predict_proba(BLOBS).argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[columns], model.predict(BLOBS))
    text = np.array(["d", "e"], dtype=np.dtypes.StringDType())
    model.partial_fit(BLOBS[:2] + 50.0, text)
    assert list(map(str, model.classes_)) == sorted([*names, "d", "e"])


def test_classes_that_were_announced_have_columns_from_the_start():
    model = few().partial_fit(BLOBS[:1], [7], classes=[9, 7, 8])
    assert model.classes_.tolist() == [7, 8, 9]
    said = model.predict_proba(BLOBS[:5])
    assert said.shape == (5, 3)
    np.testing.assert_allclose(said.sum(axis=1), 1.0, rtol=1e-12)
    assert (said[:, 0] > said[:, 1]).all()
    assert set(model.codevector_classes_) == {7}


@pytest.mark.parametrize("n_before", [60, 3000])
def test_what_contradicts_the_classes_is_refused_and_changes_nothing(n_before):
    known = in_order(0, 1)
    announced = in_calls(few(), known[:n_before], 1000, classes=[0, 1])
    free = in_calls(few(), known[:n_before], 1000)
    X, y = BLOBS[:20], PLACES[:20]
    text = np.array(["0", "1"])[y % 2]
    for model, labels, kwargs, message in (
        (announced, y, {}, r"none of the classes \[0, 1\]: \[2, 3\]"),
        (announced, y, {"classes": [0, 1, 2, 3]}, "differ from those of the calls"),
        (free, y % 2, {"classes": [0, 1, 2]}, "differ from those of the calls before"),
        (free, text, {}, "of another kind than those before"),
        (free, np.arange(20) + 10, {}, "n_codevectors=8 is less than the 22 classes"),
        (free, y + 0.5, {}, "continuous"),
        (free, np.where(y == 1, np.nan, y), {}, "NaN"),
        (free, [None, *map(str, y[1:])], {}, "none is missing"),
    ):
        before = leaves(vars(model))
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, labels, **kwargs)
        assert leaves(vars(model)) == before, message
    free.partial_fit(X, y % 2, classes=[0, 1])
    with pytest.raises(ValueError, match="none of the classes"):
        free.partial_fit(X, y)


def test_after_a_fit_classes_may_still_join():
    rows = in_order(0, 1, 3)[:300]
    model = few().fit(BLOBS[rows], PLACES[rows])
    model.partial_fit(BLOBS[:400], PLACES[:400])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.score(BLOBS, PLACES) > 0.95


def test_class_weights_of_a_stream():
    weights = {0: 1.0, 1: 3.0, 2: 0.5, 3: 1.0}
    by_class, by_row = few(class_weight=weights), few()
    for part in np.split(np.arange(3000), 3):
        X, y = BLOBS[part], PLACES[part]
        by_class.partial_fit(X, y)
        by_row.partial_fit(X, y, sample_weight=[weights[code] for code in y])
    assert_same_bits(answers(by_class, BLOBS), answers(by_row, BLOBS), "class_weight")
    balanced = few(class_weight="balanced")
    with pytest.raises(ValueError, match="'balanced' needs all labels and is for fit"):
        balanced.partial_fit(BLOBS[:60], PLACES[:60])
    assert leaves(vars(balanced)) == leaves(vars(few(class_weight="balanced")))


def test_a_stream_that_drifts_is_followed():
    """The places move by ten widths, and two pairs of them trade their labels."""
    drift = np.linspace(0.0, 10.0, 6000)[:, None] * [1.0, -1.0, 0.5]
    X, y = BLOBS + drift, np.where(np.arange(6000) < 3000, PLACES, PLACES ^ 1)
    hits = {"constant": [], "decreasing": []}
    for step, found in hits.items():
        model = few(4, step=step, memory_samples=500)
        for part in np.split(np.arange(6000), 12):
            found.append(model.score(X[part], y[part]) if part[0] else 0.0)
            model.partial_fit(X[part], y[part])
    assert min(hits["constant"][1:6]) > 0.75
    assert min(hits["constant"][-4:]) > 0.85
    assert max(hits["decreasing"][-4:]) < 0.3


def test_what_was_refused_midway_leaves_a_stream_that_goes_on_alike():
    watched, plain = few(), few()
    for part in np.split(np.arange(3000), 10):
        X, y = BLOBS[part], PLACES[part]
        watched.partial_fit(X, y)
        plain.partial_fit(X, y)
        for bad in ((X[:, :2], y), (X, y[:-1]), (np.full_like(X, np.nan), y)):
            with pytest.raises(ValueError, match=r"features|inconsistent|NaN"):
                watched.partial_fit(*bad)
        watched = pickle.loads(pickle.dumps(watched))
    assert_same_bits(answers(watched, BLOBS), answers(plain, BLOBS), "refused batches")


def test_probabilities_of_a_stream_are_calibrated():
    """Half of the labels of one place are wrong, and its rows are said to be so."""
    rng = np.random.default_rng(0)
    wrong = (PLACES == 2) & (rng.random(6000) < 0.5)
    y = np.where(wrong, 0, PLACES)
    model = few(10)
    for part in np.split(np.arange(6000), 20):
        model.partial_fit(BLOBS[part], y[part])
    mean = model.predict_proba(BLOBS[PLACES == 2]).mean(axis=0)
    np.testing.assert_allclose(mean, [0.5, 0.0, 0.5, 0.0], atol=0.05)
    mean = model.predict_proba(BLOBS[PLACES == 1]).mean(axis=0)
    np.testing.assert_allclose(mean, [0.0, 1.0, 0.0, 0.0], atol=0.05)


def test_batches_in_rows_of_one_are_batches():
    one, many = few(), few()
    for row in range(400):
        one.partial_fit(IRIS[row % 150, None], SPECIES[row % 150, None])
    rows = np.arange(400) % 150
    many.partial_fit(IRIS[rows], SPECIES[rows])
    assert_close(answers(one, IRIS), answers(many, IRIS), "rows one by one")

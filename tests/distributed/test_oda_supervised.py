"""distributed.ODAClassifier and ODARegressor against the same rows in memory."""

import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import SGDRegressor

import odalib
from odalib.distributed import ODAClassifier, ODARegressor, predict, predict_proba

# More than anneal, no more than local models are tuned on.
N_ROWS = 10_200
RANDOM = np.random.default_rng(0)
ROWS = RANDOM.standard_normal((N_ROWS, 3))
LABELS = np.array(["no", "yes", "ever"])[
    (ROWS[:, 0] * ROWS[:, 1] > 0).astype(int) + (ROWS[:, 2] > 1.0)
]
TARGETS = np.column_stack([np.sin(2.0 * ROWS[:, 0]), ROWS[:, 1] * ROWS[:, 2]])
WEIGHTS = RANDOM.uniform(0.5, 2.0, size=N_ROWS)


def cut(values, n_blocks=3):
    size = -(-len(values) // n_blocks)
    return da.from_array(values, chunks=(size, *values.shape[1:]))


def assert_same_classifier(model, expected):
    assert type(model) is odalib.ODAClassifier
    np.testing.assert_array_equal(model.classes_, expected.classes_)
    np.testing.assert_array_equal(
        model.codevector_classes_, expected.codevector_classes_
    )
    for name in ("codevectors_", "codevector_weights_"):
        np.testing.assert_allclose(
            getattr(model, name), getattr(expected, name), rtol=1e-8, atol=1e-8
        )
    np.testing.assert_allclose(
        model.predict_proba(ROWS[:500]), expected.predict_proba(ROWS[:500]), atol=1e-8
    )
    for name in ("n_iter_", "stop_reason_", "n_samples_seen_"):
        assert getattr(model, name) == pytest.approx(getattr(expected, name))


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_codevectors": 4, "decision": "bayes", "class_weight": "balanced"},
        {"max_codevectors": 4, "decision": "nearest", "class_weight": {"no": 2.0}},
    ],
)
def test_classifier_is_that_of_memory(threads, parameters):
    parameters = {**parameters, "random_state": 0}
    expected = odalib.ODAClassifier(**parameters).fit(ROWS, LABELS, WEIGHTS)
    columns = [cut(values) for values in (ROWS, LABELS, WEIGHTS)]
    model = ODAClassifier(client=threads, **parameters).fit(*columns)
    assert_same_classifier(model, expected)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_codevectors": 12},
        {"n_codevectors": 8, "local_model": "constant", "blend": False},
        {"n_codevectors": 8, "target_weight": 0.5, "metric": None},
    ],
)
def test_regressor_is_that_of_memory(threads, parameters):
    parameters = {**parameters, "random_state": 0}
    expected = odalib.ODARegressor(**parameters).fit(ROWS, TARGETS, WEIGHTS)
    columns = [cut(values) for values in (ROWS, TARGETS, WEIGHTS)]
    model = ODARegressor(client=threads, **parameters).fit(*columns)
    assert type(model) is odalib.ODARegressor
    np.testing.assert_allclose(model.codevectors_, expected.codevectors_, atol=1e-8)
    for own, other in zip(
        model.predict(ROWS[:500], return_std=True),
        expected.predict(ROWS[:500], return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(own, other, atol=1e-8)
    assert model.n_iter_ == expected.n_iter_


def test_blocks_without_some_class_and_frames(threads):
    order = np.argsort(LABELS, kind="stable")
    frame = pd.DataFrame(ROWS[order], columns=["a", "b", "c"]).astype(np.float32)
    frame = dd.from_pandas(frame.assign(label=LABELS[order]), npartitions=4)
    estimator = ODAClassifier(4, polish=None, random_state=0, client=threads)
    model = estimator.fit(frame[["a", "b", "c"]], frame.label)
    assert model.codevectors_.dtype == np.float32
    assert sorted(set(model.codevector_classes_)) == ["ever", "no", "yes"]
    again = pickle.loads(pickle.dumps(model))
    inside = frame[["a", "b", "c"]]
    here = inside.compute(scheduler="synchronous")
    for lazy, method in (
        (predict, again.predict),
        (predict_proba, again.predict_proba),
    ):
        found = lazy(model, inside).compute(scheduler="synchronous")
        np.testing.assert_array_equal(found, method(here))


def test_more_rows_than_are_tuned_on(threads):
    """Tuned on other rows than in memory, and as good."""
    rows = np.random.default_rng(1).standard_normal((15_000, 2))
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    model = ODAClassifier(4, polish=None, random_state=0, client=threads).fit(
        cut(rows), cut(labels)
    )
    expected = odalib.ODAClassifier(4, polish=None, random_state=0).fit(rows, labels)
    seen = rows[:5000], labels[:5000]
    assert model.score(*seen) == pytest.approx(expected.score(*seen), abs=0.01)
    targets = np.sin(2.0 * rows[:, 0])
    model = ODARegressor(8, random_state=0, client=threads).fit(cut(rows), cut(targets))
    expected = odalib.ODARegressor(8, random_state=0).fit(rows, targets)
    seen = rows[:5000], targets[:5000]
    assert model.score(*seen) == pytest.approx(expected.score(*seen), abs=0.01)


def test_few_rows_are_fitted_in_memory(threads):
    few = ROWS[:600], LABELS[:600]
    parameters = {"polish": None, "decision": "nearest", "random_state": 0}
    model = ODAClassifier(4, client=threads, **parameters).fit(*map(cut, few))
    assert_same_classifier(model, odalib.ODAClassifier(4, **parameters).fit(*few))
    few = ROWS[:600], TARGETS[:600, 0]
    model = ODARegressor(8, random_state=0, client=threads).fit(*map(cut, few))
    expected = odalib.ODARegressor(8, random_state=0).fit(*few)
    np.testing.assert_allclose(model.predict(ROWS[:9]), expected.predict(ROWS[:9]))


def test_bad_targets_are_refused(threads):
    rows = cut(ROWS)
    for estimator in (ODAClassifier(8, client=threads), ODARegressor(client=threads)):
        with pytest.raises(ValueError, match="requires y to be passed"):
            estimator.fit(rows, None)
        with pytest.raises(ValueError, match="cut into blocks of different rows"):
            estimator.fit(rows, cut(TARGETS[:, 0], 4))
    with pytest.raises(ValueError, match="all of one class, 'a'"):
        ODAClassifier(client=threads).fit(rows, cut(np.full(N_ROWS, "a")))
    with pytest.raises(ValueError, match="n_codevectors=2 is less than the 3 classes"):
        ODAClassifier(2, client=threads).fit(rows, cut(LABELS))
    with pytest.raises(ValueError, match="class_weight must be positive"):
        ODAClassifier(8, class_weight={"no": -1.0}, client=threads).fit(
            rows, cut(LABELS)
        )
    with pytest.raises(ValueError, match=r"y holds values .* squares overflow"):
        ODARegressor(client=threads).fit(rows, cut(1e200 * TARGETS))
    for targets in (TARGETS + 1j, LABELS):
        with pytest.raises(ValueError, match="y must be finite numbers"):
            ODARegressor(client=threads).fit(rows, cut(targets))
    with pytest.raises(ValueError, match="taught in memory only"):
        ODARegressor(local_model=SGDRegressor(), client=threads).fit(rows, cut(TARGETS))

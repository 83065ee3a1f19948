"""Checks that the methods and attributes of a classifier tell one story."""

import numpy as np
import pandas as pd
from scipy.special import ndtr

from .comparing import (
    LAST_CALL,
    answers,
    assert_close,
    assert_finite,
    assert_same_bits,
    assert_same_model,
    canonical,
    leaves,
    needs,
    refused,
)
from .subject import N_GROUPS

KIND = "labels"

# Rows of the last class begin here in a stream that more of them join; for one
# that gathers rows, before it learns online and after.
JOINS = (40, 2400)
N_ROWS = 2700


def _two_and_three_classes(subject):
    """Yield a model and its rows, for two classes that are told apart and for three."""
    X, y = subject.groups(90)
    two = y < 2
    yield subject.make().fit(X[two], y[two]), X[two]
    for rows, labels in (subject.groups(90), subject.cloud(90)):
        yield subject.make().fit(rows, labels), rows


@needs("classifier", "predict_proba", kind="methods tell one story")
def check_answers_decide_alike(subject):
    """``predict`` is the class of the largest probability, and of the largest score."""
    for model, X in _two_and_three_classes(subject):
        code = np.searchsorted(model.classes_, model.predict(X))
        largest = model.predict_proba(X).argmax(axis=1)
        np.testing.assert_array_equal(code, largest, "the largest probability")
        if subject.has("decision_function"):
            score = model.decision_function(X)
            decided = score > 0 if score.ndim == 1 else score.argmax(axis=1)
            np.testing.assert_array_equal(code, decided, "the largest score")


@needs("classifier", "predict_proba", kind="methods tell one story")
def check_probabilities_are_those_of_the_classes(subject):
    """One per class, not negative, that add up to one; their logarithms are theirs."""
    for model, X in _two_and_three_classes(subject):
        probability = model.predict_proba(X)
        assert probability.shape == (len(X), len(model.classes_)), "a column per class"
        assert (probability >= 0).all(), "a negative probability"
        np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
        if subject.has("predict_log_proba"):
            np.testing.assert_allclose(
                np.exp(model.predict_log_proba(X)), probability, rtol=1e-9, atol=1e-300
            )


@needs("classifier", "predict_log_proba", "unbounded", kind="hostile numbers")
def check_logarithms_of_small_probabilities_are_finite(subject):
    """Far rows are answered with finite logarithms, where probabilities underflow."""
    X, y = subject.groups()
    for model in (subject.make().fit(X, y), subject.make().fit(X[y < 2], y[y < 2])):
        for factor in (1e2, 1e4, 1e8):
            far = X * factor
            assert_finite(model, far, f"rows {factor:g} times as far")
            assert_finite(model, far.astype("f4"), f"float32 rows {factor:g} times")
            total = model.predict_proba(far).sum(axis=1)
            np.testing.assert_allclose(total, 1.0, rtol=1e-12)


@needs("classifier", "predict_proba")
def check_names_of_the_classes_are_free(subject):
    """Labels that sort the other way round turn the columns round, and no more."""
    X, y = subject.cloud(90)
    kept = y < 2
    for rows, labels in ((X, y), (X[kept], y[kept])):
        plain = subject.make().fit(rows, labels).predict_proba(rows)
        turned = subject.make().fit(rows, -labels).predict_proba(rows)
        assert_close(
            {"predict_proba": turned[:, ::-1]},
            {"predict_proba": plain},
            "the classes turned round",
            rtol=subject.within(1e-7),
        )


def _kinds_of_labels(y):
    """Yield the same classes under other names of the same order."""
    yield "text", np.array(["eggs", "ham", "spam"])[y]
    yield "objects", np.array(["eggs", "ham", "spam"], dtype=object)[y]
    yield "floats", y - 1.0
    yield "bytes", y.astype(np.uint8)
    yield "categories", pd.Categorical.from_codes(y, ["eggs", "ham", "spam"])
    yield "a nullable series", pd.Series(y, dtype="Int64")


@needs("classifier")
def check_labels_of_any_kind(subject):
    """Text, floats and categories are classes as whole numbers are."""
    X, y = subject.groups(90)
    plain = subject.make().fit(X, y)
    expected = {n: a for n, a in answers(plain, X).items() if n != "predict"}
    codes = plain.predict(X)
    for name, labels in _kinds_of_labels(y):
        names = np.unique(np.asarray(labels))
        models = {"fit": subject.make().fit(X, labels)}
        said = answers(models["fit"], X)
        found = np.searchsorted(names, said.pop("predict"))
        np.testing.assert_array_equal(found, codes, f"labels as {name}")
        assert_same_bits(said, expected, f"labels as {name}")
        if subject.has("partial_fit"):
            fresh = subject.make()
            models["partial_fit"] = subject.feed(fresh, X, labels, classes=names)
            subject.feed(models["fit"], X, labels)
        for how, model in models.items():
            known = model.classes_.tolist()
            assert known == names.tolist(), f"{how} of {name}: classes_ are {known}"


@needs("classifier", kind="refusals and their words")
def check_one_class_is_refused(subject):
    """``fit`` names the only class there is, also where others have no weight."""
    X, y = subject.groups(90)
    with refused(r"\b7\b", "a single class"):
        subject.make().fit(X, np.full(90, 7))
    if subject.has("sample_weight"):
        with refused(r"\b1\b", "a single class of positive weight"):
            subject.make().fit(X, y, sample_weight=(y == 1).astype(float))


@needs("classifier", kind="refusals and their words")
def check_labels_that_are_none_are_refused(subject):
    """Missing labels, several columns of them, too few, and continuous targets."""
    X, y = subject.groups(90)
    missing = np.where(np.arange(90) == 3, np.nan, y)
    for name, match, labels in (
        ("missing labels", "NaN", missing),
        ("no labels", "None", None),
        ("continuous labels", "continuous", X[:, 0] / 7.0),
        ("two columns of labels", "1d|shape", np.c_[y, y]),
        ("too few labels", "inconsistent", y[:-1]),
    ):
        with refused(match, f"{name} in fit"):
            subject.make().fit(X, labels)
        if subject.has("partial_fit"):
            model = subject.feed(subject.make(), X, y)
            before = leaves(vars(model))
            with refused("." if name.startswith("cont") else match, f"{name} later"):
                subject.feed(model, X, labels)
            assert leaves(vars(model)) == before, f"{name} have moved the state"


@needs("partial_fit", "fixed_classes", kind="refusals and their words")
def check_classes_are_required(subject):
    """The first call must be told of all the classes."""
    X, y = subject.groups()
    model = subject.make()
    with refused("classes", "a first call without classes"):
        model.partial_fit(X, y)


@needs("partial_fit", "classifier", kind="refusals and their words")
def check_classes_cannot_change(subject):
    """Later calls may repeat the classes, not announce others."""
    X, y = subject.groups()
    model = subject.feed(subject.make(), X, y)
    subject.feed(model, X, y, classes=np.arange(N_GROUPS)[::-1])
    before = leaves(vars(model))
    for classes in ([0, 1], [0, 1, 2, 3]):
        with refused("classes", f"a later call with classes={classes}"):
            subject.feed(model, X[y < 2], y[y < 2], classes=classes)
        assert leaves(vars(model)) == before, "the refused classes moved the state"


@needs("partial_fit", "classifier", kind="refusals and their words")
def check_an_unseen_label_is_named(subject):
    """A label that was not announced is refused by name; nothing is learnt."""
    X, y = subject.groups()
    bad = np.where(y == 1, 77, y)
    for call, model in (
        ("first", subject.make()),
        ("later", subject.feed(subject.make(), X, y)),
    ):
        before = leaves(vars(model))
        with refused(r"\b77\b", f"a label that was not announced, in a {call} call"):
            subject.feed(model, X, bad)
        assert leaves(vars(model)) == before, "the refused labels have moved the state"


@needs("partial_fit", "classifier")
def check_a_batch_may_lack_a_class(subject):
    """Batches of one class each are learnt, and every class keeps its column."""
    X, y = subject.groups()
    model = subject.make()
    for label in (2, 0, 1):
        subject.feed(model, X[y == label], y[y == label])
        assert_same_bits(model.classes_.tolist(), [0, 1, 2], "classes_ do not hold")
    np.testing.assert_array_equal(model.predict(X), y)


@needs("partial_fit", "classifier", "predict_proba")
def check_a_class_may_never_come(subject):
    """Of three classes announced two come: answers are finite, the third unlikely."""
    X, y = subject.groups()
    seen = y != 1
    model = subject.make()
    for _ in range(2):
        subject.feed(model, X[seen], y[seen])
    assert_finite(model, X, "a class that never came")
    np.testing.assert_array_equal(model.predict(X[seen]), y[seen])


@needs("partial_fit", "growing_classes")
def check_a_class_first_met_is_predicted(subject):
    """A label that was not announced joins the classes, and its rows are found."""
    X, y = subject.groups(N_ROWS)
    new, old = y == 1, np.flatnonzero(y != 1)
    for n_rows in JOINS:
        model = subject.make().partial_fit(X[old[:n_rows]], y[old[:n_rows]])
        assert model.classes_.tolist() == [0, 2], f"classes_ are {model.classes_}"
        model.partial_fit(X[new][:20], y[new][:20])
        assert model.classes_.tolist() == [0, 1, 2], f"classes_ are {model.classes_}"
        found = model.predict(X[:90])
        np.testing.assert_array_equal(found, y[:90], f"a class after {n_rows} rows")


@needs("partial_fit", "growing_classes", "cut_free", kind="batches split and merged")
def check_cutting_a_stream_that_classes_join_changes_nothing(subject):
    """The same bits for any cut, wherever the classes come in."""
    X, y = subject.cloud(N_ROWS)
    for n_rows in JOINS:
        labels = y.copy()
        labels[:n_rows][y[:n_rows] == 1] = 2
        labels[:9] = 2
        whole, cut = subject.make().partial_fit(X, labels), subject.make()
        for rows in np.split(np.arange(N_ROWS), [1, 8, 15, 39, 41, 1500, 2399, 2401]):
            cut.partial_fit(X[rows], labels[rows])
        message = f"the last class from row {n_rows} on"
        assert_same_model(cut, whole, X[:300], message, without=LAST_CALL)


@needs("partial_fit", "growing_classes", "predict_proba")
def check_classes_that_join_are_as_if_announced(subject):
    """Columns are in the order of the labels, whenever these were first met."""
    X, y = subject.groups(90)
    order = np.argsort(-y, kind="stable")
    joined, announced = subject.make(), subject.make()
    for rows in np.array_split(order, 4):
        joined.partial_fit(X[rows], y[rows])
        subject.feed(announced, X[rows], y[rows])
    assert_close(
        canonical(joined, X),
        canonical(announced, X),
        "classes that were not announced",
        rtol=1e-7,
    )


@needs(
    "partial_fit",
    "sample_weight",
    "classifier",
    "learns_at_once",
    kind="weights and repetition",
)
def check_weight_is_repetition_in_a_class_stream(subject):
    """An integer weight counts as that many rows in a row, in every call."""
    X, y = subject.cloud(90)
    weight = np.random.default_rng(6).integers(0, 4, 90)
    for beginning, make in subject.beginnings():
        weighted, repeated = make(), make()
        for rows in np.array_split(np.arange(90), 3):
            copies = rows.repeat(weight[rows])
            subject.feed(weighted, X[rows], y[rows], sample_weight=weight[rows])
            subject.feed(repeated, X[copies], y[copies])
        assert_close(
            answers(weighted, X),
            answers(repeated, X),
            f"weighted rows in {beginning}",
            rtol=subject.within(1e-7),
        )


@needs("partial_fit", "fits_calls", kind="batches split and merged")
def check_one_call_is_a_fit(subject):
    """``partial_fit`` with all rows gives the bits of ``fit``."""
    X, y = subject.cloud(90)
    weight = np.resize([1.0, 0.0, 2.0, 1.0], 90)
    model = subject.feed(subject.make(), X, y, sample_weight=weight)
    fitted = subject.make().fit(X, y, sample_weight=weight)
    assert_same_bits(answers(model, X), answers(fitted, X), "one call with all rows")


@needs("classifier", "latent_mean_and_variance", kind="methods tell one story")
def check_latent_values_make_the_probabilities(subject):
    """Of two classes, ``Phi(mean / sqrt(1 + variance))`` is the second's."""
    for model, X in _two_and_three_classes(subject):
        mean, variance = model.latent_mean_and_variance(X)
        assert (variance > 0).all(), "a variance that is not positive"
        n_classes = len(model.classes_)
        if n_classes == 2:
            assert mean.shape == variance.shape == (len(X),), "one value per row"
            found = ndtr(mean / np.sqrt(1.0 + variance))
            np.testing.assert_allclose(
                found, model.predict_proba(X)[:, 1], 1e-9, 1e-300, err_msg="Phi"
            )
        else:
            assert mean.shape == variance.shape == (len(X), 3), "one per problem"


@needs(
    "classifier",
    "loo_predict_proba",
    "sample_weight",
    "fixed_prior",
    kind="methods tell one story",
)
def check_a_row_left_out_is_answered_by_the_others(subject):
    """Leave-one-out probabilities are nearly those of fits without the row.

    How sure coupled probabilities may be is learnt anew without the row, which
    matters most where labels are noise, as here. The rows of no weight among them
    are answered as new rows.
    """
    X, y = subject.cloud(60)
    weight = np.where(np.arange(60) % 8 == 3, 0.0, 1.0)
    model = subject.make().fit(X, y, sample_weight=weight)
    found = model.loo_predict_proba()
    assert found.shape == (60, 3), "one row of probabilities per row of X"
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    absent = weight == 0
    np.testing.assert_allclose(
        found[absent], model.predict_proba(X[absent]), rtol=1e-9, err_msg="no weight"
    )
    for i in np.flatnonzero(~absent)[::5]:
        without = np.where(np.arange(60) == i, 0.0, weight)
        refitted = subject.make().fit(X, y, sample_weight=without)
        expected = refitted.predict_proba(X[i : i + 1])[0]
        np.testing.assert_allclose(
            found[i], expected, atol=0.03, err_msg=f"row {i} left out"
        )

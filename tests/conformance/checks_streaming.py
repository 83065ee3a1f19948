"""Checks of ``partial_fit``: a stream is learnt whole, however it arrives."""

from itertools import pairwise

import numpy as np

from .comparing import (
    LAST_CALL,
    answers,
    assert_finite,
    assert_same_model,
    assert_same_partition,
    canonical,
    learnt,
    leaves,
    needs,
)

KIND = "streams go on"

# For estimators that learn at once, and for others: two batches of the usual size
# and a rest; and beyond what they may gather before they learn online.
N_FEW_ROWS = 101
N_ROWS = 601
N_MANY_ROWS = 2701
MANY_EDGES = (0, 150, 151, 1000, 2040, 2600, N_MANY_ROWS)


def _cuts(n_rows):
    """Ways to cut a stream into calls: a name and where the calls begin and end."""
    for size in (1, 64):
        yield f"calls of {size}", [*range(0, n_rows, size), n_rows]
    yield "ragged calls", [0, 1, 8, 15, 50, 51, n_rows]


def _stream(subject, model, edges, X, y, weight=None):
    """Feed rows in calls that end at `edges`, leaving out calls without weight."""
    for rows in (slice(*ends) for ends in pairwise(edges)):
        if weight is None:
            subject.feed(model, X[rows], y[rows])
        elif weight[rows].any():
            subject.feed(model, X[rows], y[rows], sample_weight=weight[rows])
    return model


def _check_cuts(subject, X, y, weight=None):
    def whole_of(make, n_rows):
        return _stream(subject, make(), (0, n_rows), X, y, weight)

    def check(whole, make, edges, message):
        cut = _stream(subject, make(), edges, X, y, weight)
        if subject.cut_atol:
            moved = np.abs(cut.predict_proba(X) - whole.predict_proba(X)).max()
            assert moved < subject.cut_atol, f"{message}: probabilities off by {moved}"
        else:
            assert_same_model(cut, whole, X, message, without=LAST_CALL)

    if subject.gathers:
        whole = whole_of(subject.make, N_MANY_ROWS)
        check(whole, subject.make, MANY_EDGES, "many rows in few calls")
    n_rows = N_ROWS if subject.gathers else N_FEW_ROWS
    for beginning, make in subject.beginnings():
        whole = whole_of(make, n_rows)
        for name, edges in _cuts(n_rows):
            check(whole, make, edges, f"{beginning} in {name}")


@needs("partial_fit")
def check_partial_fit_returns_self(subject):
    """``partial_fit`` returns the estimator, first and later."""
    X, y = subject.groups()
    model = subject.make()
    for call in ("first", "second"):
        assert subject.feed(model, X, y) is model, f"the {call} call returns no self"


@needs("partial_fit", kind="batches split and merged")
def check_cutting_a_stream_changes_nothing(subject):
    """The same rows in calls of any size give the same model."""
    _check_cuts(subject, *subject.cloud(N_MANY_ROWS))


@needs("partial_fit", "sample_weight", "cut_free", kind="batches split and merged")
def check_cutting_a_weighted_stream_changes_nothing(subject):
    """The same weighted rows, some of no weight, in calls of any size."""
    weight = np.random.default_rng(3).choice([0.0, 0.3, 1.0, 4.5], N_MANY_ROWS)
    _check_cuts(subject, *subject.cloud(N_MANY_ROWS), weight)


@needs("partial_fit")
def check_fit_forgets_the_stream(subject):
    """``fit`` after ``partial_fit`` starts over, and so does what follows it."""
    X, y = subject.groups()
    later, y_later = subject.cloud(300, seed=2)
    model = subject.feed(subject.make(), *subject.cloud(300, seed=1)).fit(X, y)
    fresh = subject.make().fit(X, y)
    assert_same_model(model, fresh, X, "fit after partial_fit remembers the stream")
    subject.feed(model, later, y_later)
    subject.feed(fresh, later, y_later)
    assert_same_model(model, fresh, X, "a stream after such a fit remembers the first")


@needs("partial_fit")
def check_a_stream_goes_on_after_fit(subject):
    """``partial_fit`` after ``fit`` adds to what was fitted."""
    X, y = subject.groups(300)
    more, y_more = subject.groups(30, seed=1)
    one_group = y_more == 0
    model = subject.make().fit(X, y)
    labels, before = subject.part(model, X), leaves(learnt(model, without=LAST_CALL))
    subject.feed(model, more[one_group], y_more[one_group])
    assert leaves(learnt(model, without=LAST_CALL)) != before, (
        "partial_fit after fit learns nothing"
    )
    assert_same_partition(
        subject.part(model, X), labels, "partial_fit after fit forgets what was fitted"
    )


@needs("partial_fit", "score")
def check_every_batch_counts(subject):
    """Rows of a kind that came after the first batch are learnt."""
    X, y = subject.groups(600)
    early = y == 0
    model = subject.feed(subject.make(), X[early], y[early])
    before = model.score(X[~early], y[~early])
    subject.feed(model, X[~early], y[~early])
    after = model.score(X[~early], y[~early])
    assert after > before, f"the second batch is not learnt: score {before} to {after}"


@needs("partial_fit")
def check_one_row_batches(subject):
    """A stream may start with, and consist of, single rows."""
    X, y = subject.groups()
    model = subject.make()
    for i in range(7):
        subject.feed(model, X[i : i + 1], y[i : i + 1])
        assert_finite(model, X, f"after {i + 1} calls of one row")
        if subject.has("clusterer"):
            assert model.labels_.shape == (1,), "labels_ are not those of the row"


@needs("partial_fit", "gathers")
def check_the_rows_seen_are_counted(subject):
    """``n_samples_seen_`` is the number of rows of ``fit`` and all calls since."""
    X, y = subject.groups(50)
    model = subject.make()
    for total in (50, 100):
        subject.feed(model, X, y)
        assert model.n_samples_seen_ == total, "partial_fit does not add up its rows"
    model.fit(X[:40], y[:40])
    assert model.n_samples_seen_ == 40, "fit does not count its own rows only"
    subject.feed(model, X[:1], y[:1])
    assert model.n_samples_seen_ == 41, "partial_fit after fit does not go on counting"


@needs("partial_fit", "clusterer")
def check_labels_are_those_of_the_last_call(subject):
    """``labels_`` and ``inertia_`` after ``partial_fit`` speak of its rows."""
    X, _ = subject.groups()
    model = subject.feed(subject.make(), X)
    subject.feed(model, X[:31])
    np.testing.assert_array_equal(
        model.labels_, model.predict(X[:31]), "labels_ are not of the last rows"
    )
    np.testing.assert_allclose(
        model.inertia_, model.transform(X[:31]).min(axis=1).sum(), rtol=1e-9, atol=1e-9
    )


@needs("partial_fit")
def check_looking_changes_nothing(subject):
    """Answers and attributes taken in mid-stream leave the stream as it was."""
    X, y = subject.cloud(300)
    for beginning, make in subject.beginnings():
        watched, unwatched = make(), make()
        for start in range(0, 300, 50):
            rows = slice(start, start + 50)
            subject.feed(watched, X[rows], y[rows])
            subject.feed(unwatched, X[rows], y[rows])
            answers(watched, X)
            learnt(watched)
        assert_same_model(watched, unwatched, X, f"looking at {beginning} changed it")


def _leaning_weights(X, y):
    """Weights of 1 and 3 that pull the mean of every group along each feature."""
    median = np.array([np.median(X[y == group], axis=0) for group in np.unique(y)])
    return np.where((X > median[y]).sum(axis=1) >= 2, 3, 1)


def _centres(model, X, y):
    """Mean codevector of every group of rows, (n_groups, d), and the partition."""
    said = canonical(model, X)
    if "cluster_centers_" in said:
        return said["cluster_centers_"], said["predict"]
    nearest = model.apply(X) - model.tree_.first_nodes[-1]
    points, weights = model.codevectors_, model.codevector_weights_
    codes = [np.unique(nearest[y == group]) for group in np.unique(y)]
    means = [weights[own] @ points[own] / weights[own].sum() for own in codes]
    return np.array(means), said["predict"]


@needs("partial_fit", "sample_weight", "gathers", kind="weights and repetition")
def check_weight_is_repetition_in_a_stream(subject):
    """An integer weight moves the codevectors as that many rows in a row do."""
    X, y = subject.groups(240)
    weight = _leaning_weights(X, y)
    weighted = subject.feed(subject.make(), X, y, sample_weight=weight)
    repeated = subject.feed(subject.make(), X.repeat(weight, axis=0), y.repeat(weight))
    (a, found), (b, expected) = (
        _centres(model, X, y) for model in (weighted, repeated)
    )
    if subject.has("regressor"):
        found, expected = np.rint(found), np.rint(expected)
    assert_same_partition(found, expected, "weights change the partition")
    width = min(X[y == group].std(axis=0).max() for group in np.unique(y))
    shift = np.abs(a - b).max()
    # The weights pull the means by 0.3 to 0.5 widths.
    assert shift < 0.1 * width, f"weighted and repeated rows differ by {shift / width}"


@needs("partial_fit", "sample_weight", kind="weights and repetition")
def check_rows_of_no_weight_are_absent_in_a_stream(subject):
    """Rows of zero weight in between leave every bit as it would be without."""
    X, y = subject.cloud(400)
    weight = np.tile([1.0, 0.0, 1.5, 3.0], 100)
    for beginning, make in subject.beginnings():
        model, without = make(), make()
        for rows in np.split(np.arange(400), 5):
            subject.feed(model, X[rows], y[rows], sample_weight=weight[rows])
            rows = rows[weight[rows] > 0]
            subject.feed(without, X[rows], y[rows], sample_weight=weight[rows])
        assert_same_model(
            model, without, X, f"rows of no weight in {beginning}", without=LAST_CALL
        )

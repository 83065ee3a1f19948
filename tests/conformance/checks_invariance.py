"""Checks of what must not matter: order, repetition, scale, threads, company."""

import numpy as np

from .comparing import (
    LAST_CALL,
    answers,
    assert_close,
    assert_same_bits,
    assert_same_model,
    assert_same_partition,
    canonical,
    needs,
)

KIND = "bits for every n_jobs and run"


@needs()
def check_a_repeated_fit_gives_the_same_bits(subject):
    """Two fits of one seed agree, also when the estimator was used before."""
    X, y = subject.cloud()
    first, second = subject.make().fit(X, y), subject.make().fit(X, y)
    assert_same_model(first, second, X, "two fits of one seed differ")
    second.fit(*subject.groups())
    second.fit(X, y)
    assert_same_model(first, second, X, "a fit remembers the one before it")


@needs()
def check_the_global_random_state_is_left_alone(subject):
    """A seeded estimator neither reads nor moves numpy's global random state."""
    X, y = subject.cloud()
    held = np.random.get_state()  # noqa: NPY002 (the state under test)
    try:
        models = []
        for seed in (1, 2):
            np.random.seed(seed)  # noqa: NPY002
            before = np.random.get_state()  # noqa: NPY002
            models.append(subject.make().fit(X, y))
            answers(models[-1], X)
            after = np.random.get_state()  # noqa: NPY002
            assert_same_bits(after, before, "fit draws from the global random state")
        assert_same_model(*models, X, "fit depends on the global random state")
    finally:
        np.random.set_state(held)  # noqa: NPY002


@needs("n_jobs")
def check_threads_change_no_bit(subject):
    """Any ``n_jobs`` gives the same bits in ``fit``, in a stream and in answers."""
    X, y = subject.cloud(3000 if subject.gathers else 60)
    one = subject.make(n_jobs=1)
    two = subject.make(n_jobs=2)
    assert_same_model(one.fit(X, y), two.fit(X, y), X, "n_jobs changes fit")
    if subject.has("partial_fit"):
        subject.feed(one, X, y)
        subject.feed(two, X, y)
        assert_same_model(one, two, X, "n_jobs changes partial_fit")


@needs(kind="subsets of rows")
def check_a_row_is_answered_alone_as_in_company(subject):
    """The answer about a row does not depend on the rows around it."""
    X, y = subject.cloud()
    model = subject.make().fit(X, y)
    whole = answers(model, X)
    for name, rows in {
        "every third row": slice(None, None, 3),
        "the rows reversed": slice(None, None, -1),
        "one row": slice(5, 6),
    }.items():
        part = answers(model, X[rows])
        assert_close(part, {k: v[rows] for k, v in whole.items()}, name, rtol=1e-12)
        if "predict" in part and part["predict"].dtype.kind in "iu":
            np.testing.assert_array_equal(part["predict"], whole["predict"][rows])


@needs("order_free", kind="permutation of rows")
def check_row_order_is_free(subject):
    """``fit`` on shuffled rows gives the same model up to the names."""
    X, y = subject.groups()
    order = np.random.default_rng(5).permutation(len(X))
    model = subject.make().fit(X, y)
    shuffled = subject.make().fit(X[order], y[order])
    rtol = subject.within(1e-7)
    assert_close(
        canonical(shuffled, X), canonical(model, X), "shuffled rows", rtol=rtol
    )
    if subject.has("clusterer"):
        assert_same_partition(shuffled.labels_, model.labels_[order], "shuffled rows")
        np.testing.assert_allclose(shuffled.inertia_, model.inertia_, rtol=1e-9)


@needs(kind="permutation of features")
def check_column_order_is_free(subject):
    """``fit`` on shuffled features gives the same partition and score."""
    X, y = subject.groups()
    order = [2, 0, 1]
    model = subject.make().fit(X, y)
    shuffled = subject.make().fit(X[:, order], y)
    assert_same_partition(
        subject.part(shuffled, X[:, order]), subject.part(model, X), "shuffled features"
    )
    if subject.has("score"):
        np.testing.assert_allclose(
            shuffled.score(X[:, order], y), model.score(X, y), rtol=1e-7
        )


@needs("sample_weight", "order_free", kind="weights and repetition")
def check_weight_is_repetition(subject):
    """A row of integer weight counts as that many rows, in everything learnt."""
    X, y = subject.groups()
    weight = np.random.default_rng(6).integers(0, 4, len(X))
    weighted = subject.make().fit(X, y, sample_weight=weight)
    repeated = subject.make().fit(X.repeat(weight, axis=0), y.repeat(weight))
    rtol = subject.within(1e-7)
    assert_close(
        canonical(weighted, X), canonical(repeated, X), "weighted rows", rtol=rtol
    )
    if subject.has("clusterer"):
        np.testing.assert_allclose(weighted.inertia_, repeated.inertia_, rtol=1e-9)
        assert_same_partition(
            weighted.labels_.repeat(weight), repeated.labels_, "weighted rows"
        )


@needs("sample_weight", kind="weights and repetition")
def check_rows_of_no_weight_are_absent(subject):
    """Rows of zero weight leave every bit as it would be without them."""
    X, y = subject.cloud()
    weight = np.where(np.arange(len(X)) % 4 == 1, 0.0, 2.5)
    kept = weight > 0
    model = subject.make().fit(X, y, sample_weight=weight)
    without = subject.make().fit(X[kept], y[kept], sample_weight=weight[kept])
    assert_same_model(model, without, X, "rows of no weight count", without=LAST_CALL)
    if subject.has("clusterer"):
        np.testing.assert_array_equal(model.labels_, model.predict(X))


@needs("sample_weight", kind="weights and repetition")
def check_unit_weights_are_no_weights(subject):
    """Weights of one give the bits of no weights at all."""
    X, y = subject.cloud()
    weighted = subject.make().fit(X, y, sample_weight=np.ones(len(X)))
    assert_same_model(weighted, subject.make().fit(X, y), X, "weights of one matter")


@needs("sample_weight", "order_free", "clusterer", kind="weights and repetition")
def check_the_unit_of_weight_does_not_matter(subject):
    """Weights of eight for all change nothing but the sum of the divergences."""
    X, _ = subject.groups()
    weighted = subject.make().fit(X, sample_weight=np.full(len(X), 8.0))
    plain = subject.make().fit(X)
    assert_close(canonical(weighted, X), canonical(plain, X), "weights of 8")
    np.testing.assert_allclose(weighted.inertia_, 8.0 * plain.inertia_, rtol=1e-9)


@needs("homogeneous", "clusterer", kind="scaling and shift")
def check_scaling_by_a_power_of_two_keeps_the_labels(subject):
    """X times 2**20 and 2**-20 give the very labels of X, by fit and by stream."""
    # Sums of products scale without rounding, logarithms do not.
    X, _ = subject.cloud() if subject.domain == "real" else subject.groups()
    model = subject.make().fit(X)
    streamed = subject.feed(subject.make(), X) if subject.has("partial_fit") else None
    for factor in (2.0**20, 2.0**-20):
        scaled = subject.make().fit(X * factor)
        np.testing.assert_array_equal(
            scaled.labels_, model.labels_, f"fit depends on a factor of {factor}"
        )
        assert_close(
            {"centres": scaled.cluster_centers_ / factor},
            {"centres": model.cluster_centers_},
            f"codevectors do not scale with a factor of {factor}",
        )
        if streamed is not None:
            np.testing.assert_array_equal(
                subject.feed(subject.make(), X * factor).predict(X * factor),
                streamed.predict(X),
                f"partial_fit depends on a factor of {factor}",
            )

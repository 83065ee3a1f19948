"""Laws that hold for every data set, tried on data that hypothesis invents."""

import numpy as np
import pandas as pd
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from odalib import ODAClusterer

from .comparing import (
    LAST_CALL,
    answers,
    assert_close,
    assert_same_bits,
    assert_same_model,
    assert_same_partition,
    canonical,
)

# Multiples of 1/8: their sums are exact, and rows often coincide.
eighths = st.integers(-80, 80).map(lambda i: i / 8.0)
seeds = st.integers(0, 2**16)


def clusterer(n_clusters, **params):
    return ODAClusterer(n_clusters, random_state=0, **params)


@st.composite
def tables(draw, min_rows=1, max_rows=40):
    """Rows without any structure, of one to four features."""
    shape = draw(st.tuples(st.integers(min_rows, max_rows), st.integers(1, 4)))
    return draw(arrays(float, shape, elements=eighths))


@st.composite
def separated(draw):
    """Rows in groups far apart, in random order, and the number of groups."""
    n_groups, n_features = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(seeds))
    places = rng.permutation(6**n_features)[:n_groups]
    centres = 40.0 * np.stack(np.unravel_index(places, [6] * n_features), axis=1)
    y = np.repeat(np.arange(n_groups), rng.integers(2, 9, n_groups))
    X = centres[y] + rng.normal(size=(len(y), n_features))
    return X[rng.permutation(len(y))], n_groups


@given(
    X=tables(),
    cuts=st.lists(st.integers(0, 40), max_size=8),
    batch_size=st.sampled_from([1, 5, 16, None]),
    step=st.sampled_from(["decreasing", "constant"]),
)
def test_how_a_stream_is_cut_changes_no_bit(X, cuts, batch_size, step):
    whole, cut = (clusterer(3, batch_size=batch_size, step=step) for _ in "ab")
    whole.partial_fit(X)
    for rows in np.split(X, sorted({c for c in cuts if 0 < c < len(X)})):
        cut.partial_fit(rows)
    assert_same_model(cut, whole, X, f"cuts at {sorted(cuts)}", without=LAST_CALL)


@given(data=separated(), seed=seeds)
def test_a_weight_is_so_many_rows(data, seed):
    X, k = data
    weight = np.random.default_rng(seed).integers(1, 5, len(X))
    weighted = clusterer(k).fit(X, sample_weight=weight)
    repeated = clusterer(k).fit(X.repeat(weight, axis=0))
    # The temperature comes of few power iterations, from numbers that are a steep
    # function of the rows: 1e-6 is what rounding makes of it.
    assert_close(canonical(weighted, X), canonical(repeated, X), "weights", rtol=1e-5)


@given(X=tables(min_rows=8), seed=seeds)
def test_rows_without_weight_are_not_there(X, seed):
    weight = np.random.default_rng(seed).choice([0.0, 0.5, 2.0], len(X))
    kept = weight > 0
    assume(len(np.unique(X[kept], axis=0)) >= 3)
    a = clusterer(3).fit(X, sample_weight=weight)
    b = clusterer(3).fit(X[kept], sample_weight=weight[kept])
    assert_same_model(a, b, X, "rows without weight", without=LAST_CALL)


@given(X=tables(min_rows=4), power=st.integers(-40, 40))
def test_a_power_of_two_scales_every_bit(X, power):
    assume(len(np.unique(X, axis=0)) >= 3)
    factor = 2.0**power
    plain, scaled = clusterer(3).fit(X), clusterer(3).fit(X * factor)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    assert_same_bits(
        scaled.cluster_centers_, plain.cluster_centers_ * factor, "codevectors"
    )
    assert_same_bits(
        scaled.transform(X * factor), plain.transform(X) * factor**2, "divergences"
    )


@given(data=separated(), seed=seeds)
def test_the_order_of_rows_and_features_is_free(data, seed):
    X, k = data
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    plain = clusterer(k).fit(X)
    mixed = clusterer(k).fit(X[rows][:, columns])
    assert_same_partition(mixed.labels_, plain.labels_[rows], "the order of the data")
    np.testing.assert_allclose(mixed.inertia_, plain.inertia_, rtol=1e-9)


@given(data=separated(), shift=st.integers(-1000, 1000))
def test_a_shift_moves_the_codevectors_along(data, shift):
    X, k = data
    plain, moved = clusterer(k).fit(X), clusterer(k).fit(X + shift)
    assert_same_partition(moved.labels_, plain.labels_, "a shift of all rows")
    np.testing.assert_allclose(moved.inertia_, plain.inertia_, rtol=1e-9)


@given(
    X=tables(min_rows=4),
    names=st.lists(st.text("abc", min_size=1), min_size=4, max_size=4, unique=True),
)
def test_the_names_of_the_features_are_free(X, names):
    assume(len(np.unique(X, axis=0)) >= 3)
    frame = pd.DataFrame(X, columns=names[: X.shape[1]])
    plain, named = clusterer(3).fit(X), clusterer(3).fit(frame)
    assert_same_bits(answers(named, frame), answers(plain, X), f"columns {names}")


@given(data=separated())
def test_separated_groups_are_found(data):
    """The partition into groups is the least sum of squares by a wide margin."""
    X, k = data
    model = clusterer(k).fit(X)
    group = np.unique(np.round(X / 40.0), axis=0, return_inverse=True)[1].ravel()
    assert_same_partition(model.labels_, group, "groups far apart")

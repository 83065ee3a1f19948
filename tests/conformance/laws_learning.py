"""Laws of what must not matter as a model is learnt: order, units, cuts, weights."""

import numpy as np
from hypothesis import strategies as st
from sklearn.base import clone

from .comparing import (
    answers,
    assert_close,
    assert_same_bits,
    assert_same_partition,
    canonical,
)
from .lawful import (
    draw_cuts,
    draw_groups,
    draw_order,
    draw_stream,
    draw_table,
    draw_weights,
    law,
)


def _assert_same_parts(subject, model, X, expected, X_expected, message):
    """Two models part their rows alike, and score them alike."""
    found = subject.part(model, X)
    assert_same_partition(found, subject.part(expected, X_expected), message)


@law(kind="permutation of features")
def check_law_of_the_order_of_features(subject, draw):
    """Features in any order make for the same partition."""
    X, y = draw_groups(subject, draw)
    order = draw_order(draw, X.shape[1])
    plain, shuffled = subject.make().fit(X, y), subject.make().fit(X[:, order], y)
    _assert_same_parts(subject, shuffled, X[:, order], plain, X, f"features {order}")
    if subject.has("score"):
        found, expected = shuffled.score(X[:, order], y), plain.score(X, y)
        np.testing.assert_allclose(found, expected, rtol=subject.within(1e-7))


@law("order_free", kind="permutation of rows")
def check_law_of_the_order_of_rows(subject, draw):
    """Rows in any order make for the same model, up to names and rounding."""
    X, y = draw_groups(subject, draw)
    order = draw_order(draw, len(X))
    plain, shuffled = subject.make().fit(X, y), subject.make().fit(X[order], y[order])
    said, expected = canonical(shuffled, X), canonical(plain, X)
    assert_close(said, expected, "shuffled rows", rtol=subject.within(1e-7))


@law("homogeneous", kind="scaling and shift")
def check_law_of_the_unit_of_features(subject, draw):
    """Features in another unit, and the prior with them, change no answer."""
    X, y = draw_table(subject, draw)
    factor = 2.0 ** draw(st.integers(-16, 16))
    plain = subject.make().fit(X, y)
    scaled = subject.make(**subject.in_units(factor)).fit(X * factor, y)
    said, expected = answers(scaled, X * factor), answers(plain, X)
    # Divergences and densities are in the unit of the features.
    for in_units in ("transform", "score_samples"):
        said.pop(in_units, None), expected.pop(in_units, None)
    assert_close(said, expected, f"a factor of {factor}", rtol=subject.within(1e-9))


@law("regressor", "homogeneous", kind="scaling and shift")
def check_law_of_the_unit_of_the_target(subject, draw):
    """A target in another unit is predicted in it, to the last bit."""
    X, y = draw_table(subject, draw)
    factor = 2.0 ** draw(st.integers(-16, 16))
    plain, scaled = subject.make().fit(X, y), subject.make().fit(X, y * factor)
    for name, said in answers(scaled, X).items():
        if name in ("predict", "std"):
            said = said / factor
        expected = answers(plain, X)[name]
        assert_same_bits(said, expected, f"{name} of a target times {factor}")


@law("shift_free", kind="scaling and shift")
def check_law_of_a_shift(subject, draw):
    """Rows moved together are parted as they were."""
    X, y = draw_groups(subject, draw)
    shift = draw(st.integers(-1000, 1000))
    plain, moved = subject.make().fit(X, y), subject.make().fit(X + shift, y)
    _assert_same_parts(subject, moved, X + shift, plain, X, f"a shift by {shift}")


@law("missing", kind="scaling and shift")
def check_law_of_the_coding(subject, draw):
    """Zeros and ones are what -1 and +1 are, and truth values."""
    X, _ = draw_table(subject, draw)
    plain = subject.make().fit(X)
    for name, Z in {"-1 and +1": 2.0 * X - 1.0, "truth values": X.astype(bool)}.items():
        said = subject.make().fit(Z).score_samples(Z)
        np.testing.assert_allclose(said, plain.score_samples(X), 1e-9, err_msg=name)


@law("partial_fit", "cut_free", kind="batches split and merged")
def check_law_of_cuts(subject, draw):
    """However a stream is cut into calls, it is learnt to the same bits."""
    X, y = draw_table(subject, draw)
    whole = draw_stream(subject, draw)
    cut = clone(whole)
    weights = _weights_or_none(subject, draw, len(X))
    subject.feed(whole, X, y, **weights)
    for rows in draw_cuts(draw, len(X)):
        part = {name: weight[rows] for name, weight in weights.items()}
        subject.feed(cut, X[rows], y[rows], **part)
    assert_same_bits(answers(cut, X), answers(whole, X), "another cut into calls")


def _weights_or_none(subject, draw, n_samples):
    if subject.has("sample_weight") and draw(st.booleans()):
        return {"sample_weight": draw_weights(draw, n_samples, [0.3, 1.0, 4.5])}
    return {}


@law("sample_weight", "order_free", kind="weights and repetition")
def check_law_of_repetition(subject, draw):
    """A row of integer weight counts as that many rows."""
    X, y = draw_groups(subject, draw)
    weight = draw_weights(draw, len(X), [1, 2, 3, 4])
    weighted = subject.make().fit(X, y, sample_weight=weight)
    repeated = subject.make().fit(X.repeat(weight, axis=0), y.repeat(weight))
    said, expected = canonical(weighted, X), canonical(repeated, X)
    assert_close(said, expected, "weights", rtol=subject.within(1e-7))


@law("sample_weight", "partial_fit", kind="weights and repetition")
def check_law_of_rows_without_weight(subject, draw):
    """Rows of no weight in a stream are not there, to the last bit."""
    X, y = draw_table(subject, draw)
    weight = draw_weights(draw, len(X), [0.0, 0.5, 2.0])
    weight[draw(st.integers(0, len(X) - 1))] = 1.0
    model = draw_stream(subject, draw)
    without, kept = clone(model), weight > 0
    subject.feed(model, X, y, sample_weight=weight)
    subject.feed(without, X[kept], y[kept], sample_weight=weight[kept])
    assert_same_bits(answers(model, X), answers(without, X), "rows of no weight")

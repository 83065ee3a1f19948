"""Faults that users of other libraries reported, asked of binary data."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import learning_curve

from odalib import IsingModel
from tests.binary_rows import drawn

from .cases import in_thirds
from .comparing import assert_same_bits, assert_same_model, leaves

KIND = "reported cases"
ESTIMATORS = (IsingModel,)

ROWS = drawn(120, n=4)


def spins():
    return IsingModel(random_state=0)


@pytest.mark.parametrize("kind", ["f4", ">f8", "u1", "i8", "?"])
def test_dtypes_and_layouts_are_one_model(kind):
    """pycaret#3774, scikit-learn#14314, #4507: buffers, bytes and orders."""
    big = np.zeros((240, 8), kind)
    big[::2, ::2] = ROWS
    plain = spins().fit(ROWS)
    for A in (ROWS.astype(kind), np.asfortranarray(ROWS.astype(kind)), big[::2, ::2]):
        model = spins().fit(A)
        np.testing.assert_allclose(model.coupling_, plain.coupling_, atol=1e-3)
        np.testing.assert_allclose(
            model.score_samples(ROWS), plain.score_samples(A), rtol=1e-3
        )


def test_read_only_rows_and_weights_are_left_alone(tmp_path):
    """scikit-learn#5481, #17203: memory maps crash; weights change in place."""
    np.save(tmp_path / "X.npy", ROWS)
    np.save(tmp_path / "w.npy", np.ones(120))
    A, w = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xw")
    for model in (spins().fit(A, sample_weight=w), spins().partial_fit(A)):
        assert np.isfinite(model.score(A, sample_weight=w))


def test_sparse_batches_follow_dense_ones():
    """scikit-learn#2455: a format that one method takes and one does not."""
    mixed = spins().partial_fit(ROWS).partial_fit(sp.csr_matrix(ROWS))
    plain = spins().partial_fit(ROWS).partial_fit(ROWS)
    assert_same_bits(mixed.coupling_, plain.coupling_, "sparse")
    for form in (sp.csr_array, sp.coo_array, sp.csc_matrix, sp.lil_matrix):
        assert spins().fit(form(ROWS)).score_samples(form(ROWS)).shape == (120,)


@pytest.mark.parametrize("weight", [np.zeros(120), -np.ones(120)])
def test_weights_that_are_refused_leave_the_state(weight):
    """scikit-learn#33436, #15531: weights of zero and below."""
    model = spins().partial_fit(ROWS)
    before = leaves(vars(model))
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"zero|Negative"):
            learn(1 - ROWS, sample_weight=weight)
        assert leaves(vars(model)) == before


def test_columns_that_change_between_batches_are_refused():
    """scikit-learn#12430, #3833: swapped or missing columns."""
    frame = pd.DataFrame(ROWS, columns=list("abcd"))
    model = spins().partial_fit(frame)
    before = leaves(vars(model))
    for bad in (frame[list("bacd")], frame[["a", "b"]]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.partial_fit(bad)
    assert leaves(vars(model)) == before


def test_fits_forget_and_pickles_in_mid_stream_change_nothing():
    """scikit-learn#14107, #21228: what follows a fit, or a pickle, differs."""
    a, b = spins().fit(ROWS), in_thirds(spins(), 1 - ROWS).fit(ROWS)
    for rows in np.split(ROWS, 4):
        a.partial_fit(rows)
        b = pickle.loads(pickle.dumps(b.partial_fit(rows)))
    assert_same_model(a, b, ROWS, "a stream interrupted by pickles")
    assert not hasattr(clone(b), "n_features_in_")


def test_a_learning_curve_by_increments():
    """scikit-learn#22981: classes= is passed to what knows no classes."""
    _, *scores = learning_curve(
        spins(),
        ROWS,
        None,
        exploit_incremental_learning=True,
        train_sizes=[0.5, 1.0],
        cv=3,
    )
    assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("ignore:Columns that never vary")
@pytest.mark.filterwarnings("ignore:The .*correction")
def test_scores_are_sums_over_spins():
    """scikit-learn#8557, #23179: of rows that are all alike the score is near 0."""
    for width in (4, 12):
        ones = np.ones((10, width))
        assert -0.1 * width < spins().fit(ones).score_samples(ones).mean() < 0.0

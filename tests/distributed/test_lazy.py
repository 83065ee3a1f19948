"""Lazy predictions of Dask collections, block by block."""

import cloudpickle
import dask.array as da
import dask.bag as db
import numpy as np
import pytest
import scipy.sparse as sp
from dask import delayed
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import odalib
from odalib.distributed import predict, predict_proba, transform

ROWS = np.random.default_rng(0).standard_normal((1000, 4))


@pytest.fixture
def model():
    return odalib.ODAClusterer(5, random_state=0).fit(ROWS[:900])


def cut(values):
    return da.from_array(values, chunks=(-(-len(values) // 3), 4))


def computed(lazy):
    return lazy.compute(scheduler="synchronous")


def test_lazy_predictions_are_those_of_the_estimator(model):
    rows = cut(ROWS)
    for lazy, method in (
        (predict, model.predict),
        (predict_proba, model.predict_proba),
        (transform, model.transform),
    ):
        found, expected = lazy(model, rows), method(ROWS)
        assert isinstance(found, da.Array)
        assert found.chunks[0] == rows.chunks[0]
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(computed(found), expected)
        unknown = lazy(model, rows[rows[:, 0] > 1.0])
        np.testing.assert_array_equal(computed(unknown), expected[ROWS[:, 0] > 1.0])


def test_lazy_predictions_of_sparse_blocks_spins_and_frames_as_output(model):
    sparse = cut(ROWS[:900]).map_blocks(sp.csr_matrix)
    np.testing.assert_array_equal(
        computed(predict(model, sparse)), model.predict(ROWS[:900])
    )
    spins = np.sign(ROWS[:60])
    ising = odalib.IsingModel().fit(spins)
    np.testing.assert_array_equal(
        computed(transform(ising, cut(spins))), ising.transform(spins)
    )
    expected = model.transform(ROWS[:900])
    model.set_output(transform="pandas")
    np.testing.assert_array_equal(computed(transform(model, cut(ROWS[:900]))), expected)


def test_lazy_predictions_are_of_the_estimator_at_the_call(model):
    expected = model.predict(ROWS[:900])
    lazy = predict(model, cut(ROWS[:900]))
    model.partial_fit(3.0 + 5.0 * ROWS[:900])
    np.testing.assert_array_equal(computed(lazy), expected)
    assert (model.predict(ROWS[:900]) != expected).any()


@pytest.mark.parametrize("is_frame", [False, True])
def test_an_estimator_is_in_one_task_of_lazy_predictions(model, is_frame):
    rows = da.zeros((400, 4), chunks=(20, 4))
    lazy = predict(model, rows.to_dask_dataframe() if is_frame else rows)
    sizes = sorted(len(cloudpickle.dumps(task)) for task in lazy.dask.values())
    assert sizes[-2] < len(cloudpickle.dumps(model)) < sizes[-1]


def test_lazy_predictions_refuse_what_they_cannot_serve(model):
    with pytest.raises(NotFittedError):
        predict(clone(model), cut(ROWS))
    for other in (delayed(ROWS), db.from_sequence([1])):
        with pytest.raises(TypeError, match=r"got (DelayedLeaf|Bag); call predict"):
            predict(model, other)
    with pytest.raises(TypeError, match=r"got ndarray; call predict of the"):
        predict(model, ROWS)
    with pytest.raises(ValueError, match="fitted on 4 features"):
        predict(model, cut(ROWS[:, :3]))
    with pytest.raises(ValueError, match="2 blocks of columns"):
        predict(model, da.from_array(ROWS, chunks=(100, 2)))

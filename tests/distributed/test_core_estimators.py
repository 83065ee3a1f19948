"""What the estimators for memory say to collections of dask: where to go."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import odalib

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
COLLECTIONS = {
    "array": da.from_array(X, chunks=(20, 3)),
    "frame": dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3),
}
TARGETS = da.from_array(Y, chunks=20)
ESTIMATORS = [
    odalib.ODAClusterer(2),
    odalib.ODAClassifier(n_codevectors=4),
    odalib.ODARegressor(n_codevectors=4),
    odalib.EPProbitClassifier(),
    odalib.ADFProbitClassifier(),
    odalib.EPGaussianProcessClassifier(),
    odalib.IsingModel(binarize=0.0),
]
estimators = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__
)


def refused(name):
    return pytest.raises(
        TypeError, match=rf"^{name} is a collection of dask.*odalib.distributed"
    )


@estimators
@pytest.mark.parametrize("kind", COLLECTIONS)
def test_rows_are_not_pulled_into_memory(estimator, kind):
    for method in ("fit", "partial_fit"):
        if hasattr(estimator, method):
            with refused("X"):
                getattr(estimator, method)(COLLECTIONS[kind], Y)


@estimators
def test_nor_are_rows_to_predict(estimator):
    fitted = clone(estimator).fit(X, Y)
    method = "transform" if isinstance(fitted, odalib.IsingModel) else "predict"
    with refused("X"):
        getattr(fitted, method)(COLLECTIONS["array"])


@estimators
def test_nor_are_targets_and_weights(estimator):
    if not isinstance(estimator, odalib.ODAClusterer | odalib.IsingModel):
        with refused("y"):
            estimator.fit(X, TARGETS)
    with refused("sample_weight"):
        estimator.fit(X, Y, sample_weight=TARGETS)

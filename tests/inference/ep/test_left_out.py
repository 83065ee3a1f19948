"""Cavities of a Gaussian process on real rows: what a refit without the row says."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler

from odalib import EPGaussianProcessClassifier


def test_rows_left_out_are_those_of_refits():
    """Within 0.01 on 150 rows of breast_cancer, of which every fifth is refitted."""
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:150]
    X, y = StandardScaler().fit_transform(X[chosen]), y[chosen]
    model = EPGaussianProcessClassifier(1.0 * RBF(np.sqrt(30.0)), optimizer=None)
    left_out = model.fit(X, y).loo_predict_proba()
    learnt_from = model.predict_proba(X)
    rows = range(0, 150, 5)
    refitted = np.empty((30, 2))
    for number, row in enumerate(rows):
        others = np.arange(150) != row
        refitted[number] = model.fit(X[others], y[others]).predict_proba(X[[row]])[0]
    off = np.abs(left_out[rows] - refitted).max()
    assert off < 0.01
    assert np.abs(learnt_from[rows] - refitted).max() > 10.0 * off

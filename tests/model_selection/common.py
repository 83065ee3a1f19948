"""Data, and the scores that a loop over folds gives."""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.metrics import silhouette_score
from sklearn.model_selection import KFold

from odalib import ODAClusterer

X, Y = load_iris(return_X_y=True)
CV = KFold(3, shuffle=True, random_state=0)
SPLITS = list(CV.split(X))
LARGEST = 8
NUMBERS = list(range(1, LARGEST + 1))


def clusterer(**params):
    return ODAClusterer(**{"n_clusters": LARGEST, "random_state": 0, **params})


def scores_by_hand(evaluate):
    """Scores (n_numbers, n_folds) of ``evaluate(train, test)``, fold by fold."""
    return np.transpose([evaluate(train, test) for train, test in SPLITS])


def scores_of(search):
    folds = range(search.n_splits_)
    return np.transpose([search.cv_results_[f"split{i}_test_score"] for i in folds])


def silhouette(estimator, X, y=None):
    return silhouette_score(X, estimator.predict(X))

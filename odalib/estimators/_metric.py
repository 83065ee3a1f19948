"""The parameter ``metric`` of the annealing estimators that learn one."""

import numpy as np
import scipy.sparse as sp

__all__ = ["METRICS", "check_metric", "metric_features"]

METRICS = {"auto", "learned"}
# A metric is learnt for so many features at the most: it costs their cube.
AUTO_FEATURES = 500


def metric_features(metric):
    """Largest number of features for which a metric is learnt."""
    return {"auto": AUTO_FEATURES, "learned": np.inf, None: 0}[metric]


def check_metric(estimator, rows):
    """Refuse ``metric='learned'`` where none can be learnt.

    Parameters
    ----------
    estimator : estimator
    rows : array or CSR matrix of shape (n, d)

    Raises
    ------
    ValueError
        For sparse rows, and for parameters that leave nothing to learn it from.
    """
    slopes = getattr(estimator, "local_model", "linear") == "linear"
    euclidean = estimator.divergence == "squared_euclidean"
    if estimator.metric != "learned" or (
        slopes and euclidean and not sp.issparse(rows)
    ):
        return
    linear = ", local_model='linear'" if hasattr(estimator, "local_model") else ""
    raise ValueError(
        f"metric='learned' is for dense X{linear} and "
        "divergence='squared_euclidean'; take metric='auto', which learns one where "
        "it can, or None."
    )

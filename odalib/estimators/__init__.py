"""Estimators with the interface of scikit-learn."""

from odalib.estimators.oda_clusterer import ODAClusterer

__all__ = ["ODAClusterer"]

"""Estimators with the interface of scikit-learn."""

from odalib.estimators.adf_probit import ADFProbitClassifier
from odalib.estimators.ep_gaussian_process import EPGaussianProcessClassifier
from odalib.estimators.ep_probit import EPProbitClassifier
from odalib.estimators.ising_model import IsingModel
from odalib.estimators.oda_classifier import ODAClassifier
from odalib.estimators.oda_clusterer import ODAClusterer
from odalib.estimators.oda_regressor import ODARegressor
from odalib.estimators.resolution import Resolution

__all__ = [
    "ADFProbitClassifier",
    "EPGaussianProcessClassifier",
    "EPProbitClassifier",
    "IsingModel",
    "ODAClassifier",
    "ODAClusterer",
    "ODARegressor",
    "Resolution",
]

"""Annealing and expectation propagation with the interface of scikit-learn.

Deterministic annealing clusters (`ODAClusterer`), classifies (`ODAClassifier`) and
regresses (`ODARegressor`), flat or at several resolutions (`Resolution`); expectation
propagation classifies (`EPProbitClassifier`, `ADFProbitClassifier`,
`EPGaussianProcessClassifier`); pairwise models of binary variables are learnt
(`IsingModel`) or given (`infer_ising`).

The public names below are imported on first use, so that ``import odalib`` by itself
loads neither scikit-learn nor NumPy.
"""

from odalib._first_use import on_first_use
from odalib._release import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from odalib import distributed, inspection, streaming
    from odalib._versions import show_versions
    from odalib.estimators import (
        ADFProbitClassifier,
        EPGaussianProcessClassifier,
        EPProbitClassifier,
        IsingModel,
        ODAClassifier,
        ODAClusterer,
        ODARegressor,
        Resolution,
    )
    from odalib.inference.annealing.divergences import Mahalanobis
    from odalib.inference.pairwise.infer import infer_ising
    from odalib.model_selection import PathSearchCV

__all__ = [
    "ADFProbitClassifier",
    "EPGaussianProcessClassifier",
    "EPProbitClassifier",
    "IsingModel",
    "Mahalanobis",
    "ODAClassifier",
    "ODAClusterer",
    "ODARegressor",
    "PathSearchCV",
    "Resolution",
    "__version__",
    "distributed",
    "infer_ising",
    "inspection",
    "show_versions",
    "streaming",
]

_HOMES = {
    "ADFProbitClassifier": "odalib.estimators",
    "EPGaussianProcessClassifier": "odalib.estimators",
    "EPProbitClassifier": "odalib.estimators",
    "IsingModel": "odalib.estimators",
    "Mahalanobis": "odalib.inference.annealing.divergences",
    "ODAClassifier": "odalib.estimators",
    "ODAClusterer": "odalib.estimators",
    "ODARegressor": "odalib.estimators",
    "PathSearchCV": "odalib.model_selection",
    "Resolution": "odalib.estimators",
    "infer_ising": "odalib.inference.pairwise.infer",
    "show_versions": "odalib._versions",
}

__getattr__, __dir__ = on_first_use(
    globals(), _HOMES, ("distributed", "inspection", "streaming")
)

"""Annealing and expectation propagation with the interface of scikit-learn.

Deterministic annealing clusters (`ODAClusterer`), classifies (`ODAClassifier`) and
regresses (`ODARegressor`), flat or at several resolutions (`Resolution`); expectation
propagation classifies (`EPProbitClassifier`, `ADFProbitClassifier`,
`EPGaussianProcessClassifier`); pairwise models of binary variables are learnt
(`IsingModel`) or given (`infer_ising`).

The public names below are imported on first use, so that ``import odalib`` by itself
loads neither scikit-learn nor NumPy.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from odalib import inspection
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

__version__ = "0.1.0"

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
    "infer_ising",
    "inspection",
    "show_versions",
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
_SUBMODULES = ("inspection",)


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        # Kept, so that the next look-up does not come here.
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return import_module(f"odalib.{name}")
    raise AttributeError(f"module 'odalib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

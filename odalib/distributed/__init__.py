"""Estimators fitted where the rows are: on the workers of a Dask cluster.

`ODAClusterer`, `ODAClassifier`, `ODARegressor` and `EPProbitClassifier` take the
parameters of the estimators of the same names in `odalib`, and ``fit`` on Dask arrays
and data frames returns these, fitted and in memory. `predict`, `predict_proba` and
`transform` serve collections lazily, block by block. It needs Dask:
``pip install "odalib[dask]"``.

The names below are imported on first use, as those of `odalib` are.
"""

from odalib._first_use import on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from odalib.distributed._lazy import predict, predict_proba, transform
    from odalib.distributed.ep_probit import EPProbitClassifier
    from odalib.distributed.oda_classifier import ODAClassifier
    from odalib.distributed.oda_clusterer import ODAClusterer
    from odalib.distributed.oda_regressor import ODARegressor

_HOMES = {
    "EPProbitClassifier": "odalib.distributed.ep_probit",
    "ODAClassifier": "odalib.distributed.oda_classifier",
    "ODAClusterer": "odalib.distributed.oda_clusterer",
    "ODARegressor": "odalib.distributed.oda_regressor",
    "predict": "odalib.distributed._lazy",
    "predict_proba": "odalib.distributed._lazy",
    "transform": "odalib.distributed._lazy",
}

__all__ = [
    "EPProbitClassifier",
    "ODAClassifier",
    "ODAClusterer",
    "ODARegressor",
    "predict",
    "predict_proba",
    "transform",
]

__getattr__, __dir__ = on_first_use(globals(), _HOMES)

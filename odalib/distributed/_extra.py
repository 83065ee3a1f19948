"""The one place that imports Dask, and says how to install it."""

try:
    import cloudpickle
    import dask
    import dask.array as dask_array
    import distributed
    from dask.delayed import Delayed
except ImportError as error:
    raise ImportError(
        'odalib.distributed needs Dask; install it with pip install "odalib[dask]".'
    ) from error

__all__ = ["Delayed", "cloudpickle", "dask", "dask_array", "distributed"]

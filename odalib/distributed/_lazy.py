"""Lazy predictions by blocks: a collection in, a collection out."""

from copy import copy

import numpy as np
from sklearn.utils.validation import check_is_fitted

from odalib.distributed._extra import dask, dask_array
from odalib.distributed._intake import (
    check_collection,
    check_column_blocks,
    dtype_and_names,
)

__all__ = ["predict", "predict_proba", "transform"]


def predict(estimator, X):
    """Predict rows of a Dask collection, block by block, when they are asked for.

    Parameters
    ----------
    estimator : estimator
        Fitted, in memory; one that ``fit`` of a distributed estimator returned, or any
        of odalib. Predictions are those of the estimator as it is at the call.
    X : dask array or data frame of shape (n_samples, n_features)
        Chunk sizes may be unknown, and partitions empty. Blocks may be sparse where
        the estimator takes sparse rows.

    Returns
    -------
    predictions : dask array
        What ``estimator.predict`` gives, in blocks of the rows of those of X.

    Raises
    ------
    TypeError
        For what is no Dask collection.
    ValueError
        For another number of features, and several blocks of columns.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from odalib import ODAClusterer
    >>> from odalib.distributed import predict
    >>> rows = np.array([[0.0], [0.1], [5.0], [5.2]])
    >>> clusterer = ODAClusterer(n_clusters=2, random_state=0).fit(rows)
    >>> labels = predict(clusterer, da.from_array(rows, chunks=(2, 1)))
    >>> bool((labels == clusterer.predict(rows)).all().compute())
    True
    """
    return _by_blocks(estimator, "predict", X)


def predict_proba(estimator, X):
    """Give probabilities for rows of a Dask collection, block by block and lazily.

    Parameters
    ----------
    estimator : estimator
        Fitted, in memory, with ``predict_proba``.
    X : dask array or data frame of shape (n_samples, n_features)
        As for `predict`.

    Returns
    -------
    probabilities : dask array of shape (n_samples, n_classes)
        Or the number of codevectors of a clusterer.

    Raises
    ------
    TypeError
        As `predict`.
    ValueError
        As `predict`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from odalib import ODAClusterer
    >>> from odalib.distributed import predict_proba
    >>> rows = np.array([[0.0], [0.1], [5.0], [5.2]])
    >>> clusterer = ODAClusterer(n_clusters=2, random_state=0).fit(rows)
    >>> predict_proba(clusterer, da.from_array(rows, chunks=(2, 1))).shape
    (4, 2)
    """
    return _by_blocks(estimator, "predict_proba", X)


def transform(estimator, X):
    """Transform rows of a Dask collection, block by block and lazily.

    Parameters
    ----------
    estimator : estimator
        Fitted, in memory, with ``transform``: divergences from the codevectors of a
        clusterer.
    X : dask array or data frame of shape (n_samples, n_features)
        As for `predict`.

    Returns
    -------
    transformed : dask array of shape (n_samples, n_features_out)
        What ``estimator.transform`` gives.

    Raises
    ------
    TypeError
        As `predict`.
    ValueError
        As `predict`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from odalib import ODAClusterer
    >>> from odalib.distributed import transform
    >>> rows = np.array([[0.0], [0.1], [5.0], [5.2]])
    >>> clusterer = ODAClusterer(n_clusters=2, random_state=0).fit(rows)
    >>> transform(clusterer, da.from_array(rows, chunks=(2, 1))).shape
    (4, 2)
    """
    return _by_blocks(estimator, "transform", X)


def _by_blocks(estimator, method, X):
    """Make a collection of what a method gives for every block."""
    check_collection("X", X, f"call {method} of the estimator itself")
    check_is_fitted(estimator)
    if X.ndim != 2 or X.shape[1] != estimator.n_features_in_:
        described = f"{X.ndim} dimensions" if X.ndim != 2 else f"{X.shape[1]} features"
        raise ValueError(
            f"X has {described}, and the estimator was fitted on "
            f"{estimator.n_features_in_} features."
        )
    call = _Call(estimator, method, _one_row(X))
    # A task of its own: inside those of the blocks it would travel with each.
    held = dask.delayed(call, pure=True, traverse=False)
    if not isinstance(X, dask_array.Array):
        called = dask.delayed(_called, pure=True)
        return _concatenated([called(part, held) for part in X.to_delayed()], call.none)
    check_column_blocks("X", X)
    return X.map_blocks(
        _called,
        call=held,
        meta=call.none,
        drop_axis=1 if call.none.ndim == 1 else None,
        chunks=(X.chunks[0], *((size,) for size in call.none.shape[1:])),
    )


def _concatenated(parts, like):
    """Array of delayed blocks, of unknown lengths."""
    return dask_array.concatenate(
        [
            dask_array.from_delayed(part, shape=(np.nan, *like.shape[1:]), meta=like)
            for part in parts
        ],
        allow_unknown_chunksizes=True,
    )


def _one_row(X):
    """Make a row like those of X, in the domain of every divergence; 1 is a spin."""
    dtype, _ = dtype_and_names(X)
    row = np.ones((1, X.shape[1]), dtype=dtype)
    if isinstance(X, dask_array.Array):
        return row
    return type(X._meta)(row, columns=X.columns)


class _Call:
    """A method of an estimator, as it is now, for a block, which may be empty.

    Attributes
    ----------
    estimator : estimator
        Shares arrays with the one that was given; steps of a stream replace them.
    method : str
    none : array
        What the method gives for no rows, which tells the dtype and the width of all.
    """

    def __init__(self, estimator, method, row):
        self.estimator, self.method = copy(estimator), method
        self.none = self._values(row)[:0]

    def _values(self, rows):
        return np.asarray(getattr(self.estimator, self.method)(rows))

    def __call__(self, block):
        """Give what the method gives for a block."""
        return self._values(block) if block.shape[0] else self.none


def _called(block, call):
    return call(block)

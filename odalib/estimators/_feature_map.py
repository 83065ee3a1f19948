"""What one level of a multi-resolution estimator sees of the rows."""

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

__all__ = ["FeatureMap"]


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """What one level sees of the rows.

    Functions and transformers are given rows of their own, which they may overwrite
    or keep.

    Attributes
    ----------
    place : int
        In the list of resolutions; messages name it.
    source : object
        As the user gave it.
    columns : array of int, slice or None
    feature_names : array of str or None
        Names of the columns, where X has any.
    function : callable, fitted transformer or None
        Of rows; None before the map has been bound.
    width : int or None
        Number of features it gave when it was bound.
    """

    place: int
    source: Any
    columns: np.ndarray | slice | None
    feature_names: Any = None
    function: Any = None
    width: int | None = None

    @classmethod
    def of(cls, place, source, feature_names):
        """Map of a resolution, or None where it sees all features.

        Parameters
        ----------
        feature_names : array of str or None
            Names of the columns, where X has any.

        Raises
        ------
        ValueError
            For what is neither columns, nor a function, nor a transformer.
        """
        if source is None:
            return None
        if isinstance(source, type):
            raise ValueError(
                f"resolutions[{place}] is the class {source.__name__}; give an "
                "instance of it."
            )
        if hasattr(source, "transform") or callable(source):
            return cls(place, source, None, feature_names)
        columns = source
        if not isinstance(source, slice):
            columns = _column_numbers(place, source, feature_names)
        return cls(place, source, columns)

    @property
    def name(self):
        """What messages call the features."""
        return f"the output of resolutions[{self.place}]"

    def bind(self, rows, weights=None):
        """Map that is ready for use, its transformer fitted to the rows if need be.

        Parameters
        ----------
        rows : array or CSR matrix of shape (n, d)
        weights : array of shape (n,), default=None
            For the fit of a transformer that takes them.
        """
        bound = self
        if self.columns is not None:
            self._check_mask(rows.shape[1])
        else:
            bound = replace(self, function=self._fitted(rows, weights))
        return replace(bound, width=bound(rows).shape[1])

    def _fitted(self, rows, weights):
        """Give the function, or the transformer, fitted to rows if need be."""
        if self.is_ready:
            return self.source

        def fit():
            transformer = clone(self.source, safe=False)
            weighted = {}
            # Rows without weights are fitted as a user who gave none would.
            if weights is not None and (weights != 1.0).any():
                weighted = _weight_params(transformer, weights)
            return transformer.fit(_own(rows), **weighted)

        return self._guarded(fit)

    @property
    def is_ready(self):
        """Whether the map needs no rows to be fitted to."""
        if self.columns is not None or not hasattr(self.source, "transform"):
            return True
        try:
            self.source.__sklearn_tags__()
        except AttributeError:
            # Not of scikit-learn's making: what it has learnt ends in an underscore.
            return any(
                name.endswith("_") and not name.startswith("_")
                for name in vars(self.source)
            )
        try:
            check_is_fitted(self.source)
        except NotFittedError:
            return False
        return True

    def _check_mask(self, n_features):
        """Refuse a mask that is not of the width of the rows."""
        if isinstance(self.source, slice):
            return
        mask = np.asarray(self.source)
        if mask.dtype.kind == "b" and mask.size != n_features:
            raise ValueError(
                f"resolutions[{self.place}] is a mask of {mask.size} columns, but X "
                f"has {n_features}."
            )

    def __call__(self, rows):
        """Features of the rows.

        Raises
        ------
        ValueError
            Where the map fails, gives another number of rows or features, or values
            that are not finite; the resolution is named.
        """
        if self.columns is not None:
            given = self._guarded(lambda: rows[:, self.columns])
        else:
            function = getattr(self.function, "transform", self.function)
            given = self._guarded(lambda: function(self._handed(rows)))
        seen = self._guarded(
            lambda: check_array(
                given,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                order="C",
                input_name=self.name,
            )
        )
        if seen.shape[0] != rows.shape[0]:
            raise ValueError(
                f"resolutions[{self.place}] ({self.source!r}) gave {seen.shape[0]} "
                f"rows for {rows.shape[0]}; a feature map keeps the number of rows."
            )
        if self.width is not None and seen.shape[1] != self.width:
            raise ValueError(
                f"resolutions[{self.place}] ({self.source!r}) gave {seen.shape[1]} "
                f"features, and {self.width} when it was fitted."
            )
        return seen

    def _handed(self, rows):
        """Rows as the map takes them: a frame where it was fitted to one."""
        own = _own(rows)
        has_names = hasattr(self.source, "feature_names_in_")
        if self.feature_names is None or not has_names or sp.issparse(own):
            return own
        return _as_frame(own, self.feature_names)

    def _guarded(self, call):
        try:
            return call()
        except Exception as error:
            raise ValueError(
                f"resolutions[{self.place}] ({self.source!r}) failed: {error}"
            ) from error


def _own(rows):
    """Copy that may be overwritten, in the same layout."""
    return rows.copy() if sp.issparse(rows) else rows.copy(order="K")


def _as_frame(rows, names):
    """Make a data frame of the rows, where a library that has them is installed."""
    for library, keyword in (("pandas", "columns"), ("polars", "schema")):
        try:
            frame = import_module(library).DataFrame
        except ImportError:
            continue
        return frame(rows, **{keyword: list(names)})
    return rows


def _weight_params(transformer, weights):
    """Arguments that bring weights to ``fit``; none where it does not take them.

    Steps of a pipeline are asked one by one, or, where metadata are routed, as they
    requested.
    """
    if not isinstance(transformer, Pipeline):
        takes = has_fit_parameter(transformer, "sample_weight")
        return {"sample_weight": weights} if takes else {}
    if get_config()["enable_metadata_routing"]:
        routing = get_routing_for_object(transformer)
        takes = routing.consumes("fit", {"sample_weight"})
        return {"sample_weight": weights} if takes else {}
    return {
        f"{name}__{key}": value
        for name, step in transformer.steps
        if hasattr(step, "fit")
        for key, value in _weight_params(step, weights).items()
    }


def _column_numbers(place, source, feature_names):
    """Columns as numbers, from numbers, names or a mask."""
    columns = np.asarray(source)
    if columns.ndim == 0:
        columns = columns[np.newaxis]
    if columns.ndim == 1 and columns.size and columns.dtype.kind in "iub":
        return np.flatnonzero(columns) if columns.dtype.kind == "b" else columns
    if columns.ndim == 1 and columns.size and columns.dtype.kind in "UO":
        names = [] if feature_names is None else list(feature_names)
        missing = [name for name in columns.tolist() if name not in names]
        if not missing:
            return np.array([names.index(name) for name in columns.tolist()])
        raise ValueError(
            f"resolutions[{place}] names columns that X does not have: {missing}."
        )
    raise ValueError(
        f"resolutions[{place}] must be None, column numbers or names, a mask, a slice, "
        f"a function or a transformer, got {source!r}."
    )

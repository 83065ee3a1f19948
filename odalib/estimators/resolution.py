"""Resolutions: the features that a multi-resolution estimator sees at each level."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from odalib.inference.annealing.schedule import OPEN_NUMBER

__all__ = ["FeatureMap", "Resolution", "as_resolutions"]


class Resolution(BaseEstimator):
    """Features of one level of a multi-resolution estimator, and how far it grows.

    An element of the parameter ``resolutions``; a feature map alone stands for a
    `Resolution` with no limits of its own.

    Parameters
    ----------
    features : object, default=None
        What the level sees of the rows: None for all features; a list of column
        numbers or names, a boolean mask or a slice; a function of X; or a
        transformer, which is fitted where it is not yet, on the rows of ``fit`` or the
        first rows of a stream. Cloning, as cross-validation does, takes the fit away
        again; `sklearn.frozen.FrozenEstimator` keeps it.
    n_codevectors : int, default=None
        Largest number of codevectors of the level. None for the number that the
        estimator asks for at the last level, and before it for a number of the
        geometric series to that one: from its cube root, since few codevectors near
        the root cost the divergence less than many, or for a classifier from the
        number of classes.
    max_temperature : float, default=None
        Temperature at which the level begins, in units of its divergence. None for
        just above the first critical one.
    min_temperature : float, default=None
        The level ends before it gets colder than this.

    See Also
    --------
    ODAClusterer : Clustering with resolutions.
    ODAClassifier : Classification with resolutions.
    ODARegressor : Regression with resolutions.

    Examples
    --------
    >>> import numpy as np
    >>> from odalib import Resolution, ODAClusterer
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> coarse = Resolution([0, 1], n_codevectors=3)
    >>> clusterer = ODAClusterer(9, resolutions=[coarse, None]).fit(X)
    >>> clusterer.tree_.n_codevectors
    [3, 9]
    """

    def __init__(
        self,
        features=None,
        *,
        n_codevectors=None,
        max_temperature=None,
        min_temperature=None,
    ):
        self.features = features
        self.n_codevectors = n_codevectors
        self.max_temperature = max_temperature
        self.min_temperature = min_temperature


def as_resolutions(resolutions, number):
    """Resolutions with a number of codevectors each.

    Parameters
    ----------
    resolutions : list
        As a user gives them.
    number : int
        Of codevectors at the last, where that has none of its own.

    Returns
    -------
    list of (Resolution, int)
        `OPEN_NUMBER` where the number follows from the last.

    Raises
    ------
    ValueError
        For no resolutions, for limits that are out of range, and where a resolution
        has fewer codevectors than the one before; the place in the list is named.
    """
    if isinstance(resolutions, str | bytes) or not hasattr(resolutions, "__iter__"):
        raise ValueError(
            "resolutions must be a list of feature maps from coarse to fine, got "
            f"{resolutions!r}."
        )
    listed = [
        item if isinstance(item, Resolution) else Resolution(item)
        for item in resolutions
    ]
    if not listed:
        raise ValueError("resolutions is empty; give feature maps, or None for none.")
    for place, item in enumerate(listed):
        _check_limits(place, item)
    numbered, least = [], 1
    for place, item in enumerate(listed):
        own = item.n_codevectors or OPEN_NUMBER
        if place == len(listed) - 1:
            own = own or number
        if own != OPEN_NUMBER:
            if own < least:
                raise ValueError(
                    f"resolutions[{place}] has {own} codevectors, fewer than the "
                    f"{least} of the one before, each of which has a child at least."
                )
            least = own
        numbered.append((item, own))
    return numbered


def _check_limits(place, item):
    number = item.n_codevectors
    if number is not None and (
        isinstance(number, bool | np.bool_)
        or not isinstance(number, Integral)
        or number < 1
    ):
        raise ValueError(
            f"n_codevectors of resolutions[{place}] must be a positive integer or "
            f"None, got {number!r}."
        )
    for name in ("max_temperature", "min_temperature"):
        value = getattr(item, name)
        if value is not None and not value > 0:
            raise ValueError(
                f"{name} of resolutions[{place}] must be positive or None, got "
                f"{value!r}."
            )


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """What one level sees of the rows.

    Attributes
    ----------
    place : int
        In the list of resolutions; messages name it.
    source : object
        As the user gave it.
    function : callable or None
        Of rows; None before the map has been bound.
    width : int or None
        Number of features it gave when it was bound.
    """

    place: int
    source: Any
    columns: np.ndarray | None
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
        if hasattr(source, "transform") or callable(source):
            return cls(place, source, None)
        columns = source
        if not isinstance(source, slice):
            columns = _column_numbers(place, source, feature_names)
        return cls(place, source, columns)

    def bind(self, rows):
        """Map that is ready for use, its transformer fitted to the rows if need be."""
        if self.columns is not None:
            self._check_mask(rows.shape[1])
            bound = FeatureMap(self.place, self.source, self.columns)
        else:
            bound = FeatureMap(self.place, self.source, None, self._fitted(rows))
        seen = bound(rows)
        return FeatureMap(
            bound.place, bound.source, bound.columns, bound.function, seen.shape[1]
        )

    def _fitted(self, rows):
        """Give the function of rows, fitted to them if need be."""
        if not hasattr(self.source, "transform"):
            return self.source
        if self.is_ready:
            return self.source.transform
        return self._guarded(lambda: clone(self.source, safe=False).fit(rows)).transform

    @property
    def is_ready(self):
        """Whether the map needs no rows to be fitted to."""
        if self.columns is not None or not hasattr(self.source, "transform"):
            return True
        try:
            check_is_fitted(self.source)
        except NotFittedError:
            return False
        except AttributeError:
            # Not of scikit-learn's making: what it has learnt ends in an underscore.
            return any(
                name.endswith("_") and not name.startswith("_")
                for name in vars(self.source)
            )
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
            given = self._guarded(lambda: self.function(rows))
        name = f"the output of resolutions[{self.place}]"
        seen = self._guarded(
            lambda: check_array(
                given,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                input_name=name,
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

    def _guarded(self, call):
        try:
            return call()
        except Exception as error:
            raise ValueError(
                f"resolutions[{self.place}] ({self.source!r}) failed: {error}"
            ) from error


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

"""Resolutions: the features that a multi-resolution estimator sees at each level."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from odalib.estimators._persistence import Versioned
from odalib.inference.annealing.schedule import OPEN_NUMBER

__all__ = ["Resolution", "as_resolutions", "temperatures_of"]

# Of a temperature: its reciprocal is a float.
LEAST = float(np.finfo(np.float64).tiny)


class Resolution(Versioned, BaseEstimator):
    """Features of one level of a multi-resolution estimator, and how far it grows.

    An element of the parameter ``resolutions``; a feature map alone stands for a
    `Resolution` with no limits of its own.

    Parameters
    ----------
    features : object, default=None
        What the level sees of the rows: None for all features; a list of column
        numbers or names, a boolean mask or a slice; a function of X; or a
        transformer, which is fitted where it is not yet, on the rows of ``fit`` or the
        first rows of a stream, and on their weights if its ``fit`` takes them. Cloning,
        as cross-validation does, takes the fit away again;
        `sklearn.frozen.FrozenEstimator` keeps it.
    n_codevectors : int, default=None
        Largest number of codevectors of the level. None for a number of the geometric
        series to that of the last level: from its cube root, since few codevectors
        near the root cost the divergence less than many, or for a classifier from the
        number of classes. The last level has the number that the estimator asks for,
        and takes no other.
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
        Of codevectors at the last.

    Returns
    -------
    list of (Resolution, int)
        `OPEN_NUMBER` where the number follows from the last.

    Raises
    ------
    ValueError
        For no resolutions, for limits that are out of range, where a resolution has
        fewer codevectors than the one before, and where the last has a number of its
        own; the place in the list is named.
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
    if listed[-1].n_codevectors is not None:
        raise ValueError(
            f"resolutions[{len(listed) - 1}] is the last and cannot have "
            f"n_codevectors={listed[-1].n_codevectors} of its own: leave it out, and "
            "set the number of codevectors of the estimator."
        )
    numbered, least = [], 1
    for place, item in enumerate(listed):
        own = item.n_codevectors or OPEN_NUMBER
        if place == len(listed) - 1:
            own = number
        if own != OPEN_NUMBER:
            if own < least:
                raise ValueError(
                    f"resolutions[{place}] has {own} codevectors, fewer than the "
                    f"{least} of the one before, each of which has a child at least."
                )
            least = own
        numbered.append((item, own))
    return numbered


def temperatures_of(resolution, estimator, of_what=""):
    """Temperatures between which a resolution anneals, None for open ends.

    Parameters
    ----------
    resolution : Resolution
    estimator : estimator
        Has those that the resolution leaves open.
    of_what : str
        The resolution, where a message names it.

    Returns
    -------
    first, last : float or None

    Raises
    ------
    ValueError
        Where the first is below the last, or one has no finite reciprocal.
    """
    first = resolution.max_temperature or estimator.max_temperature
    last = resolution.min_temperature or estimator.min_temperature
    for name, value in (("max_temperature", first), ("min_temperature", last)):
        if value is not None and value < LEAST:
            raise ValueError(
                f"{name}={value!r}{of_what} must be at least {LEAST:.3g}: exponents "
                "are divided by temperatures."
            )
    if first is not None and last is not None and first < last:
        raise ValueError(
            f"max_temperature={first!r}{of_what} is below min_temperature={last!r}; "
            "annealing cools from the first to the second."
        )
    return first, last


def _check_limits(place, item):
    if isinstance(item.features, Resolution):
        raise ValueError(
            f"resolutions[{place}] is a Resolution of a Resolution; give the features "
            "of the inner one."
        )
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
        if value is not None and not (_is_number(value) and 0.0 < value < np.inf):
            raise ValueError(
                f"{name} of resolutions[{place}] must be a positive number or None, "
                f"got {value!r}."
            )


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)

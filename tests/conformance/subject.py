"""What a check is told about the estimator it is given, and data that suit it."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

N_FEATURES = 3
N_GROUPS = 3


@dataclass(frozen=True)
class Subject:
    """An estimator under test.

    Attributes
    ----------
    name : str
        Identifier in the test report.
    estimator : estimator
        Unfitted; the checks work on clones of it.
    domain : {"real", "non-negative", "positive", "unit", "binary"}, default="real"
        Values of the features on which the estimator is defined.
    domain_error : str, default=""
        Regular expression which the error about a value outside of the domain
        must match, besides naming the row. Empty where every number is welcome.
    order_free : bool, default=True
        Whether ``fit`` gives the same model for every order of the rows, and for
        an integer weight the model of the repeated row. False for estimators
        that read their rows once, in the order of arrival.
    homogeneous : bool, default=True
        Whether multiplying X by a power of two changes nothing but the scale.
    in_units : callable, default=no parameters
        Parameters that mean for X times a factor what the estimator's mean for X.
    shift_free : bool, default=False
        Whether adding a number to every entry of X changes nothing but the place.
    classes_grow : bool, default=False
        Whether a classifier takes labels that it has not met before.
    sklearn_checks : bool, default=True
        Whether scikit-learn's own checks mean something for the estimator: their
        data are of both signs or, by its tag, not negative.
    as_it_comes : bool, default=True
        Whether they mean something for its class without parameters.
    cut_atol : float, default=0.0
        How far probabilities may differ between two cuts of the same stream into
        calls. Zero asks for equal bits of everything.
    streams : bool, default=True
        Whether its parameters allow ``partial_fit``, where it has that method.
    fits_calls : bool, default=False
        Whether a call of ``partial_fit`` is a fit of its rows, with what came before
        as the prior, so that one call with all rows is ``fit``.
    gathers : bool, default=True
        Whether rows may gather in a stream before the estimator learns online.
    any_width : bool, default=True
        Whether its parameters suit every number of features.
    fixed_prior : bool, default=True
        Whether the prior of what is learnt is that of the parameters, and none that
        ``fit`` chooses by the rows.
    fit_rtol : float, default=0.0
        How far fits of the same rows in another order or memory may differ, where
        that is more than rounding explains: iterations end within a tolerance.
    scale : float, default=1.0
        Factor of the entries of `groups` and `counts`. Below one for estimators with
        a prior, which entries of a hundred contradict.
    flat : bool, default=True
        Whether every row goes to the nearest of all codevectors. The cells of a tree
        nest, and the nearest leaf may be in another than that of the row.
    slow : bool, default=False
        Whether a fit of few rows takes a tenth of a second, and laws are to be tried
        on fewer examples.
    only : tuple of str, default=()
        Modules of the checks that its parameters could fail, where another subject
        stands for it in the others; empty for all.
    """

    name: str
    estimator: BaseEstimator
    domain: str = "real"
    domain_error: str = ""
    order_free: bool = True
    homogeneous: bool = True
    in_units: Callable[[float], dict] = lambda factor: {}
    shift_free: bool = False
    classes_grow: bool = False
    sklearn_checks: bool = True
    as_it_comes: bool = True
    cut_atol: float = 0.0
    streams: bool = True
    fits_calls: bool = False
    gathers: bool = True
    any_width: bool = True
    fixed_prior: bool = True
    fit_rtol: float = 0.0
    scale: float = 1.0
    flat: bool = True
    slow: bool = False
    only: tuple[str, ...] = ()

    def make(self, **params):
        """Return a fresh, unfitted clone, of a fixed seed unless told otherwise."""
        for name in self.estimator.get_params():
            if name.rpartition("__")[2] == "random_state":
                params.setdefault(name, 0)
        return clone(self.estimator).set_params(**params)

    def feed(self, model, X, y=None, **kwargs):
        """Call ``partial_fit`` as the kind of `model` takes it, and return its result.

        A classifier is told of all the classes on its first call.
        """
        if self.has("classifier") and not hasattr(model, "classes_"):
            kwargs.setdefault("classes", np.arange(N_GROUPS))
        return model.partial_fit(X, y, **kwargs)

    def beginnings(self):
        """Yield how a stream may begin: a name, and a function that makes a model.

        Estimators may gather rows before they learn online; after a fit they do not.
        """
        yield "a fresh stream", self.make
        yield "a stream after fit", lambda: copy.deepcopy(_fitted(self))

    def has(self, capability):
        """Tell whether a check that needs `capability` has something to look at.

        A capability is a method or a parameter of the estimator, a kind
        ("clusterer", "classifier", "regressor") or one of the properties below.
        """
        tags = get_tags(self.estimator)
        kind = tags.estimator_type
        properties = {
            **{name: name == kind for name in ("clusterer", "classifier", "regressor")},
            "fixed_classes": kind == "classifier" and not self.classes_grow,
            "growing_classes": kind == "classifier" and self.classes_grow,
            "sample_weight": has_fit_parameter(self.estimator, "sample_weight"),
            "sparse": tags.input_tags.sparse,
            "order_free": self.order_free,
            "fits_calls": self.fits_calls,
            "fixed_prior": self.fixed_prior,
            "cut_free": self.cut_atol == 0.0,
            "partial_fit": self.streams and hasattr(self.estimator, "partial_fit"),
            "homogeneous": self.homogeneous,
            "shift_free": self.shift_free,
            "flat": self.flat,
            "gathers": self.gathers,
            "learns_at_once": not self.gathers,
            "domain": bool(self.domain_error),
            "unbounded": self.domain not in ("unit", "binary"),
            "missing": tags.input_tags.allow_nan,
        }
        if capability in properties:
            return properties[capability]
        return (
            hasattr(self.estimator, capability)
            or capability in self.estimator.get_params()
        )

    def part(self, model, X):
        """Partition of the rows of X by what `model` predicts.

        A regressor learns the number of the group, and is rounded to one; where there
        are no predictions, every entry is filled in, given the others of its row.
        """
        if not self.has("predict"):
            return _by_filling(model, X)
        said = model.predict(X)
        return np.rint(said) if self.has("regressor") else said

    def within(self, rounding):
        """Relative tolerance of fits of the same rows, given that of their sums."""
        return max(rounding, self.fit_rtol)

    def groups(self, n_samples=120, seed=0):
        """Well separated groups of unequal shape: X (n, 3) and the group of each row.

        Rounding cannot move a row of these from one group to another.
        """
        y = np.arange(n_samples) % N_GROUPS
        return self.scale * _GROUPS[self.domain](np.random.default_rng(seed), y), y

    def cloud(self, n_samples=200, seed=0):
        """Rows without any structure, where one changed bit may change the labels."""
        X = _CLOUDS[self.domain](np.random.default_rng(seed), n_samples)
        return X, np.arange(n_samples) % N_GROUPS

    def counts(self, n_samples=120, seed=0):
        """Groups of whole numbers that fit into a byte, or of zeros and ones."""
        y = np.arange(n_samples) % N_GROUPS
        rng = np.random.default_rng(seed)
        if self.domain == "binary":
            return self.groups(n_samples, seed)
        if self.domain == "unit":
            return rng.binomial(1, _RATES[y] / 100.0).astype(float), y
        return 1.0 + rng.poisson(self.scale * _RATES[y]), y

    def outside(self, X):
        """Return a copy of X in which row 17 has left the domain."""
        bad = np.array(X)
        bad[17, 1] = _OUTSIDE[self.domain]
        return bad


@cache
def _fitted(subject):
    """Model of one fit, of which those take copies that need any fitted model."""
    return subject.make().fit(*subject.groups(seed=9))


def _by_filling(model, X):
    """Partition of rows by what the model makes of every entry, given the others."""
    filled = np.empty(X.shape)
    for column in range(X.shape[1]):
        hidden = np.array(X, dtype=np.result_type(X, np.float32))
        hidden[:, column] = np.nan
        filled[:, column] = np.rint(model.transform(hidden)[:, column])
    return np.unique(filled, axis=0, return_inverse=True)[1]


_CENTRES = np.array([[-8.0, 0.0, 1.0], [8.0, 0.5, -1.0], [0.0, 9.0, 0.0]])
_WIDTHS = np.array([0.3, 0.5, 0.4])
_RATES = np.array([[90.0, 4.0, 12.0], [5.0, 80.0, 15.0], [8.0, 11.0, 70.0]])

_GROUPS: dict[str, Callable] = {
    "real": lambda rng, y: rng.normal(_CENTRES[y], _WIDTHS[y, None]),
    "non-negative": lambda rng, y: rng.poisson(_RATES[y]).astype(float),
    "positive": lambda rng, y: rng.gamma(100.0, 0.01 * _RATES[y]),
    "unit": lambda rng, y: rng.binomial(40, _RATES[y] / 100.0) / 40.0,
    "binary": lambda rng, y: rng.binomial(1, _RATES[y] / 100.0).astype(float),
}

_CLOUDS: dict[str, Callable] = {
    "real": lambda rng, n: rng.standard_normal((n, N_FEATURES)),
    "non-negative": lambda rng, n: rng.poisson(3.0, (n, N_FEATURES)).astype(float),
    "positive": lambda rng, n: rng.gamma(2.0, 1.0, (n, N_FEATURES)),
    "unit": lambda rng, n: rng.beta(0.5, 0.5, (n, N_FEATURES)),
    "binary": lambda rng, n: rng.binomial(1, 0.5, (n, N_FEATURES)).astype(float),
}

_OUTSIDE = {"non-negative": -1.0, "positive": 0.0, "unit": 1.5, "binary": 2.0}

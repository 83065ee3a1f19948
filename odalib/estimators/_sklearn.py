"""The one place that knows which scikit-learn is installed."""

from contextlib import contextmanager
from importlib.metadata import metadata
from inspect import signature

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import _fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    validate_data,
)

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:
        """Stands in for callbacks, which this scikit-learn does not have."""

    def with_callbacks(method):
        """Return the method as it is."""
        return method


__all__ = [
    "CallbackSupportMixin",
    "DocumentationLink",
    "HasMethods",
    "Interval",
    "LevelCallbacks",
    "StrOptions",
    "as_floats",
    "check_weights",
    "fit_context",
    "refuse_collection",
    "safe_split",
    "select_params",
    "skips_validation",
    "takes_sample_weight",
    "validate_parameters",
    "validate_rows",
    "validate_structures",
    "warn_at_bounds",
    "with_callbacks",
]

fit_context = _fit_context
safe_split = _safe_split
select_params = _check_method_params


def takes_sample_weight(scorer):
    """Whether a scorer, or a callable of the user, has that parameter."""
    if hasattr(scorer, "_accept_sample_weight"):
        return scorer._accept_sample_weight()
    return "sample_weight" in signature(scorer).parameters


def skips_validation():
    """Whether scikit-learn is told to leave parameters alone.

    Within what `fit_context` decorates it is, for the sake of estimators inside.
    """
    return get_config()["skip_parameter_validation"]


def validate_parameters(estimator):
    """Validate parameters as scikit-learn does, which asks for their names anew."""
    constraints = estimator._parameter_constraints
    values = {name: getattr(estimator, name) for name in constraints}
    validate_parameter_constraints(constraints, values, type(estimator).__name__)


def refuse_collection(name, array):
    """Refuse what dask has yet to compute: to read it would pull it into memory.

    Raises
    ------
    TypeError
        Saying where to go.
    """
    if hasattr(array, "__dask_graph__"):
        raise TypeError(
            f"{name} is a collection of dask, and would be pulled into memory here. "
            "odalib.distributed fits where its blocks are and predicts block by block, "
            "odalib.streaming.fit_stream learns one block after the other, and "
            f"{name}.compute() is an array, where memory holds it."
        )


@contextmanager
def placed(name, array):
    """Say in a note of scikit-learn's error where the first NaN or infinity is."""
    try:
        yield
    except ValueError as error:
        place = None
        if "contains NaN" in str(error):
            place = _first_where(np.isnan, array)
        elif "contains infinity" in str(error):
            place = _first_where(np.isinf, array)
        if place is not None:
            error.add_note(f"The first of {name} is in {place}.")
        raise


def _first_where(condition, array):
    """Row and column, by name where there are names, of the first such number."""
    if sp.issparse(array):
        entries = array.tocoo()
        at = np.flatnonzero(condition(entries.data))
        places = np.stack([entries.row[at], entries.col[at]], axis=1)
        places = places[np.lexsort(places.T[::-1])]
    else:
        try:
            with np.errstate(over="ignore"):
                values = np.asarray(array, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        places = np.argwhere(condition(values))
    if not len(places):
        return None
    row, column = places[0].tolist()
    names = getattr(array, "columns", None)
    return f"row {row}, column {column if names is None else repr(names[column])}"


@contextmanager
def as_floats(name):
    """Within it, numbers that no float holds are refused as infinities are.

    Wider floats become infinite as they are cast, and infinities of both signs add up
    to what is no number: scikit-learn then looks at every entry, and names the fault.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except OverflowError as error:
        raise ValueError(
            f"Input {name} contains infinity or a value too large for a float; scale "
            f"{name}."
        ) from error


def check_weights(sample_weight, X):
    """Weights of the rows as float64, shape (n,).

    Raises
    ------
    ValueError
        For a wrong shape, weights that are not finite or negative, or all zero, or
        whose sum is not finite.
    """
    if sample_weight is None:
        return np.ones(X.shape[0])
    refuse_collection("sample_weight", sample_weight)
    with as_floats("sample_weight"):
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=False
        )
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise ValueError("sample_weight sums to more than a float holds; divide it.")
    if not weights.any():
        raise ValueError(
            "sample_weight is zero for every row of X; give at least one row a "
            "positive weight, or leave the call out."
        )
    return weights


def validate_rows(estimator, X, *, reset, missing=False, finite=True):
    """Rows as a finite float64 or float32 array or CSR matrix; never copied needlessly.

    With ``missing`` they may hold NaN; without ``finite`` it may be left to whoever
    reads them to see that they are.

    Raises
    ------
    ValueError
        As scikit-learn does for NaN, infinity, and features that differ from those
        of the fit.
    """
    if reset or not (_is_formed(estimator, X) and (not finite or _has_finite_sum(X))):
        refuse_collection("X", X)
        with placed("X", X), as_floats("X"):
            X = validate_data(
                estimator,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite="allow-nan" if missing else True,
            )
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _is_formed(estimator, X):
    """Whether rows are arrays of whose form scikit-learn has nothing to say.

    Its checks cost as much as learning from a thousand rows.
    """
    return (
        type(X) in (np.ndarray, sp.csr_array, sp.csr_matrix)
        and X.ndim == 2
        and X.dtype in (np.float64, np.float32)
        and X.dtype.isnative
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    )


def _has_finite_sum(X):
    # Where a sum of finite numbers is not finite, scikit-learn looks at them all.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite((X.data if sp.issparse(X) else X).sum()))


def validate_structures(estimator, X, *, reset):
    """Rows for a kernel: finite floats, or whatever a kernel of structures takes."""
    refuse_collection("X", X)
    kernel = estimator.kernel
    if kernel is None or kernel.requires_vector_input:
        with placed("X", X), as_floats("X"):
            return validate_data(
                estimator, X, reset=reset, dtype=[np.float64, np.float32]
            )
    return validate_data(estimator, X, reset=reset, ensure_2d=False, dtype=None)


def warn_at_bounds(kernel):
    """Warn, as scikit-learn does, where hyperparameters ended near their bounds."""
    kernel._check_bounds_params()


class DocumentationLink:
    """Mixin: the HTML representation links to the documentation of odalib."""

    _doc_link_module = "odalib"

    @property
    def _doc_link_template(self):
        # The address of the project is in pyproject.toml, and nowhere else.
        address = metadata("odalib")["Project-URL"].partition(", ")[2]
        return f"{address}/api/generated/odalib.{{estimator_name}}.html"


class LevelCallbacks:
    """Calls scikit-learn's callbacks once per level of a fit.

    Parameters
    ----------
    estimator : estimator
    X : array-like
    sample_weight : array-like or None
    """

    def __init__(self, estimator, X, sample_weight):
        self.estimator = estimator
        self.data = {"X": X, "metadata": {"sample_weight": sample_weight}}
        self.root = None
        if getattr(estimator, "_skl_callbacks", None) or hasattr(
            estimator, "_parent_callback_ctx"
        ):
            self.root = estimator._init_callback_context(max_subtasks=None)
            self.root.call_on_fit_task_begin(estimator=estimator, **self.data)

    def level(self, fitted):
        """Tell the callbacks of a level; ``fitted()`` gives the fitted attributes.

        Returns
        -------
        stop : bool
            Whether a callback asks to stop.
        """
        if self.root is None:
            return False
        context = self.root.subcontext(task_name="temperature level")
        context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return context.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=fitted, **self.data
        )

    def end(self, fitted):
        """Tell the callbacks that the fit has ended."""
        if self.root is not None:
            self.root.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=fitted, **self.data
            )

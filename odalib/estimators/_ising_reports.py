"""What a fit of a pairwise model refuses, and what it warns of."""

import warnings

from sklearn.exceptions import ConvergenceWarning

from odalib.inference.ep.solvers.double_loop import LARGEST as MOST_IN_DOUBLE_LOOP
from odalib.inference.pairwise.exact import MOST_SPINS
from odalib.inference.pairwise.incomplete_fit import MOST_DRIFT

__all__ = [
    "refuse_inference",
    "warn_of_columns",
    "warn_of_correction",
    "warn_of_fit",
    "warn_of_inference",
]

# Pair corrections of the log partition function, in nats, from which on what is left
# after them is no longer small.
LARGE_CORRECTION = 0.4


def refuse_inference(method, n_columns):
    """Refuse methods that cannot serve so many columns.

    Parameters
    ----------
    method : str
        Of `odalib.infer_ising`.
    n_columns : int

    Raises
    ------
    ValueError
    """
    if method == "exact" and n_columns > MOST_SPINS:
        raise ValueError(
            f"inference='exact' enumerates the states of at most {MOST_SPINS} columns, "
            f"and X has {n_columns}. Use inference='auto', which is exact where that "
            "can be had and approximate elsewhere."
        )
    if method == "double_loop" and n_columns > MOST_IN_DOUBLE_LOOP:
        raise ValueError(
            f"inference='double_loop' takes at most {MOST_IN_DOUBLE_LOOP} columns, and "
            f"X has {n_columns}. Use inference='auto'."
        )


def warn_of_columns(spins, names):
    """Warn of columns in which no value or one only was observed."""
    ones, others = (spins == 1).any(axis=0), (spins == -1).any(axis=0)
    for found, what, why in (
        (
            ones != others,
            "never vary",
            "Their fields are finite by the penalty alone, and they say little of "
            "other columns.",
        ),
        (
            ~(ones | others),
            "were never observed",
            "Both of their values are taken for equally probable, whatever the others "
            "are.",
        ),
    ):
        if found.any():
            shown = ", ".join(repr(str(name)) for name in names[found][:5])
            more = ", ..." if found.sum() > 5 else ""
            warnings.warn(
                f"Columns that {what}: {shown}{more}. {why}", UserWarning, stacklevel=6
            )


def warn_of_fit(completed, max_iter):
    """Warn where a fit did not meet its tolerance."""
    fit = completed.fit
    if not fit.converged:
        advice = "Allow more iterations, or a larger alpha."
        if fit.n_iter < max_iter:
            advice = "Rounding allows no less; take a larger tol."
        warnings.warn(
            f"The fit did not converge: after {fit.n_iter} iterations the gradient is "
            f"{fit.gradient:.3g} per row. {advice}",
            ConvergenceWarning,
            stacklevel=6,
        )
    if completed.drift > MOST_DRIFT:
        warnings.warn(
            "The fit to incomplete rows did not converge: after "
            f"{completed.n_rounds} rounds of filling them a parameter still drifts, by "
            f"{completed.drift:.2g} of its standard deviations. Too little was "
            "observed of some column or pair; use a larger alpha, or leave out "
            "columns that are mostly missing.",
            ConvergenceWarning,
            stacklevel=6,
        )


def warn_of_inference(inferred):
    """Warn where inference did not converge."""
    if not inferred.converged:
        warnings.warn(
            f"Inference by {inferred.method!r} did not converge: {inferred.failure}. "
            "log_partition_ is not known. Use a larger alpha"
            f"{another_method(inferred.method)}.",
            ConvergenceWarning,
            stacklevel=6,
        )


def warn_of_correction(correction, *, stacklevel):
    """Warn where pairs correct the log partition function by much.

    Parameters
    ----------
    correction : float
    stacklevel : int
    """
    if abs(correction) >= LARGE_CORRECTION:
        warnings.warn(
            "log_partition_ is approximate: treating pairs of columns exactly changes "
            f"it by {correction:.2g} nats, and a good part of that may still be "
            "missing. Differences between scores of models that are smaller than that "
            "mean nothing. Use a larger alpha, or at most "
            f"{MOST_SPINS} columns, for which it is exact.",
            UserWarning,
            stacklevel=stacklevel,
        )


def another_method(method):
    """Advice of a method that has not just failed, to go on with."""
    if method == "double_loop":
        return ", or inference='tap'"
    return f", or inference='double_loop' (up to {MOST_IN_DOUBLE_LOOP} columns)"

"""What the estimators built on expectation propagation publish, warn of and share."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._decomposition import probit_margins
from odalib.estimators._multiclass import BaseProbitClassifier
from odalib.estimators._state import on_one_state

__all__ = ["BasePropagation"]


class BasePropagation(BaseProbitClassifier):
    """Base of the classifiers whose fit ends with sites and cavities.

    What is fitted holds the ``_dtype`` of the rows.
    """

    def _loo_moments(self):
        """Latent mean and variance of the training rows, each left out.

        Returns
        -------
        mean, variance : array of shape (n, n_problems)
        """
        raise NotImplementedError

    @on_one_state
    def loo_predict_proba(self):
        """Probability of every class for the rows of the last call, each left out.

        From the cavities that expectation propagation ends with: the posterior
        without one copy of the row, as nearly as that can be had without a refit. Up
        to five rows that change their own probability by more than 0.05 are looked at
        more closely.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of the rows and of ``classes_``.
        """
        check_is_fitted(self)
        margins = probit_margins(*self._loo_moments())
        return self._decomposition.probit_probabilities(margins).astype(self._dtype)

    def _of_report(self, report, depth):
        """Fitted attributes that tell how inference went, and warn where it failed.

        The warning is of the line that called the method ``depth`` calls above.
        """
        inferences = report.inferences
        stuck = [i for i in inferences if i is not None and not i.converged]
        if stuck:
            worst = max(stuck, key=lambda inference: inference.residuals[-1])
            what = (
                "The variational approximation"
                if worst.solver == "variational"
                else "Expectation propagation"
            )
            warnings.warn(
                f"{what} did not converge in {len(stuck)} of "
                f"{len(inferences)} problems: after {worst.n_iter} iterations of "
                f"solver {worst.solver!r} the residual is {worst.residuals[-1]:.3g}. "
                "Allow more iterations, scale the features, or use solver='auto'.",
                ConvergenceWarning,
                stacklevel=depth + 1,
            )
        return {
            "site_precision_": report.precision,
            "site_shift_": report.shift,
            "n_iter_": np.array([0 if i is None else i.n_iter for i in inferences]),
            "converged_": not stuck,
            "residuals_": [[] if i is None else i.residuals for i in inferences],
            "solver_": [None if i is None else i.solver for i in inferences],
        }

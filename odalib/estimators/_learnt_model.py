"""What a pairwise model that has been learnt says of rows."""

import warnings
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.base import (
    BaseEstimator,
    DensityMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._binary import from_magnetisations, to_spins
from odalib.estimators._sklearn import check_weights, validate_rows
from odalib.estimators._threads import single_threaded_blas
from odalib.inference.pairwise.conditioning import corrected_inference, infer_missing
from odalib.inference.pairwise.gibbs import gibbs_sample

__all__ = ["BaseLearntModel", "Edge"]

# Chains whose R-hat is larger have not met.
MIXED = 1.05


class Edge(NamedTuple):
    """Two columns and their coupling.

    Attributes
    ----------
    first, second : str
        Names of the columns.
    coupling : float
    """

    first: str
    second: str
    coupling: float


class BaseLearntModel(
    OneToOneFeatureMixin, TransformerMixin, DensityMixin, BaseEstimator
):
    """Base of an estimator whose fit ends with couplings and fields of spins.

    What is fitted holds the ``_stream`` of couplings and fields, the ``_coding`` of
    the data, their ``_dtype`` and ``_fit_converged``.
    """

    def score_samples(self, X):
        """Log probability of rows, in nats.

        A sum over the columns: it falls with their number. Of a row with missing
        entries, the log probability of those that are not.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in the coding of the fit, NaN where an entry is missing.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples,)
            At most zero where the log partition function is exact.

        Raises
        ------
        ValueError
            Where inference has not converged, so that the partition function is not
            known.
        """
        _, conditioned = self._condition(X)
        if np.isnan(self.log_partition_) or conditioned.n_failed:
            raise ValueError(
                "The log partition function is not known, as "
                f"inference={self.inference!r} did not converge. Use a larger alpha, "
                "or inference='double_loop' (up to 500 columns)."
            )
        return conditioned.log_weights - self._inferred.log_partition

    def score(self, X, y=None, sample_weight=None):
        """Mean log probability of rows, in nats.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As for `score_samples`.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the mean.

        Returns
        -------
        score : float
            Sum over the columns, mean over the rows.
        """
        found = self.score_samples(X)
        weights = None if sample_weight is None else check_weights(sample_weight, X)
        return float(np.average(found, weights=weights))

    def transform(self, X):
        """Fill missing entries with their expected values, given the rest of their row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in the coding of the fit, NaN where an entry is missing.

        Returns
        -------
        filled : ndarray of shape (n_samples, n_features)
            In the coding of the data: the probability P of a 1 where that is {0, 1},
            ``2 P - 1`` where it is {-1, +1}. Binarised data are 0 and 1 unless
            ``coding`` says otherwise.
        """
        check_is_fitted(self)
        return self._filled(X, self._coding, depth=3)

    def predict_proba_missing(self, X):
        """Probability that an entry is the larger of the two values of the coding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in the coding of the fit, NaN where an entry is missing.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_features)
            Given the rest of the row where the entry is missing; 0 or 1 where it is
            not.
        """
        return self._filled(X, "zero_one", depth=2)

    def sample(self, n_samples=1, *, n_chains=32, burn_in=1000):
        """Draw rows by Gibbs sampling, in several chains.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        n_chains : int, default=32
            Independent chains, which begin far from each other. Each gives as many
            rows.
        burn_in : int, default=1000
            Sweeps over all columns before the first row is taken. The rows are spread
            over as many sweeps, or more.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Rows in the coding of the data.
        r_hat : ndarray of shape (n_features,)
            Of every column, how far chains disagree: near one where they have
            forgotten where they began.

        Raises
        ------
        ValueError
            For numbers that are not positive.

        Warns
        -----
        ConvergenceWarning
            Where ``r_hat`` exceeds 1.05.
        """
        check_is_fitted(self)
        if n_samples < 1 or n_chains < 1 or burn_in < 4:
            raise ValueError(
                f"n_samples={n_samples} and n_chains={n_chains} must be at least 1, "
                f"and burn_in={burn_in} at least 4."
            )
        drawn = gibbs_sample(
            self._stream.couplings,
            self._stream.fields,
            n_samples,
            self._generator(),
            n_chains=n_chains,
            burn_in=burn_in,
        )
        worst = int(np.argmax(drawn.r_hat))
        if drawn.r_hat[worst] > MIXED:
            warnings.warn(
                f"The chains have not met: R-hat is {drawn.r_hat[worst]:.3g} in column "
                f"{self.get_feature_names_out()[worst]!r}. Increase burn_in.",
                ConvergenceWarning,
                stacklevel=2,
            )
        rows = from_magnetisations(drawn.spins, self._coding, self._dtype)
        return rows, drawn.r_hat

    def edges(self, k=None, *, feature_names=None):
        """List the pairs of columns with the strongest couplings.

        Parameters
        ----------
        k : int, default=None
            How many; None for all whose coupling is not zero.
        feature_names : sequence of str of length n_features, default=None
            Names of the columns; None for those of the fit, or x0, x1, ...

        Returns
        -------
        edges : list of Edge
            Named tuples ``(first, second, coupling)``, by falling strength. A data
            frame is made of them as they are.

        Raises
        ------
        ValueError
            For another number of names.
        """
        check_is_fitted(self)
        names = self.get_feature_names_out()
        if feature_names is not None and len(feature_names) != len(names):
            raise ValueError(
                f"feature_names has {len(feature_names)} names for {len(names)} "
                "columns."
            )
        names = names if feature_names is None else feature_names
        first, second = np.triu_indices(len(names), 1)
        couplings = self.coupling_[first, second]
        order = np.argsort(-np.abs(couplings), kind="stable")
        order = order[couplings[order] != 0.0][:k]
        return [
            Edge(str(names[first[i]]), str(names[second[i]]), float(couplings[i]))
            for i in order
        ]

    @property
    def log_partition_(self):
        """Log partition function."""
        check_is_fitted(self)
        return float(self._inferred.log_partition)

    @property
    def magnetisations_(self):
        """Expected spins under the model."""
        check_is_fitted(self)
        return self._inferred.magnetisations.astype(self._dtype)

    @property
    def correlations_(self):
        """Covariances of spins under the model."""
        check_is_fitted(self)
        return self._inferred.correlations.astype(self._dtype)

    @property
    def converged_(self):
        """Whether the fit and inference met their tolerances."""
        check_is_fitted(self)
        return bool(self._fit_converged and self._inferred.converged)

    @cached_property
    def _inferred(self):
        """Marginals of the model; in a stream, when they are first asked for."""
        with single_threaded_blas():
            return corrected_inference(
                self._stream.couplings, self._stream.fields, self.inference
            )

    def _condition(self, X):
        """Rows with what is missing in them inferred."""
        check_is_fitted(self)
        rows = validate_rows(self, X, reset=False, missing=True)
        spins = to_spins(rows, self._coding, self.binarize)
        with single_threaded_blas():
            found = infer_missing(
                spins, self._stream.couplings, self._stream.fields, self.inference
            )
        return rows.dtype, found

    def _filled(self, X, coding, depth):
        """Fill rows, and write them in a coding; warn ``depth`` calls above."""
        dtype, conditioned = self._condition(X)
        if conditioned.n_failed:
            warnings.warn(
                f"Inference by {self.inference!r} did not converge in "
                f"{conditioned.n_failed} rows with missing entries. Use a larger "
                "alpha, or inference='double_loop' (up to 500 columns).",
                ConvergenceWarning,
                stacklevel=depth + 1,
            )
        return from_magnetisations(conditioned.magnetisations, coding, dtype)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

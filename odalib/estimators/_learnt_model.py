"""What a pairwise model that has been learnt says of rows."""

import warnings
from functools import cached_property
from numbers import Integral
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
from odalib.estimators._ising_reports import another_method, warn_of_correction
from odalib.estimators._persistence import Versioned
from odalib.estimators._scores import weighted_mean
from odalib.estimators._sklearn import validate_rows
from odalib.estimators._state import on_one_state
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
    OneToOneFeatureMixin, TransformerMixin, DensityMixin, Versioned, BaseEstimator
):
    """Base of an estimator whose fit ends with couplings and fields of spins.

    What is fitted holds the ``_stream`` of couplings and fields, the ``_coding`` of
    the data, their ``_dtype``, ``_fit_converged``, the parameters of the fit that are
    ``_fixed`` and the method of ``_inference``.
    """

    @on_one_state
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
            At most zero where the log partition function is exact, as it is up to 24
            columns. Beyond, all rows can be off by one amount, much of the pair
            correction, of which `fit` warns where it is 0.4 nats or more: scores of
            two models that differ by less then do not tell which is better.

        Raises
        ------
        ValueError
            Where inference has not converged, of the whole model or in a row with
            gaps, so that the partition function is not known.
        """
        _, conditioned = self._condition(X)
        advice = f"Use a larger alpha{another_method(self._inference)}, in a new fit."
        if np.isnan(self.log_partition_):
            raise ValueError(
                "The log partition function is not known, as "
                f"inference={self._inference!r} did not converge. {advice}"
            )
        if len(conditioned.failed):
            raise ValueError(
                f"The log probabilities of {_listed(conditioned.failed)} are not "
                f"known, as inference={self._inference!r} did not converge given what "
                f"they hold. {advice}"
            )
        return conditioned.log_weights - self._inferred.log_partition

    @on_one_state
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
        if sample_weight is None:
            return float(np.average(found))
        return weighted_mean(found, sample_weight)

    @on_one_state
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
        return self._filled(X, self._coding, depth=4)

    @on_one_state
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
        return self._filled(X, "zero_one", depth=3)

    @on_one_state
    def sample(self, n_samples=1, *, n_chains=32, burn_in=1000):
        """Draw rows by Gibbs sampling, in several chains.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        n_chains : int, default=32
            Independent chains, which begin far from each other. Each gives as many
            rows. At least two, as one has none to agree with.
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
            For numbers that are too small, or not whole.

        Warns
        -----
        ConvergenceWarning
            Where ``r_hat`` exceeds 1.05.
        """
        check_is_fitted(self)
        _check_whole("n_samples", n_samples, 1)
        _check_whole("n_chains", n_chains, 2)
        _check_whole("burn_in", burn_in, 4)
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

    @on_one_state
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
            For another number of names, and for a ``k`` that is no number of edges.
        """
        check_is_fitted(self)
        if k is not None:
            _check_whole("k", k, 0)
        names = self.get_feature_names_out()
        if feature_names is not None and len(feature_names) != len(names):
            raise ValueError(
                f"feature_names has {len(feature_names)} names and X has "
                f"{len(names)} columns; give one for each."
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
    @on_one_state
    def log_partition_(self):
        """Log partition function."""
        check_is_fitted(self)
        return float(self._inferred.log_partition)

    @property
    @on_one_state
    def magnetisations_(self):
        """Expected spins under the model."""
        check_is_fitted(self)
        return self._inferred.magnetisations.astype(self._dtype)

    @property
    @on_one_state
    def correlations_(self):
        """Covariances of spins under the model; NaN where inference failed."""
        check_is_fitted(self)
        return self._inferred.correlations.astype(self._dtype)

    @property
    @on_one_state
    def converged_(self):
        """Whether the fit and inference met their tolerances."""
        check_is_fitted(self)
        return bool(self._fit_converged and self._inferred.converged)

    @cached_property
    def _inferred(self):
        """Marginals of the model; in a stream, when they are first asked for."""
        with single_threaded_blas():
            inferred, correction = corrected_inference(
                self._stream.couplings, self._stream.fields, self._inference
            )
        warn_of_correction(correction, stacklevel=6)
        return inferred

    def _condition(self, X):
        """Rows with what is missing in them inferred."""
        check_is_fitted(self)
        rows = validate_rows(self, X, reset=False, missing=True)
        spins = to_spins(rows, self._coding, self._fixed["binarize"])
        with single_threaded_blas():
            found = infer_missing(
                spins, self._stream.couplings, self._stream.fields, self._inference
            )
        return rows.dtype, found

    def _filled(self, X, coding, depth):
        """Fill rows, and write them in a coding; warn ``depth`` calls above."""
        dtype, conditioned = self._condition(X)
        if len(conditioned.failed):
            warnings.warn(
                f"Inference by {self._inference!r} did not converge in "
                f"{_listed(conditioned.failed)} with missing entries. Use a larger "
                f"alpha{another_method(self._inference)}, in a new fit.",
                ConvergenceWarning,
                stacklevel=depth + 1,
            )
        return from_magnetisations(conditioned.magnetisations, coding, dtype)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_stream")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _listed(rows):
    """Name the first of some rows, and their number."""
    shown = ", ".join(str(row) for row in rows[:5])
    more = f", ... ({len(rows)} rows)" if len(rows) > 5 else ""
    return f"{'row' if len(rows) == 1 else 'rows'} {shown}{more}"


def _check_whole(name, value, least):
    """Refuse what is not a whole number of at least so many."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number, at least {least}.")

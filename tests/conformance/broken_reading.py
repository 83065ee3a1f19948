"""Estimators with one fault each in how they read rows, dense, sparse or bad."""

import numpy as np
from sklearn.utils.validation import validate_data

from . import checks_input, checks_refusal
from .stand_in import StandIn, caught_by


@caught_by(checks_input.check_memory_layout_does_not_matter, "Fortran")
class ReadsMemoryInItsOrder(StandIn):
    def _read(self, X, reset=False):
        X = super()._read(X, reset)
        return X.ravel(order="K").reshape(X.shape)


@caught_by(checks_input.check_memory_maps_are_read, "read-only", ValueError)
class WorksInPlace(StandIn):
    def _read(self, X, reset=False):
        X = super()._read(X, reset)
        X += 0.0
        return X


@caught_by(checks_input.check_whole_numbers_are_numbers, "uint8")
class SquaresBytes(StandIn):
    def _sum(self, sums, X, weight):
        X = X.astype(np.uint8) if self._bytes else X
        return super()._sum(sums, X, weight)

    def _read(self, X, reset=False):
        self._bytes = getattr(X, "dtype", None) == np.uint8
        return super()._read(X, reset)


@caught_by(checks_input.check_float32_is_kept, "fit: ")
class WidensToDouble(StandIn):
    def _place(self, dtype):
        super()._place(np.float64)


@caught_by(checks_input.check_float32_agrees_with_float64, "float32")
class RoundsToHalfPrecision(StandIn):
    def _read(self, X, reset=False):
        X = super()._read(X, reset)
        return X if X.dtype == np.float64 else X.astype(np.float16).astype(X.dtype)


@caught_by(checks_input.check_dtypes_may_alternate, "Buffer dtype", ValueError)
class WantsTheDtypeOfFit(StandIn):
    def transform(self, X):
        if self._read(X).dtype != self.cluster_centers_.dtype:
            raise ValueError("Buffer dtype mismatch")
        return super().transform(X)


@caught_by(checks_input.check_containers_do_not_matter, "list")
class OverlooksAListOfWeights(StandIn):
    def _weigh(self, sample_weight, X):
        is_list = isinstance(sample_weight, list)
        return super()._weigh(None if is_list else sample_weight, X)


@caught_by(
    checks_input.check_sparse_rows_give_what_dense_rows_give, "csr_array out of order"
)
class KeepsTheLastDuplicate(StandIn):
    def _read(self, X, reset=False):
        if getattr(X, "format", "") == "csr":
            rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            dense = np.zeros(X.shape, X.dtype)
            dense[rows, X.indices] = X.data
            X = dense
        return super()._read(X, reset)


@caught_by(checks_input.check_sparse_and_dense_batches_alternate, "sparse among dense")
class SkipsSparseBatches(StandIn):
    def partial_fit(self, X, y=None, sample_weight=None):
        skip = hasattr(X, "tocsr") and hasattr(self, "_sums")
        return self if skip else super().partial_fit(X, y, sample_weight)


@caught_by(checks_input.check_inputs_are_left_alone, "written to")
class CentresInPlace(StandIn):
    def _sum(self, sums, X, weight):
        weight /= weight.mean()
        return super()._sum(sums, X, weight)


@caught_by(checks_input.check_inputs_are_left_alone, "written to")
class TidiesTheCallersSparseRows(StandIn):
    def _read(self, X, reset=False):
        if getattr(X, "format", "") == "csr":
            X.sum_duplicates()
        return super()._read(X, reset)


@caught_by(
    checks_refusal.check_values_that_are_no_numbers_are_refused, "score was accepted"
)
class ScoresAnything(StandIn):
    def score(self, X, y=None, sample_weight=None):
        return 0.0


@caught_by(
    checks_refusal.check_values_outside_of_the_domain_are_named,
    "does not say",
    domain="positive",
    domain_error="not above 0",
)
class DoesNotNameTheRow(StandIn):
    def _read(self, X, reset=False):
        X = super()._read(X, reset)
        if (X <= 0).any():
            raise ValueError("X is not above 0.")
        return X


@caught_by(
    checks_refusal.check_values_outside_of_the_domain_are_named,
    "predict was accepted",
    domain="positive",
    domain_error="not above 0",
)
class PredictsOutsideOfTheDomain(StandIn):
    lower_bound = 0

    def predict(self, X):
        return super().predict(np.abs(X) + 1.0)


@caught_by(checks_refusal.check_bad_weights_are_refused, "negative weights in fit")
class TakesNegativeWeights(StandIn):
    def _weigh(self, sample_weight, X):
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        return super()._weigh(np.maximum(weight, 0.0), X)


@caught_by(checks_refusal.check_a_refused_batch_changes_nothing, "n_features_in_")
class ChecksOnItself(StandIn):
    def partial_fit(self, X, y=None, sample_weight=None):
        validate_data(self, X, reset=not hasattr(self, "_sums"), accept_sparse=True)
        return super().partial_fit(X, y, sample_weight)


@caught_by(checks_refusal.check_a_refused_batch_changes_nothing, "_sums")
class LearnsUntilItStumbles(StandIn):
    def partial_fit(self, X, y=None, sample_weight=None):
        for rows in np.array_split(X, 4) if np.ndim(X) == 2 and len(X) > 3 else [X]:
            super().partial_fit(rows, y)
        return self


@caught_by(checks_refusal.check_columns_of_other_names_change_nothing, "was accepted")
class ForgetsTheNames(StandIn):
    def partial_fit(self, X, y=None, sample_weight=None):
        return super().partial_fit(np.asarray(X), y, sample_weight)


@caught_by(checks_refusal.check_huge_values_are_answered_or_refused, "not finite")
class Overflows(StandIn):
    def _read(self, X, reset=False):
        return validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)

    def _learn(self, X, sample_weight, fresh):
        with np.errstate(over="ignore", invalid="ignore"):
            return super()._learn(X, sample_weight, fresh)

    def transform(self, X):
        with np.errstate(over="ignore", invalid="ignore"):
            return super().transform(X)

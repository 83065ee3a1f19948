"""What the distributed annealing estimators share: rounds in place of passes."""

from dataclasses import replace
from operator import add

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils import check_random_state

from odalib.distributed._blocks import Blocks
from odalib.distributed._ground import distant_ground
from odalib.distributed._sampling import draw_evenly
from odalib.distributed._thin import DistributedEstimator
from odalib.estimators._sklearn import validate_parameters
from odalib.estimators._state import draws_to_take_back
from odalib.estimators._threads import single_threaded_blas
from odalib.inference.annealing.batch import Batch, join
from odalib.inference.annealing.bregman import (
    check_counts,
    check_range,
    check_weighted_squares,
)
from odalib.inference.annealing.fit import SAMPLE_SIZE, fit_on
from odalib.inference.annealing.grown import fit_layers
from odalib.inference.annealing.layer import Layer
from odalib.inference.annealing.local.base import NO_CELLS, LocalModels, Partition
from odalib.inference.annealing.local.folds import N_PARTS, PART_ROWS
from odalib.inference.annealing.stream import Stream

__all__ = ["DistributedAnnealer"]

# Rows that local models are tuned on: as many as a fit in memory tunes on, of many.
TUNING_ROWS = N_PARTS * PART_ROWS


class DistributedAnnealer(DistributedEstimator):
    """Base of the distributed annealing estimators."""

    def _fit(self, X, y, sample_weight):
        """Fitted estimator of the collections."""
        take_back = draws_to_take_back(self.estimator.random_state)
        try:
            return self._annealed(X, y, sample_weight)
        except BaseException:
            take_back()
            raise

    def _annealed(self, X, y, sample_weight):
        """Fitted estimator; the generator goes on, also where that fails."""
        estimator = clone(self.estimator)
        validate_parameters(estimator)
        self._check_parameters(estimator)
        blocks = Blocks.of(X, y, sample_weight, self.client)
        _check_sizes(blocks, has_targets=y is not None)
        blocks, learnt = self._with_targets(estimator, blocks.usable(), y)
        # A generator goes on from fit to fit: of that which was given, not of a copy.
        seed = check_random_state(self.estimator.random_state).randint(2**31)
        settings = estimator._settings(seed)
        n_jobs = effective_n_jobs(estimator.n_jobs)
        with single_threaded_blas():
            if blocks.n_rows <= SAMPLE_SIZE:
                layers = fit_layers(_gathered(blocks), settings, n_jobs)
            else:
                layers = (self._layer(blocks, settings, n_jobs),)
        dtype = blocks.dtype.type
        learnt["_state"] = Stream(settings, dtype, layers, blocks.total_weight)
        learnt["n_features_in_"] = blocks.n_features
        if blocks.feature_names is not None:
            learnt["feature_names_in_"] = blocks.feature_names
        estimator._warn(layers)
        vars(estimator).update(learnt, _parameters=estimator._current())
        self._note_costs(blocks)
        return estimator

    def _check_parameters(self, estimator):
        """Refuse what needs rows in memory."""
        if estimator.resolutions is not None:
            raise ValueError(
                "resolutions are annealed in memory only, by the estimators of odalib "
                "itself; leave them out here."
            )

    def _with_targets(self, estimator, blocks, y):
        """Blocks whose targets can be learnt, and attributes that they set."""
        return blocks, {}

    def _layer(self, blocks, settings, n_jobs):
        """Layer of rows that are not gathered."""
        spec = settings.local_models
        if type(spec) is not LocalModels:
            sample = draw_evenly(blocks, TUNING_ROWS, spec.by_class, settings.seed)
            settings = spec.tuned(sample, settings, n_jobs)
            spec = settings.local_models
        annealed = replace(settings, divergence=spec.divergence(settings.divergence))
        ground = self._ground(blocks, annealed, n_jobs)
        solution = fit_on(ground, annealed)
        partition = Partition.of(solution.divergence, solution.codebook, solution.shift)
        codebook, cells, census = self._learnt(blocks, settings, solution, partition)
        weight = blocks.total_weight
        return Layer(settings, solution, codebook, cells, census, 0, weight)

    def _ground(self, blocks, settings, n_jobs):
        """Find what the rows anneal on."""
        return distant_ground(blocks, settings, n_jobs)

    def _learnt(self, blocks, settings, solution, partition):
        """Codebook, local models and census that all rows make."""
        return solution.codebook, NO_CELLS, None


def _check_sizes(blocks, has_targets):
    """Raise ValueError where entries or weights overflow or vanish in sums."""
    largest = np.array([[blocks.largest]], dtype=blocks.dtype)
    check_range(largest)
    weights = blocks.weights_at_the_ends
    check_weighted_squares(largest, weights)
    if has_targets:
        check_counts(weights)


def _gathered(blocks):
    """Batch of all rows, which are no more than anneal in any case."""
    return join(blocks.reduce(_as_batches, combine=add))


def _as_batches(block):
    rows, targets, weights = block
    return [Batch(rows, weights, targets)]

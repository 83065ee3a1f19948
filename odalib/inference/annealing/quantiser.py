"""A codebook with its divergence and temperature: everything a prediction needs."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from odalib.inference.annealing.bregman import BregmanDivergence
from odalib.inference.annealing.codebook import Codebook, assign
from odalib.inference.annealing.groups import parents_of
from odalib.inference.annealing.rows import RowBlocks
from odalib.kernels import annealing as kernels

__all__ = ["Quantiser"]


@dataclass(frozen=True)
class Quantiser:
    """Codevectors in the units of the data, and how to compare rows with them.

    Attributes
    ----------
    divergence : BregmanDivergence
        Bound to the training rows.
    codevectors : array of shape (K, d)
        In the dtype of the training rows.
    weights : array of shape (K,)
    groups : array of int of shape (K,) or None
    shift : array of shape (d,) or None
        Subtracted from rows and codevectors before they are compared.
    temperature : float
    """

    divergence: BregmanDivergence
    codevectors: np.ndarray
    weights: np.ndarray
    groups: np.ndarray | None
    shift: np.ndarray | None
    temperature: float

    @classmethod
    def of(cls, partition, temperature, dtype):
        """Quantiser that publishes the codevectors of a partition."""
        codebook, shift = partition.codebook, partition.shift
        points = codebook.points if shift is None else codebook.points + shift
        return cls(
            partition.divergence,
            points.astype(dtype),
            codebook.weights,
            codebook.groups,
            shift,
            temperature,
        )

    def restricted(self, kept):
        """Quantiser of the codevectors in the index array ``kept``."""
        weights = self.weights[kept]
        return replace(
            self,
            codevectors=self.codevectors[kept],
            weights=weights / weights.sum(),
            groups=None if self.groups is None else self.groups[kept],
        )

    @property
    def n_codevectors(self):
        """Number of codevectors."""
        return len(self.weights)

    @cached_property
    def codebook(self):
        """The codebook in shifted coordinates, float64."""
        points = self.codevectors.astype(np.float64)
        if self.shift is not None:
            points -= self.shift
        return Codebook(points, self.weights, self.groups)

    @cached_property
    def _planes(self):
        """Gradients and offsets of the codebook."""
        return self.codebook.planes(self.divergence)

    @cached_property
    def _by_parent(self):
        """The codebook, its groups the cells at the resolution above."""
        return replace(self.codebook, groups=parents_of(self.codebook.groups))

    def assign(self, X, n_jobs, parents=None):
        """Nearest codevector of every row, and the divergence from it: two (n,).

        Of the children of its cell, where the cells at the resolution above are given.
        """
        rows, codebook = self._comparable(X, n_jobs, parents)
        if parents is not None:
            codebook = self._by_parent
        labels, affinity = assign(rows, self.divergence, codebook, self._planes)
        divergence = np.maximum(rows.phi(self.divergence) - affinity, 0.0)
        return rows.restore(labels), rows.restore(divergence)

    def divergences(self, X, n_jobs):
        """Divergence of every row from every codevector, shape (n, K).

        A divergence is never negative; where rounding makes it so it is zero.
        """
        rows, codebook = self._comparable(X, n_jobs)
        gradients, offsets = codebook.planes(self.divergence)
        result = np.empty((X.shape[0], len(codebook)), dtype=X.dtype)

        def on_block(block, span):
            affinity = kernels.negative_divergence(block, gradients, offsets)
            np.subtract(self.divergence.phi(block), affinity, out=affinity)
            result[span] = np.maximum(affinity, 0.0, out=affinity).T

        rows.map(on_block, len(codebook))
        return result

    def association(self, X, n_jobs, *, log=False):
        """Gibbs association at the temperature, or its logarithm, shape (n, K)."""
        rows, codebook = self._comparable(X, n_jobs)
        result = np.empty((X.shape[0], len(codebook)), dtype=X.dtype)

        def on_block(block, span):
            values, _ = kernels.gibbs_association(
                block, *self._mixture(codebook), log=log
            )
            result[span] = values.T

        rows.map(on_block, len(codebook))
        return result

    def association_of_children(self, X, parents, n_jobs):
        """Logarithm of the association with the children of each parent, (n, K).

        Parameters
        ----------
        parents : array of int of shape (K,)
            Codevectors with the same are associated with rows as if there were no
            others.
        """
        rows, codebook = self._comparable(X, n_jobs)
        gradients, offsets, log_weights, beta = self._mixture(codebook)
        result = np.empty((X.shape[0], len(codebook)), dtype=X.dtype)
        order = np.argsort(parents, kind="stable")
        _, starts, counts = np.unique(
            parents[order], return_index=True, return_counts=True
        )

        def on_block(block, span):
            logits = kernels.negative_divergence(
                block, beta * gradients, beta * offsets - log_weights
            )[order]
            logits -= np.repeat(np.maximum.reduceat(logits, starts), counts, axis=0)
            sums = np.log(np.add.reduceat(np.exp(logits), starts))
            logits -= np.repeat(sums, counts, axis=0)
            result[span, order] = logits.T

        rows.map(on_block, len(codebook))
        return result

    def log_density(self, X, n_jobs):
        """Log density of the rows under the mixture at the temperature, shape (n,).

        In the dtype of the rows.

        ``log sum_i rho_i exp(-d(x, mu_i) / T)`` plus the normaliser where the
        divergence has one.
        """
        rows, codebook = self._comparable(X, n_jobs)
        parts = rows.map(
            lambda block, _: kernels.gibbs_association(block, *self._mixture(codebook))[
                1
            ],
            len(codebook),
        )
        base = rows.phi(self.divergence) / self.temperature
        normaliser = self.divergence.log_normaliser(self.temperature, X.shape[1])
        return (np.concatenate(parts) - base + normaliser).astype(X.dtype, copy=False)

    def _mixture(self, codebook):
        gradients, offsets = codebook.planes(self.divergence)
        return gradients, offsets, np.log(codebook.weights), 1.0 / self.temperature

    def _comparable(self, X, n_jobs, parents=None):
        """Rows and codebook in common coordinates."""
        rows = RowBlocks(X, np.ones(X.shape[0]), self.shift, n_jobs, parents)
        return rows, self.codebook

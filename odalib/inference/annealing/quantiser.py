"""A codebook with its divergence and temperature: everything a prediction needs."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.bregman import BregmanDivergence
from odalib.inference.annealing.codebook import Codebook
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

    def nearest(self, X, n_jobs, parents=None):
        """Nearest codevector of every row, shape (n,), as `assign` has it."""
        rows, parts = self._nearest(X, n_jobs, parents)
        return rows.restore(np.concatenate([labels for labels, _ in parts]))

    def assign(self, X, n_jobs, parents=None):
        """Nearest codevector of every row, and the divergence from it: two (n,).

        Of the children of its cell, where the cells at the resolution above are given.
        """
        rows, parts = self._nearest(X, n_jobs, parents)
        labels, affinity = (
            rows.restore(np.concatenate(part)) for part in zip(*parts, strict=True)
        )
        centred, _ = self._comparable(X, n_jobs)
        return labels, np.maximum(centred.phi(self.divergence) - affinity, 0.0)

    def _nearest(self, X, n_jobs, parents):
        """Rows, and the nearest codevectors and ``phi(x) - d(x, mu)`` of each block."""
        codebook = self.codebook if parents is None else self._by_parent
        # Kernels centre dense rows themselves.
        shift, after = (self.shift, None) if sp.issparse(X) else (None, self.shift)
        weights = np.broadcast_to(1.0, X.shape[0])
        rows = RowBlocks(X, weights, shift, n_jobs, parents)
        gradients, offsets = self._planes

        def on_block(block, span):
            members = codebook.members(rows.group(span))
            labels, affinity = kernels.nearest(
                block, gradients[members], offsets[members], after
            )
            own = labels if isinstance(members, slice) else members[labels]
            return own, affinity

        return rows, rows.map(on_block, codebook.width)

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

    def association_of_children(self, X, parents, above, n_jobs, *, log):
        """Association of rows with parents and, given these, with their children.

        Parameters
        ----------
        parents : array of int of shape (K,)
            Codevectors with the same are associated with rows as if there were no
            others.
        above : array of shape (n, n_parents)
            Association with the parents, or its logarithm.
        log : bool
            Whether it is the logarithm, and the result is.

        Returns
        -------
        association : array of shape (n, K)
            In float64.
        """
        rows, codebook = self._comparable(X, n_jobs)
        gradients, offsets, log_weights, beta = self._mixture(codebook)
        result = np.empty((X.shape[0], len(codebook)))
        families = [(p, np.flatnonzero(parents == p)) for p in np.unique(parents)]
        combine = np.add if log else np.multiply

        def on_block(block, span):
            parts = np.empty((len(codebook), block.shape[0]))
            of_parents = np.ascontiguousarray(above[span].T)
            for parent, own in families:
                part, _ = kernels.gibbs_association(
                    block,
                    gradients[own],
                    offsets[own],
                    log_weights[own],
                    beta,
                    log=log,
                )
                parts[own] = combine(part, of_parents[parent], out=part)
            result[span] = parts.T

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

    def _comparable(self, X, n_jobs):
        """Rows and codebook in common coordinates."""
        rows = RowBlocks(X, np.ones(X.shape[0]), self.shift, n_jobs)
        return rows, self.codebook

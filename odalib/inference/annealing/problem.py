"""Rows, their divergence and random numbers, and what all passes share."""

from functools import cached_property

import numpy as np

from odalib.inference.annealing.codebook import (
    Codebook,
    collect_cells,
    collect_moments,
)
from odalib.inference.annealing.draws import row_phases, uniforms_of
from odalib.inference.annealing.hard_step import hard_step
from odalib.kernels import annealing as kernels

__all__ = ["Problem"]


class Problem:
    """An annealing problem in memory.

    Parameters
    ----------
    rows : RowBlocks
    divergence : BregmanDivergence
    seed : int
        Of the random numbers of the rows.

    Attributes
    ----------
    mean : array of shape (d,)
    phi : array of shape (n,)
    total_phi : float
        Weighted sum of ``phi``; the part of every distortion that no codebook
        changes.
    direction : array of shape (d,)
        A random direction; where power iterations start for symmetric cells.
    """

    def __init__(self, rows, divergence, seed):
        self.rows = rows
        self.divergence = divergence
        self.phi = rows.phi(divergence)
        self.total_phi = float(rows.row_weights @ self.phi)
        self.mean, self._scale = rows.mean_and_scale()
        self._seed = seed
        self.direction = np.random.default_rng(seed).standard_normal(rows.n_features)

    @cached_property
    def signs(self):
        """Random numbers in (-1, 1] of the rows; where power iterations start."""
        return 2.0 * self.uniforms(0) - 1.0

    @cached_property
    def _phases(self):
        # Rows that are all equal draw alike at any scale.
        scale = self._scale or 1.0
        parts = self.rows.map(
            lambda block, _: row_phases(block, self.mean, scale, self._seed), 1
        )
        return np.concatenate(parts)

    def first_codebook(self):
        """One codevector at the mean of the rows, or of each of their groups."""
        groups = self.rows.groups
        if groups is None:
            return Codebook(self.mean[np.newaxis], np.ones(1))
        present, labels = np.unique(groups, return_inverse=True)
        cells = collect_cells(self.rows, labels, len(present))
        return Codebook(
            cells.total / cells.weight[:, np.newaxis],
            cells.weight / cells.weight.sum(),
            present,
        )

    def uniforms(self, turn):
        """Random numbers in (0, 1] of the rows; others for every turn."""
        return uniforms_of(self._phases, turn)

    def moments(self, codebook, temperature, multipliers=None):
        """Moments under the codebook, see `collect_moments`."""
        return collect_moments(
            self.rows, self.divergence, codebook, temperature, multipliers
        )

    def hard_step(self, codebook, n_codevectors):
        """Cells of a hard assignment, none empty, see `hard_step.hard_step`."""
        return hard_step(self, codebook, n_codevectors)

    def losses(self, codebook, labels):
        """``d(x, mu_label)`` of every row, shape (n,)."""
        gradients, offsets = codebook.planes(self.divergence)
        linear = self.rows.map(
            lambda block, span: kernels.own_products(block, gradients, labels[span]),
            len(codebook),
        )
        return self.phi + offsets[labels] - np.concatenate(linear)

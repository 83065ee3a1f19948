"""Classification: codevectors that carry a class, and how they vote."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from odalib.inference.annealing.divergences import Mahalanobis
from odalib.inference.annealing.groups import (
    MAX_CLASSES,
    group_codes,
    members_by_parent,
)
from odalib.inference.annealing.local.base import (
    Cells,
    beyond_rounding,
    nearest_size,
    rise_of_spread,
)
from odalib.inference.annealing.rows import RowBlocks
from odalib.inference.annealing.stochastic import step_size
from odalib.kernels import annealing as kernels

__all__ = [
    "Vote",
    "class_logits",
    "learnt_precision",
    "log_softmax",
    "spread_sums",
]

# A vote becomes colder or warmer by this factor where that has predicted better over
# so many rows of a stream.
FACTOR, TRIAL_ROWS = 2.0**0.5, 1024.0
# Stands for minus infinity where that would be subtracted from itself.
LOWEST = -1e300
# Directions of less variance than this part of the mean carry no more weight.
LEAST_VARIANCE = 1e-10


@dataclass(frozen=True)
class Vote(Cells):
    """How the codevectors of a partition vote for classes.

    ``log p(c | x)`` is, up to a constant, the logarithm of the sum over codevectors
    of class c of ``rho_i exp(-d(x, mu_i) / T)`` (``'bayes'``), or minus the least
    ``d(x, mu_i) / T`` (``'nearest'``), at the temperature ``T = spread / coldness``.

    Attributes
    ----------
    decision : {'nearest', 'bayes'}
    coldness : float
        Mean divergence of rows from the nearest codevector of their class, over the
        temperature.
    shrinkage : float or None
        Divergences are taken in the metric of the rows about these codevectors,
        shrunk this much towards the identity; None takes the divergence of the
        partition.
    within : array of shape (d, d) or None
        Covariance of the rows about the nearest codevector of their class.
    spread : float
        Mean divergence from it.
    weight : float
        Of the rows behind these two.
    by_size : tuple of (int, str, float or None, float)
        Number of codevectors, and decision, shrinkage and coldness for about as many.
    trial : tuple of float
        Loss of a colder, this and a warmer vote over the rows of a trial, and their
        weight.
    """

    decision: str
    coldness: float
    shrinkage: float | None
    within: np.ndarray | None
    spread: float
    weight: float
    by_size: tuple[Any, ...] = ()
    trial: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)

    @cached_property
    def precision(self):
        """Precision of the metric, or None."""
        if self.shrinkage is None:
            return None
        return learnt_precision(self.within, self.shrinkage)

    @cached_property
    def metric(self):
        """Divergence of the metric, or None."""
        return None if self.precision is None else Mahalanobis(self.precision)

    @property
    def temperature(self):
        """Temperature of the vote, in units of its divergence."""
        spread = self.spread
        if self.precision is not None:
            spread = float(np.trace(self.precision @ self.within))
        # Where rows equal their codevectors, any temperature says the same of them.
        return (spread or 1.0) / self.coldness

    def divergence(self, partition):
        """Divergence in which rows are compared with codevectors."""
        return partition.divergence if self.metric is None else self.metric

    def affinity(self, block, partition, members):
        """``(phi(x) - d(x, mu_i)) / T`` for the codevectors ``members``, (K, n)."""
        gradients, offsets = partition.codebook.planes(self.divergence(partition))
        beta = 1.0 / self.temperature
        return kernels.negative_divergence(
            block, beta * gradients[members], beta * offsets[members]
        )

    def logits(self, affinity, codebook, members, n_classes):
        """Votes of the codevectors ``members`` for the classes, up to a constant.

        Returns
        -------
        logits : array of shape (n_classes, n)
            Minus infinity for a class that none of them has.
        """
        return class_logits(
            affinity,
            codebook.weights[members],
            codebook.groups[members] % MAX_CLASSES,
            n_classes,
            self.decision,
        )

    def learn(self, batch, partition, parents, memory, age):
        """Vote after some more rows, which it has been tried on."""
        vote = self._tried(batch, partition, parents)
        groups = group_codes(parents, batch.targets)
        rows = RowBlocks(batch.rows, batch.weights, groups=groups)
        has_metric, weight = self.within is not None, rows.total_weight
        within, spread = spread_sums(rows, partition, covariance=has_metric)
        step = step_size(weight, self.weight, memory)
        if has_metric:
            within = self.within + step * (within / weight - self.within)
        return replace(
            vote,
            within=within,
            spread=self.spread + step * (spread / weight - self.spread),
            weight=self.weight + weight,
        )

    def _tried(self, batch, partition, parents):
        """Vote at the temperature that a trial has shown to predict best."""
        groups = partition.codebook.groups
        classes = batch.targets
        n_classes = int(max((groups % MAX_CLASSES).max(), classes.max())) + 1
        losses = np.zeros(3)
        for members, own in members_by_parent(groups, parents, len(batch)):
            affinity = self.affinity(batch.rows[own], partition, members)
            truth = classes[own]
            for place, factor in enumerate((FACTOR, 1.0, 1.0 / FACTOR)):
                logits = self.logits(
                    factor * affinity, partition.codebook, members, n_classes
                )
                true = log_softmax(logits)[truth, np.arange(len(truth))]
                met = np.isfinite(true)
                losses[place] -= batch.weights[own][met] @ true[met]
        *before, weight = self.trial
        losses, weight = losses + before, weight + batch.weights.sum()
        if weight < TRIAL_ROWS:
            return replace(self, trial=(*losses.tolist(), float(weight)))
        best = (FACTOR, 1.0, 1.0 / FACTOR)[int(np.argmin(losses))]
        return replace(self, coldness=self.coldness * best, trial=(0.0,) * 4)

    def inherit(self, lineage):
        """Vote of other codevectors of the same rows."""
        return self

    def regrouped(self, lineage, before, after):
        """Vote of a coarser codebook, whose cells vary by more."""
        within, fine = self.within, before.codebook
        if within is not None:
            apart = fine.points - lineage.T @ after.codebook.points
            within = within + (apart.T * fine.weights) @ apart
        spread = self.spread + rise_of_spread(lineage, before, after)
        vote = replace(self, within=within, spread=max(spread, 0.0))
        if not self.by_size:
            return vote
        number = len(after.codebook)
        _, decision, shrinkage, coldness = nearest_size(self.by_size, number)
        return replace(vote, decision=decision, shrinkage=shrinkage, coldness=coldness)


def learnt_precision(within, shrinkage):
    """Precision of the covariance of rows in their cells, shrunk.

    ``P = (t / d) ((1 - s) W + s (t / d) I)^-1`` with ``t`` the trace of the
    covariance W of d features: the identity for ``s = 1``.
    """
    n_features = len(within)
    mean = np.trace(within) / n_features
    if mean == 0.0:
        return np.eye(n_features)
    variances, axes = np.linalg.eigh(within / mean)
    shrunk = (1.0 - shrinkage) * np.maximum(variances, LEAST_VARIANCE) + shrinkage
    return (axes / shrunk) @ axes.T


def class_logits(affinity, weights, classes, n_classes, decision):
    """Logarithms of the votes for every class, up to a constant of the row.

    Parameters
    ----------
    affinity : array of shape (K, n)
        Minus divergence over temperature, up to a constant of the row.
    weights : array of shape (K,)
    classes : array of int of shape (K,)
    n_classes : int
    decision : {'nearest', 'bayes'}

    Returns
    -------
    logits : array of shape (n_classes, n)
    """
    order = np.argsort(classes, kind="stable")
    present, starts = np.unique(classes[order], return_index=True)
    if decision == "bayes":
        affinity = affinity + np.log(weights)[:, np.newaxis]
    affinity = affinity[order]
    largest = np.maximum.reduceat(affinity, starts, axis=0)
    if decision == "bayes":
        counts = np.diff(np.append(starts, len(order)))
        affinity -= np.repeat(np.maximum(largest, LOWEST), counts, axis=0)
        np.exp(affinity, out=affinity)
        sums = np.add.reduceat(affinity, starts, axis=0)
        # A class none of whose codevectors is among those of the cell has no vote.
        largest += np.log(sums, out=np.zeros_like(sums), where=sums > 0)
    if len(present) == n_classes:
        return largest
    logits = np.full((n_classes, affinity.shape[1]), -np.inf)
    logits[present] = largest
    return logits


def log_softmax(logits):
    """Logarithms of probabilities over the first axis."""
    shifted = logits - logits.max(axis=0)
    return shifted - np.log(np.exp(shifted).sum(axis=0))


def spread_sums(rows, partition, *, covariance):
    """Sum over rows what they deviate from the nearest codevector of their class.

    Parameters
    ----------
    rows : RowBlocks
        In the coordinates of the partition, by group.
    partition : Partition
    covariance : bool

    Returns
    -------
    within : array of shape (d, d) or None
        ``sum w (x - mu)(x - mu)'``, where asked for.
    spread : float
        ``sum w d(x, mu)``.
    """
    codebook, divergence = partition.codebook, partition.divergence
    gradients, offsets = codebook.planes(divergence)

    def on_block(block, weights, span):
        members = codebook.members(rows.group(span))
        labels, affinity = kernels.nearest(block, gradients[members], offsets[members])
        spread = float(weights @ beyond_rounding(divergence.phi(block), affinity))
        if not covariance:
            return slice(None), (spread,)
        apart = block - codebook.points[members[labels]]
        return slice(None), (spread, (apart.T * weights) @ apart)

    spread, *within = rows.reduce_cells(on_block, len(codebook))
    # Rounding can make a sum of divergences of nothing negative.
    return (within[0] if covariance else None), max(spread, 0.0)

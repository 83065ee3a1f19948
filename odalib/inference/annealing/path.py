"""The annealing path: what every temperature level looked like."""

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.local.base import Partition

__all__ = ["AnnealingPath", "Level", "describe_level"]


@dataclass(frozen=True)
class Level:
    """Codebook at one temperature and what it achieves.

    Attributes
    ----------
    temperature : float
        In units of the divergence.
    codebook : Codebook
    distortion : float
        Mean expected divergence ``D`` under the Gibbs association.
    entropy : float
        Mean entropy ``H`` of the association of a row, in nats.
    free_energy : float
        ``-T`` times the mean of ``log sum_i rho_i exp(-d(x, mu_i) / T)``, which
        equals ``D - T H - T sum_i E[p_i] log rho_i``.
    n_passes : int
        Passes over the rows so far.
    n_samples : float
        Weight of the rows consumed so far, every pass counted.
    """

    temperature: float
    codebook: Codebook
    distortion: float
    entropy: float
    free_energy: float
    n_passes: int
    n_samples: float


def describe_level(temperature, codebook, divergence, moments, total_phi, n_passes):
    """Level from the moments that were collected under the codebook."""
    weight = moments.weight.sum()
    gradients, offsets = codebook.planes(divergence)
    linear = np.einsum("ij,ij->", gradients, moments.total)
    distortion = (total_phi + offsets @ moments.weight - linear) / weight
    free_energy = (total_phi - temperature * moments.log_normaliser) / weight
    prior = xlogy(moments.weight, codebook.weights).sum() / weight
    return Level(
        temperature=float(temperature),
        codebook=codebook,
        distortion=float(distortion),
        entropy=float((distortion - free_energy) / temperature - prior),
        free_energy=float(free_energy),
        n_passes=n_passes,
        n_samples=float(n_passes * weight),
    )


class AnnealingPath:
    """Levels of an annealing run, hot to cold.

    Attributes
    ----------
    temperature : array of shape (n_levels,)
        In units of the divergence.
    n_codevectors : array of int of shape (n_levels,)
    distortion : array of shape (n_levels,)
        Mean expected divergence of a row.
    entropy : array of shape (n_levels,)
        Mean entropy of the association of a row, in nats.
    free_energy : array of shape (n_levels,)
        ``-T`` times the mean of ``log sum_i rho_i exp(-d(x, mu_i) / T)``.
    n_samples : array of shape (n_levels,)
        Weight of the rows consumed up to the level.
    codebooks : list of arrays of shape (n_codevectors, n_features)
        Codevectors, in the units of the data.
    weights : list of arrays of shape (n_codevectors,)
    groups : list of arrays of int of shape (n_codevectors,), or of None
        Index of the class of each codevector, for a classifier.
    """

    def __init__(self, levels, divergence, shift):
        def column(name):
            return np.array([getattr(level, name) for level in levels], dtype=float)

        self.temperature = column("temperature")
        self.distortion = column("distortion")
        self.entropy = column("entropy")
        self.free_energy = column("free_energy")
        self.n_samples = column("n_samples")
        partitions = [
            Partition.of(divergence, level.codebook, shift) for level in levels
        ]
        self.codebooks = [
            one.codebook.points + (0.0 if one.shift is None else one.shift)
            for one in partitions
        ]
        self.weights = [one.codebook.weights for one in partitions]
        self.groups = [one.codebook.groups for one in partitions]

    @property
    def n_codevectors(self):
        """Number of codevectors of every level, shape (n_levels,)."""
        return np.array([len(weights) for weights in self.weights], dtype=int)

    def __len__(self):
        return len(self.temperature)

    def __repr__(self):
        if not len(self):
            return "AnnealingPath(0 levels)"
        return (
            f"AnnealingPath({len(self)} levels, temperature "
            f"{self.temperature[0]:.3g} to {self.temperature[-1]:.3g}, "
            f"{self.n_codevectors[0]} to {self.n_codevectors.max()} codevectors)"
        )

"""A fitted codebook with its path: what an estimator publishes."""

from dataclasses import dataclass, replace

import numpy as np

from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.fit import smallest_above
from odalib.inference.annealing.path import AnnealingPath
from odalib.inference.annealing.quantiser import Quantiser

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """A codebook, the path that led to it, and codebooks of every smaller size.

    Attributes
    ----------
    quantiser : Quantiser
    path : AnnealingPath
    hierarchy : list of Codebook
        Large to small, in shifted coordinates.
    n_iter : int
    n_seen : float
    converged : bool
    stop_reason : str
    plateau_strength : float or None
    """

    quantiser: Quantiser
    path: AnnealingPath
    hierarchy: list[Codebook]
    n_iter: int
    n_seen: float
    converged: bool
    stop_reason: str
    plateau_strength: float | None

    @classmethod
    def from_solution(cls, solution, dtype, n_seen):
        """Model of a fit in memory, codevectors in the dtype of the rows."""
        return cls(
            Quantiser.from_codebook(
                solution.divergence,
                solution.codebook,
                solution.shift,
                solution.temperature,
                dtype,
            ),
            AnnealingPath(solution.levels, solution.shift),
            solution.hierarchy,
            solution.n_passes,
            n_seen,
            solution.converged,
            solution.stop_reason,
            solution.plateau_strength,
        )

    def with_codebook(self, codebook, temperature):
        """Model of another codebook at another temperature on the same path."""
        old = self.quantiser
        new = Quantiser.from_codebook(
            old.divergence, codebook, old.shift, temperature, old.codevectors.dtype
        )
        return replace(self, quantiser=new)

    def at_size(self, n_codevectors, name="n_clusters"):
        """Model of a number of codevectors.

        Parameters
        ----------
        n_codevectors : int
        name : str, default='n_clusters'
            What messages call it.

        Raises
        ------
        ValueError
            Where the path holds no codebook of that size.
        """
        if n_codevectors == len(self.quantiser.weights):
            return self
        largest = len(self.hierarchy[0])
        least = len(self.hierarchy[-1])
        if not least <= n_codevectors <= largest:
            raise ValueError(
                f"{name}={n_codevectors} is not on the path, which holds {least} to "
                f"{largest} codevectors; fit with a larger number."
            )
        codebook = smallest_above(
            self.hierarchy, n_codevectors, self.quantiser.divergence
        )
        # The coldest level that needs no more codevectors.
        reached = np.flatnonzero(self.path.n_codevectors <= n_codevectors)
        grown = np.flatnonzero(self.path.n_codevectors > n_codevectors)
        if len(grown):
            reached = reached[reached < grown[0]]
        level = reached[-1] if len(reached) else 0
        return self.with_codebook(codebook, self.path.temperature[level])

    def at_temperature(self, temperature):
        """Model of the coldest level that is not colder than the temperature.

        Raises
        ------
        ValueError
            For temperatures below the last level's.
        """
        path = self.path
        coldest = path.temperature[-1]
        if not temperature >= coldest:
            raise ValueError(
                f"temperature={temperature!r} is below the last level of the path, "
                f"{coldest:.6g}."
            )
        level = max(int((path.temperature >= temperature).sum()) - 1, 0)
        points = path.codebooks[level].astype(np.float64)
        if self.quantiser.shift is not None:
            points = points - self.quantiser.shift
        codebook = Codebook(points, path.weights[level], path.groups[level])
        return self.with_codebook(codebook, path.temperature[level])

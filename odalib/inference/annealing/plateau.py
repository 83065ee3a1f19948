"""The number of codevectors that lasts over the widest range of temperatures."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Plateau", "longest_plateau"]


@dataclass(frozen=True)
class Plateau:
    """A run of levels with one number of codevectors.

    Attributes
    ----------
    n_codevectors : int
    temperature : float
        Of its last level.
    strength : float
        Its length over log temperature as a multiple of the next longest run's;
        infinite where there is no other.
    """

    n_codevectors: int
    temperature: float
    strength: float


def longest_plateau(levels, largest):
    """Longest run of one number of codevectors over log temperature.

    One codevector is the answer only where there are never more: its run has no
    hot end. A run that the end of the path cuts short counts as far as it goes.

    Parameters
    ----------
    levels : list of Level
        Hot to cold.
    largest : int
        Larger numbers are not taken.

    Returns
    -------
    Plateau
    """
    temperature = np.array([level.temperature for level in levels])
    number = np.array([len(level.codebook) for level in levels])
    starts = np.flatnonzero(np.diff(number, prepend=0))
    lasts = np.append(starts[1:], len(number)) - 1
    ends = np.minimum(lasts + 1, len(number) - 1)
    # Of the quotient, which a change of units leaves as it is, ties included.
    lengths = np.log(temperature[starts] / temperature[ends])
    candidates = np.flatnonzero((number[starts] > 1) & (number[starts] <= largest))
    if len(candidates) == 0:
        candidates = np.array([0])
    ranked = candidates[np.argsort(-lengths[candidates], kind="stable")]
    best = ranked[0]
    strength = np.inf
    if len(ranked) > 1 and lengths[ranked[1]] > 0:
        strength = float(lengths[best] / lengths[ranked[1]])
    return Plateau(int(number[starts[best]]), levels[lasts[best]].temperature, strength)

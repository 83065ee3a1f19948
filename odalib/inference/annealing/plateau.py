"""The number of codevectors that lasts over the widest range of temperatures."""

import numpy as np

__all__ = ["longest_plateau"]


def longest_plateau(levels):
    """Longest run of one number of codevectors over log temperature.

    The run at one codevector has no upper end, and is not a candidate unless it
    is the only one.
    """
    temperature = np.array([level.temperature for level in levels])
    number = np.array([len(level.codebook) for level in levels])
    starts = np.flatnonzero(np.r_[True, np.diff(number) != 0])
    ends = np.r_[starts[1:], len(number) - 1]
    length = np.log(temperature[starts] / temperature[ends])
    order = np.argsort(-length)
    best = order[0]
    return int(number[starts[best]]), temperature[ends[best]], 1.0

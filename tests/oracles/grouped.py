"""Annealing of rows that fall into groups, row by row in plain Python.

A row knows the codevectors of its group only. The divergence enters as ``d(x, mu)``,
and ``phi`` of a row as the number that moments leave out.
"""

import math

import numpy as np

__all__ = ["nearest_of_group", "sums_of_group"]


def sums_of_group(d, rows, phi, weights, groups, codebook, temperature, multipliers):
    """Sums over rows under the Gibbs association with codevectors of their group.

    ``multipliers(n, i)`` is the number of row n for codevector i.

    Returns
    -------
    weight, total, log_normaliser, axis
        As the fields of ``Moments``.
    """
    points, shares = codebook.points, codebook.weights
    weight = np.zeros(len(points))
    total, axis = np.zeros_like(points), np.zeros_like(points)
    log_normaliser = 0.0
    for n, x in enumerate(rows):
        own = [i for i in range(len(points)) if codebook.groups[i] == groups[n]]
        odds = [shares[i] * math.exp(-d(x, points[i]) / temperature) for i in own]
        sum_of_odds = math.fsum(odds)
        log_normaliser += weights[n] * (math.log(sum_of_odds) + phi[n] / temperature)
        for i, odd in zip(own, odds, strict=True):
            mass = weights[n] * odd / sum_of_odds
            weight[i] += mass
            total[i] += mass * x
            axis[i] += mass * multipliers(n, i) * (x - points[i])
    return weight, total, log_normaliser, axis


def nearest_of_group(d, rows, groups, codebook):
    """Nearest codevector of its group to each row, and the divergence: two (n,)."""
    labels, least = [], []
    for x, group in zip(rows, groups, strict=True):
        apart = [
            d(x, mu) if own == group else math.inf
            for mu, own in zip(codebook.points, codebook.groups, strict=True)
        ]
        labels.append(int(np.argmin(apart)))
        least.append(min(apart))
    return np.array(labels), np.array(least)

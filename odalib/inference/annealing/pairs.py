"""Costs of merging pairs of codevectors, kept up to date as they merge."""

import numpy as np

__all__ = ["Pairs"]


class Pairs:
    """Pairs of codevectors of a group, and what merging them costs.

    A table for every group, and for every codevector its cheapest partner, so that a
    merge looks again at those alone whose partner has changed.

    Parameters
    ----------
    codebook : Codebook
    costs : callable
        ``costs(points, weights, mean)`` gives the costs of all pairs, and with the
        index of one codevector those of its pairs.
    joined : callable, default=None
        ``joined(weights, first, second, of_first, of_second, between)`` gives the costs
        of the pairs of two codevectors that have become one, from their weights, the
        costs of the pairs of either, and that of themselves. None asks ``costs``.

    Attributes
    ----------
    points : array of shape (K, d)
    weights : array of shape (K,)
        Of those left; zero for the others.
    alive : array of bool of shape (K,)
    n_left : int
    """

    def __init__(self, codebook, costs, joined=None):
        n_codevectors = len(codebook)
        self.points, self.weights = codebook.points.copy(), codebook.weights.copy()
        self.alive = np.ones(n_codevectors, dtype=bool)
        self.n_left = n_codevectors
        self._costs, self._joined = costs, joined
        self._mean = codebook.weights @ codebook.points
        groups = codebook.groups
        if groups is None:
            groups = np.zeros(n_codevectors, dtype=int)
        codes, self._group = np.unique(groups, return_inverse=True)
        self._place = np.empty(n_codevectors, dtype=int)
        self._least = np.empty(n_codevectors)
        self._partner = np.empty(n_codevectors, dtype=int)
        self._members = [
            np.flatnonzero(self._group == code) for code in range(len(codes))
        ]
        self._tables = []
        for own in self._members:
            table = costs(self.points[own], self.weights[own], self._mean)
            np.fill_diagonal(table, np.inf)
            self._place[own] = np.arange(len(own))
            self._tables.append(table)
            self._find_partners(own, table, np.arange(len(own)))

    def cheapest(self):
        """Pair that costs least to merge, in their order, and its cost."""
        first = int(self._least.argmin())
        kept, gone = sorted((first, int(self._partner[first])))
        return kept, gone, self._least[first]

    def merge(self, kept, gone):
        """Merge the second of a pair into the first."""
        first, second = self.weights[kept], self.weights[gone]
        group = self._group[kept]
        own, table = self._members[group], self._tables[group]
        here, there = self._place[kept], self._place[gone]
        if self._joined is not None:
            row = self._joined(
                self.weights[own],
                first,
                second,
                table[here],
                table[there],
                table[here, there],
            )
        self.points[kept] = (first * self.points[kept] + second * self.points[gone]) / (
            first + second
        )
        self.weights[kept], self.weights[gone] = first + second, 0.0
        self.alive[gone] = False
        self._least[gone] = np.inf
        self.n_left -= 1
        table[there] = table[:, there] = np.inf
        if self._joined is None:
            row = self._costs(self.points[own], self.weights[own], self._mean, here)
        row[~self.alive[own]] = row[here] = np.inf
        table[here] = table[:, here] = row
        old = self._partner[own]
        nearer = row < self._least[own]
        self._least[own[nearer]], self._partner[own[nearer]] = row[nearer], kept
        lost = ((old == kept) | (old == gone)) & self.alive[own]
        lost[here] = True
        self._find_partners(own, table, np.flatnonzero(lost))

    def _find_partners(self, own, table, places):
        """Look up the cheapest partner of some codevectors of a group."""
        best = table[places].argmin(axis=1)
        self._least[own[places]] = table[places, best]
        self._partner[own[places]] = own[best]

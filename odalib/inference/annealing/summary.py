"""The tree of codevectors, as users read it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.groups import MAX_CLASSES

__all__ = ["AnnealingTree"]


@dataclass(frozen=True)
class AnnealingTree:
    """Codevectors of all resolutions as nodes; node 0 is the root, above the first.

    Nodes are numbered level by level. The leaves are the codevectors of the last
    resolution, in the order in which an estimator publishes them.

    Attributes
    ----------
    parent : ndarray of int of shape (n_nodes,)
        Node above each; -1 for the root.
    level : ndarray of int of shape (n_nodes,)
        0 for the root, and r for the codevectors of the r-th resolution.
    n_samples : ndarray of shape (n_nodes,)
        Weight of the rows that passed.
    codevectors : list of ndarray of shape (n_codevectors of a level, n_features of it)
        In the features of each resolution.
    points : list of ndarray of shape (n_codevectors of a level, n_features of X)
        Mean rows of each.
    temperature : list of float
        At which each resolution ended, in units of its divergence.
    classes : list of ndarray, or None
        For a classifier: class that each codevector stands for.
    """

    parent: np.ndarray
    level: np.ndarray
    n_samples: np.ndarray
    codevectors: list[np.ndarray]
    points: list[np.ndarray]
    temperature: list[float]
    classes: Any

    @classmethod
    def of(cls, tree, n_seen):
        """Summary of a tree that has seen rows of some weight."""
        sizes = [level.quantiser.n_codevectors for level in tree.levels]
        first = np.cumsum([0, 1, *sizes])[: len(sizes)]
        parents = [
            above + level.parents
            for above, level in zip(first, tree.levels, strict=True)
        ]
        weights = [level.n_samples(n_seen) for level in tree.levels]
        classes = None
        if tree.finest.settings.local_models.by_class:
            classes = [level.quantiser.groups % MAX_CLASSES for level in tree.levels]
        return cls(
            parent=np.concatenate([[-1], *parents]),
            level=np.repeat(np.arange(len(sizes) + 1), [1, *sizes]),
            n_samples=np.concatenate([[n_seen], *weights]),
            codevectors=[level.quantiser.codevectors for level in tree.levels],
            points=[level.points for level in tree.levels],
            temperature=[level.quantiser.temperature for level in tree.levels],
            classes=classes,
        )

    def labelled(self, labels):
        """Tree whose classes are the labels of a user, by their codes."""
        return replace(self, classes=[labels[codes] for codes in self.classes])

    @property
    def n_nodes(self):
        """Number of nodes, the root among them."""
        return len(self.parent)

    @property
    def n_levels(self):
        """Number of resolutions."""
        return len(self.codevectors)

    @property
    def n_codevectors(self):
        """Number of codevectors of each resolution."""
        return [len(points) for points in self.codevectors]

    @property
    def n_leaves(self):
        """Number of codevectors of the last resolution."""
        return len(self.codevectors[-1])

    @property
    def first_nodes(self):
        """Node of the first codevector of each resolution."""
        return [1 + sum(self.n_codevectors[:level]) for level in range(self.n_levels)]

    def children(self, node):
        """Nodes below a node."""
        return np.flatnonzero(self.parent == node)

    def status(self, node):
        """Tell what a node is.

        Returns
        -------
        str
            ``'root'``, ``'leaf'``, ``'open'`` for a node with several children;
            ``'closed'`` for one with a single child, which had nothing to tell apart;
            and ``'empty'`` for one without, to which no row has descended.
        """
        if node == 0:
            return "root"
        if self.level[node] == self.n_levels:
            return "leaf"
        n_children = len(self.children(node))
        return ("empty", "closed", "open")[min(n_children, 2)]

    def paths(self, labels):
        """Give an indicator of the nodes that rows pass, CSR of shape (n, n_nodes).

        Parameters
        ----------
        labels : list of arrays of int of shape (n,)
            Codevector of every row at each resolution.
        """
        nodes = [np.zeros_like(labels[0])]
        nodes += [
            first + own for first, own in zip(self.first_nodes, labels, strict=True)
        ]
        columns = np.stack(nodes, axis=1)
        starts = np.arange(0, columns.size + 1, columns.shape[1])
        ones = np.ones(columns.size, dtype=np.int64)
        return sp.csr_matrix(
            (ones, columns.ravel(), starts), shape=(len(columns), self.n_nodes)
        )

    def __repr__(self):
        shape = " > ".join(map(str, self.n_codevectors))
        return f"AnnealingTree({self.n_nodes} nodes, codevectors {shape})"

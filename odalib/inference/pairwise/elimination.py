"""Exact answers by elimination: forests, and graphs that are nearly so.

Spins are summed out one after the other. The one that goes leaves a table over its
neighbours, which are neighbours of each other from then on. What is kept of it is its
conditional distribution given these neighbours; the joint distribution is the product
of all of these, and is walked through in the opposite order for the moments. Nothing is
divided and no marginal is taken from another, so that no digits cancel.
"""

import heapq
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from odalib.inference.pairwise.exact import ExactMoments

__all__ = ["LARGEST_WIDTH", "EliminationOrder", "eliminate", "tree_width"]

# A table has the states of a spin and at most so many neighbours, as many as twenty
# spins have; and all tables together at most so many, which take 200 MB.
LARGEST_WIDTH, MOST_STATES = 19, 1 << 23
# Spins times states, where the covariances of all pairs are asked for.
MOST_TERMS = 1 << 26
SPIN = np.array([-1.0, 1.0])


@dataclass(frozen=True)
class EliminationOrder:
    """Order in which spins are summed out, and whom each leaves behind.

    Attributes
    ----------
    order : list of int
        All spins; the first to go first.
    neighbours : list of list of int
        Of every spin, by its number: its neighbours when it goes, in the order in
        which they go later.
    """

    order: list[int]
    neighbours: list[list[int]]

    @property
    def width(self):
        """Most neighbours of a spin that goes: a bound on the tree-width."""
        return max((len(around) for around in self.neighbours), default=0)

    def hang(self, spin):
        """Shape that lays a table over a spin's neighbours into that of the first.

        Tables have the axes of a spin and its neighbours, in the order in which they
        go; all neighbours of a spin are in the table of the first of them to go.
        """
        around = self.neighbours[spin]
        axes = [around[0], *self.neighbours[around[0]]]
        return [2 if axis in around else 1 for axis in axes]

    @property
    def n_states(self):
        """States of all tables together."""
        return sum(2 << len(around) for around in self.neighbours)


def tree_width(couplings):
    """Upper bound on the tree-width: that of the elimination order used here.

    Parameters
    ----------
    couplings : Couplings

    Returns
    -------
    int or None
        0 without couplings, 1 for a forest; None where elimination is too costly
        (`eliminate` would refuse).
    """
    order = elimination_order(couplings)
    return None if order is None else order.width


def elimination_order(couplings):
    """Order by the fewest edges that a spin's neighbours lack (min-fill).

    Spins with more than `LARGEST_WIDTH` neighbours wait until they have fewer, so
    that a wide graph is told from a narrow one without counting through it.

    Returns
    -------
    EliminationOrder or None
        None where no spin is left that has so few, or all tables together have more
        than `MOST_STATES` states.
    """
    adjacency = neighbour_sets(couplings)
    queue: list[tuple[int, int, int]] = []

    def enqueue(spin):
        around = adjacency[spin]
        if len(around) <= LARGEST_WIDTH:
            heapq.heappush(queue, (missing_edges(adjacency, spin), len(around), spin))

    for spin in range(len(adjacency)):
        enqueue(spin)
    order: list[int] = []
    left: list[set[int]] = [set() for _ in adjacency]
    gone = np.zeros(len(adjacency), dtype=bool)
    n_states = 0
    while len(order) < len(adjacency):
        if not queue or n_states > MOST_STATES:
            return None
        missing, degree, spin = heapq.heappop(queue)
        around = adjacency[spin]
        # Entries of earlier states of the graph are still in the queue.
        if gone[spin] or degree != len(around):
            continue
        if missing and missing != missing_edges(adjacency, spin):
            continue
        order.append(spin)
        gone[spin] = True
        left[spin] = around
        n_states += 2 << degree
        touched = set(around)
        for neighbour in around:
            adjacency[neighbour].discard(spin)
        for neighbour in around:
            new = around - adjacency[neighbour] - {neighbour}
            adjacency[neighbour] |= new
            if missing:
                touched |= adjacency[neighbour]
        for neighbour in touched:
            enqueue(neighbour)
    position = np.empty(len(order), dtype=np.intp)
    position[order] = np.arange(len(order))
    return EliminationOrder(
        order, [sorted(around, key=position.__getitem__) for around in left]
    )


def neighbour_sets(couplings):
    """Neighbours of every spin."""
    adjacency: list[set[int]] = [set() for _ in range(couplings.n_spins)]
    ends = (end.tolist() for end in couplings.edges[:2])
    for i, j in zip(*ends, strict=True):
        adjacency[i].add(j)
        adjacency[j].add(i)
    return adjacency


def missing_edges(adjacency, spin):
    """Edges that the neighbours of a spin lack to be all neighbours."""
    around = adjacency[spin]
    present = sum(len(around & adjacency[neighbour]) for neighbour in around)
    return (len(around) * (len(around) - 1) - present) // 2


def eliminate(couplings, *, all_pairs=False):
    """Sum out one spin after the other.

    Exact for every graph; the cost grows as two to the power of its width
    (`tree_width`).

    Parameters
    ----------
    couplings : Couplings
    all_pairs : bool, default=False
        Whether the covariances are of all pairs, which takes O(n^2) time and memory,
        or on the edges and the diagonal only.

    Returns
    -------
    ExactMoments

    Raises
    ------
    ValueError
        Where the graph is too wide, or has too many spins for all pairs.
    """
    order = elimination_order(couplings)
    if order is None:
        raise ValueError(
            f"method='exact' sums out one spin after the other, in tables over at most "
            f"{LARGEST_WIDTH} neighbours and of {MOST_STATES} states in all; the graph "
            f"of J has too many loops for that. Use another method."
        )
    n_spins = couplings.n_spins
    if all_pairs and n_spins * order.n_states > MOST_TERMS:
        raise ValueError(
            f"The covariances of all pairs of {n_spins} spins take more than "
            f"{MOST_TERMS} terms on the graph of J; those on its edges are to be had."
        )
    fields, log_partition = sum_out(couplings, order)
    joint = Joint(order, fields)
    if all_pairs:
        covariances = joint.covariances()
    else:
        covariances = couplings.on_edges(*joint.on_edges(couplings))
    return ExactMoments(joint.magnetisations, covariances, log_partition)


def sum_out(couplings, order):
    """Go through the spins in their order.

    Returns
    -------
    fields : list of array of shape (2, ..., 2)
        Of every spin, by its number: its field given its neighbours, those that go
        later. An axis is a neighbour, and its two entries are -1 and 1.
    log_partition : float
    """
    near: list[dict[int, float]] = [{} for _ in range(couplings.n_spins)]
    for i, j, coupling in zip(*map(np.ndarray.tolist, couplings.edges), strict=True):
        near[i][j] = near[j][i] = coupling
    fields: list[np.ndarray] = [np.empty(0)] * couplings.n_spins
    # Tables over a spin and neighbours of its own, from those that are gone.
    arrived: list[list[np.ndarray]] = [[] for _ in fields]
    log_partition = 0.0
    for spin in order.order:
        around = order.neighbours[spin]
        field = np.full((2,) * len(around), couplings.fields[spin])
        for axis, neighbour in enumerate(around):
            if neighbour in near[spin]:
                field += near[spin][neighbour] * along(axis, len(around))
        log_norm = np.zeros_like(field)
        for message in arrived[spin]:
            field += 0.5 * (message[1] - message[0])
            log_norm += 0.5 * (message[1] + message[0])
        arrived[spin].clear()
        fields[spin] = field
        message = log_norm + np.logaddexp(field, -field)
        if around:
            arrived[around[0]].append(message.reshape(order.hang(spin)))
        else:
            log_partition += float(message)
    return fields, log_partition


def along(axis, n_axes):
    """-1 and 1 along one axis of a table."""
    return SPIN.reshape([2 if other == axis else 1 for other in range(n_axes)])


class Joint:
    """Joint distribution of the spins: each given its neighbours, who go later.

    Parameters
    ----------
    order : EliminationOrder
    fields : list of array of shape (2, ..., 2)
        Of every spin given its neighbours; see `sum_out`.

    Attributes
    ----------
    magnetisations : array of shape (n,)
    """

    def __init__(self, order, fields):
        self._order = order
        # Probabilities of -1 and 1 given the neighbours: a first axis for the spin.
        self._given = [
            np.stack([expit(-2 * field), expit(2 * field)]) for field in fields
        ]
        self._tables: list[np.ndarray] = [np.empty(0)] * len(fields)
        self.magnetisations = np.empty(len(fields))
        for spin in reversed(order.order):
            around = np.ones(())
            if order.neighbours[spin]:
                receiver = order.neighbours[spin][0]
                shape = order.hang(spin)
                others = tuple(axis for axis, length in enumerate(shape) if length == 1)
                around = self._tables[receiver].sum(axis=others)
            table = around * self._given[spin]
            self._tables[spin] = table
            below, above = table.reshape(2, -1).sum(axis=1)
            self.magnetisations[spin] = above - below

    def on_edges(self, couplings):
        """Variances, shape (n,), and covariances of the edges, in their order."""
        neighbours, mean = self._order.neighbours, self.magnetisations
        of_edges = []
        for i, j in zip(*map(np.ndarray.tolist, couplings.edges[:2]), strict=True):
            first, last = (i, j) if j in neighbours[i] else (j, i)
            kept = 1 + neighbours[first].index(last)
            table = self._tables[first]
            others = tuple(axis for axis in range(1, table.ndim) if axis != kept)
            pair = table.sum(axis=others)
            of_edges.append((SPIN - mean[first]) @ pair @ (SPIN - mean[last]))
        variances = [
            (SPIN - mean[spin]) ** 2 @ table.reshape(2, -1).sum(axis=1)
            for spin, table in enumerate(self._tables)
        ]
        return np.array(variances), np.array(of_edges)

    def covariances(self):
        """Covariances of all pairs, shape (n, n).

        On the way up again, every table learns the means of all spins below it, given
        the spins of the table. Two spins are independent given a table where the ways
        up from them meet.
        """
        n = len(self._tables)
        covariances = np.zeros((n, n))
        arrived: list[list[tuple[list[int], np.ndarray]]] = [[] for _ in self._tables]
        for spin in self._order.order:
            masses = self._tables[spin].ravel()
            own = along(0, self._tables[spin].ndim) - self.magnetisations[spin]
            own = np.broadcast_to(own, self._tables[spin].shape).reshape(1, -1)
            below, deviations = [spin], own
            covariances[spin, spin] = masses @ own[0] ** 2
            for others, theirs in arrived[spin]:
                theirs = np.broadcast_to(
                    theirs, (len(others), *self._tables[spin].shape)
                ).reshape(len(others), -1)
                block = (deviations * masses) @ theirs.T
                covariances[np.ix_(below, others)] = block
                covariances[np.ix_(others, below)] = block.T
                below, deviations = below + others, np.vstack([deviations, theirs])
            arrived[spin].clear()
            if self._order.neighbours[spin]:
                receiver = self._order.neighbours[spin][0]
                given = self._given[spin].reshape(2, -1)
                halves = deviations.reshape(len(below), *given.shape)
                message = (given * halves).sum(axis=1)
                shape = self._order.hang(spin)
                arrived[receiver].append((below, message.reshape(-1, *shape)))
        return covariances

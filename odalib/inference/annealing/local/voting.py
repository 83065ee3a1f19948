"""Class probabilities of rows that descend a tree, and what decided them."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.rows import RowBlocks
from odalib.kernels import annealing
from odalib.kernels import association as kernels

__all__ = [
    "Explanation",
    "class_log_probabilities",
    "class_probabilities",
    "explain_votes",
]


def class_log_probabilities(tree, X, n_classes, n_jobs):
    """Logarithm of `class_probabilities`, row by row: shape (n, n_classes)."""
    probabilities = class_probabilities(tree, X, n_classes, n_jobs)
    return np.log(probabilities, out=probabilities).T


def class_probabilities(tree, X, n_classes, n_jobs):
    """Probability of every class, shape (n_classes, n).

    In each cell on the way down its children vote. Of a cell of weight W that they are
    trusted with ``W / (W + 1)``; the rest is what the cell above says, and above the
    first it is the same for every class. The share of the rows of a cell that are of
    classes without children there goes to these classes, as the cell above says.

    Parameters
    ----------
    tree : Tree
    X : array or CSR matrix of shape (n, d)
    n_classes : int
    n_jobs : int

    Returns
    -------
    probabilities : array of shape (n_classes, n)
        Positive, in float64.
    """
    result = np.full((n_classes, X.shape[0]), 1.0 / n_classes)
    cells = [None, *tree.cells_above(X, n_jobs)]
    for level, parents in zip(tree.levels, cells, strict=True):
        result = _with_votes(level, level.settings.view(X), parents, result, n_jobs)
    return result


def _with_votes(level, X, parents, above, n_jobs):
    """Mix the votes of a level into probabilities of shape (n_classes, n)."""
    # Kernels centre dense rows themselves.
    shift = level.partition.shift
    before, after = (shift, None) if sp.issparse(X) else (None, shift)
    weights = np.broadcast_to(1.0, X.shape[0])
    rows = RowBlocks(X, weights, before, n_jobs, parents)
    ballots = {None: Ballot.of(level, None)}
    if parents is not None:
        above = rows.arrange(above)
        ballots = {cell: Ballot.of(level, cell) for cell in np.unique(parents)}

    def on_block(block, span):
        ballots[rows.group(span)].mix(block, after, above[:, span])

    rows.map(on_block, level.quantiser.n_codevectors)
    return above if parents is None else rows.restore(above.T).T


@dataclass(frozen=True)
class Ballot:
    """Codevectors of one cell that vote, class by class.

    Attributes
    ----------
    planes : tuple of arrays
        Gradients and offsets of the logarithms of their votes.
    classes : array of int of shape (c,)
        Classes of theirs.
    starts : array of int of shape (c,)
        Where the codevectors of each begin.
    adds : bool
        Whether the votes for a class are added.
    lapse : float
        Share of the cell above in what is said.
    strange : float
        Share of the rows of the cell that are of other classes.
    """

    planes: tuple[np.ndarray, np.ndarray]
    classes: np.ndarray
    starts: np.ndarray
    adds: bool
    lapse: float
    strange: float

    @classmethod
    def of(cls, level, cell):
        """Ballot of the children of a cell at the level above; of all for None."""
        vote, codebook = level.cells, level.partition.codebook
        members = np.arange(len(codebook))[level.children(cell)]
        classes = codebook.groups[members] % MAX_CLASSES
        order = np.argsort(classes, kind="stable")
        members, classes = members[order], classes[order]
        present, starts = np.unique(classes, return_index=True)
        gradients, offsets = codebook.planes(vote.divergence(level.partition))
        beta, adds = 1.0 / vote.temperature, vote.decision == "bayes"
        weights = codebook.weights[members]
        offsets = beta * offsets[members] - (np.log(weights) if adds else 0.0)
        descended = level.census.descended[members].sum()
        strange = descended - level.census.weight[members].sum()
        return cls(
            (beta * gradients[members], offsets),
            present,
            starts,
            adds,
            1.0 / (vote.weight * weights.sum() + 1.0),
            max(strange, 0.0) / (descended + 1.0),
        )

    def mix(self, block, shift, above):
        """Mix the votes on a block of rows into what the cell above says, in place."""
        votes = kernels.class_votes(block, shift, *self.planes, self.starts, self.adds)
        if len(votes) == len(above):
            above *= self.lapse
            votes *= 1.0 - self.lapse
            above += votes
            return
        others = np.delete(np.arange(len(above)), self.classes)
        own = (1.0 - self.lapse) * (1.0 - self.strange)
        share = (1.0 - self.lapse) * self.strange / above[others].sum(axis=0)
        above[others] *= self.lapse + share
        above[self.classes] = self.lapse * above[self.classes] + own * votes


@dataclass(frozen=True)
class Explanation:
    """What decided the class of each row.

    Attributes
    ----------
    codevector : array of int of shape (n,)
        Leaf whose vote was the largest for the class that won in its cell.
    divergence : array of shape (n,)
        From that codevector, in the metric of the vote.
    margin : array of shape (n,)
        By how much the nearest codevector of another class is farther; infinite
        where the cell has no other class.
    """

    codevector: np.ndarray
    divergence: np.ndarray
    margin: np.ndarray


def explain_votes(tree, X, n_jobs):
    """Tell what decided the class of every row, see `Explanation`."""
    level = tree.finest
    X, parents = tree.above(X, n_jobs)
    partition, vote = level.partition, level.cells
    codebook, divergence = partition.codebook, vote.divergence(partition)
    gradients, offsets = codebook.planes(divergence)
    classes = codebook.groups % MAX_CLASSES
    rows = RowBlocks(X, np.ones(X.shape[0]), partition.shift, n_jobs, parents)

    def on_block(block, span):
        members = level.children(rows.group(span))
        members = np.arange(len(codebook))[members]
        affinity = annealing.negative_divergence(
            block, gradients[members], offsets[members]
        )
        support = affinity / vote.temperature
        n_classes = int(classes.max()) + 1
        winner = vote.logits(support, codebook, members, n_classes).argmax(axis=0)
        if vote.decision == "bayes":
            support = support + np.log(codebook.weights[members])[:, np.newaxis]
        is_own = classes[members][:, np.newaxis] == winner
        decider = np.where(is_own, support, -np.inf).argmax(axis=0)
        own = affinity[decider, np.arange(len(decider))]
        other = np.where(is_own, -np.inf, affinity).max(axis=0)
        return members[decider], divergence.phi(block) - own, own - other

    parts = zip(*rows.map(on_block, len(codebook)), strict=True)
    decider, apart, margin = (rows.restore(np.concatenate(part)) for part in parts)
    return Explanation(decider, np.maximum(apart, 0.0), margin)

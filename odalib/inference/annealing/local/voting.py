"""Class probabilities of rows that descend a tree, and what decided them."""

from dataclasses import dataclass

import numpy as np

from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.local.vote import lapsed, log_softmax
from odalib.inference.annealing.rows import RowBlocks
from odalib.kernels import annealing as kernels

__all__ = ["Explanation", "class_log_probabilities", "explain_votes"]


def class_log_probabilities(tree, X, n_classes, n_jobs):
    """Logarithm of the probability of every class, shape (n, n_classes).

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
    log_probabilities : array of shape (n, n_classes)
        Finite, in float64.
    """
    result = np.full((n_classes, X.shape[0]), -np.log(n_classes))
    cells = [None]
    if len(tree.levels) > 1:
        cells += tree.descend(X, n_jobs)[0][:-1]
    for level, parents in zip(tree.levels, cells, strict=True):
        _votes_of_level(level, level.settings.view(X), parents, result, n_jobs)
    return result.T


def _votes_of_level(level, X, parents, result, n_jobs):
    """Mix the votes of a level into log probabilities of shape (n_classes, n)."""
    partition, vote = level.partition, level.cells
    rows = RowBlocks(X, np.ones(X.shape[0]), partition.shift, n_jobs, parents)
    above = rows.arrange(result)

    def on_block(block, span):
        members = level.children(rows.group(span))
        affinity = vote.affinity(block, partition, members)
        logits = vote.logits(affinity, partition.codebook, members, len(result))
        votes = _with_strangers(log_softmax(logits), above[:, span], level, members)
        weight = vote.weight * partition.codebook.weights[members].sum()
        above[:, span] = lapsed(votes, 1.0 / (weight + 1.0), above[:, span])

    rows.map(on_block, len(partition.codebook))
    result[:] = rows.restore(above.T).T


def _with_strangers(votes, above, level, members):
    """Votes of a cell that leave classes without children there their share of rows."""
    census = level.census
    descended = census.descended[members].sum()
    strange = descended - census.weight[members].sum()
    is_strange = np.isneginf(votes[:, :1]).ravel()
    if not is_strange.any() or strange <= 0.0:
        return votes
    share = strange / (descended + 1.0)
    votes = votes + np.log1p(-share)
    votes[is_strange] = np.log(share) + log_softmax(above[is_strange])
    return votes


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
        affinity = kernels.negative_divergence(
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

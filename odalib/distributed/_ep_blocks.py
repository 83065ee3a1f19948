"""What the workers do in a round of expectation propagation."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from odalib.estimators._decomposition import probit_margins
from odalib.estimators._labels import encode, read_labels
from odalib.estimators._threads import single_threaded_blas
from odalib.inference.ep.left_out_rounds import left_out
from odalib.inference.ep.regression import weighted_probit
from odalib.inference.ep.sharpness import power_moments, relative_to_own
from odalib.inference.ep.solvers.block import Held, Part
from odalib.inference.ep.solvers.problem import Sites

__all__ = [
    "BlockState",
    "add_pairs",
    "carry_out",
    "combine_answers",
    "encoded",
    "extremes",
    "moments_at",
    "relate",
    "take_up",
    "tell",
    "widest",
]

# Of every row of a problem that is being solved: sites, those before them that steps
# are extrapolated from, cavities and what matches them.
NUMBERS = 50


@dataclass(frozen=True)
class BlockState:
    """What a block holds between the rounds, besides its rows.

    Problems are numbered, and so are copies of one; copy 0 is that of all rows.

    Attributes
    ----------
    place : int
        Number of the block.
    codes : array of int of shape (n,)
        Classes of the rows.
    parts : dict of int to Part
        Of the problems that are being solved.
    held : dict of (int, int) to Held
        Their sites, by problem and copy.
    told : dict of (int, int) to object
        Answers to the orders of the last round.
    settled : dict of int to Sites
        Of the problems that have been solved.
    """

    place: int
    codes: np.ndarray
    parts: dict[int, Part] = field(default_factory=dict)
    held: dict[tuple[int, int], Held] = field(default_factory=dict)
    told: dict[tuple[int, int], Any] = field(default_factory=dict)
    settled: dict[int, Sites] = field(default_factory=dict)

    def __sizeof__(self):
        """Bytes, as Dask asks for them to know when a worker is full."""
        solving = sum(NUMBERS * len(part.counts) for part in self.parts.values())
        settled = sum(2 * len(sites.shift) for sites in self.settled.values())
        return self.codes.nbytes + 8 * (solving + settled)


def encoded(block, place, estimator, classes):
    """State of a block before any problem."""
    return BlockState(place, encode(read_labels(estimator, block[1]), classes))


def take_up(block, state, problems):
    """State of a block that settles the problems it holds, and turns to others.

    Parameters
    ----------
    block : tuple
        Rows, targets and weights.
    state : BlockState
    problems : dict of int to odalib.estimators._decomposition.Problem
    """
    found = {k: state.held[k, 0].after_step().origin for k in state.parts}
    parts = {}
    for k, problem in problems.items():
        rows, y = problem.rows(state.codes)
        counts, likelihood = weighted_probit(y, block[2][rows])
        parts[k] = Part(state.place, _whole(rows, block), likelihood, counts)
    return BlockState(
        state.place, state.codes, parts, settled={**state.settled, **found}
    )


def carry_out(block, state, orders, fit_intercept):
    """State of a block that has carried out the orders of a round.

    Parameters
    ----------
    block : tuple
    state : BlockState
    orders : dict of (int, int) to Order
        By problem and copy.
    fit_intercept : bool
    """
    held, told = dict(state.held), {}
    for key, order in orders.items():
        part = state.parts[key[0]]
        X = _design(block[0][part.rows], fit_intercept)
        # A copy sets out from the sites of all rows.
        own = held.get(key, held.get((key[0], 0)))
        held[key], told[key] = order.carry_out(X, part, own)
    return replace(state, held=held, told=told)


def tell(block, state):
    """Answers of a block to the orders of the last round."""
    return state.told


def combine_answers(first, second):
    """Answers of two blocks to the same orders, combined."""
    with single_threaded_blas():
        return {key: first[key].combined_with(second[key]) for key in first}


def extremes(block, state, problem, fit_intercept):
    """Highest and lowest entry of every column, of the rows of a problem."""
    X = _design(block[0][state.parts[problem].rows], fit_intercept)
    return X.max(axis=0, initial=-np.inf), X.min(axis=0, initial=np.inf)


def widest(first, second):
    """Highest and lowest entries of the columns of two blocks."""
    return np.maximum(first[0], second[0]), np.minimum(first[1], second[1])


def relate(block, state, beliefs, instead, decomposition, fit_intercept):
    """Log probabilities of rows left out, relative to the own class, and weights.

    Parameters
    ----------
    block : tuple
    state : BlockState
        With all problems settled.
    beliefs : list of DenseBelief
        Of every problem.
    instead : list of list of Instead
        Of every problem.
    decomposition : Decomposition
        Not sharpened.
    fit_intercept : bool

    Returns
    -------
    relative : array of shape (n, n_classes)
    row_weights : array of shape (n,)
    """
    X = _design(block[0], fit_intercept)
    mean, variance = np.empty((2, len(X), len(beliefs)))
    for k, problem in enumerate(decomposition.problems):
        rows, _ = problem.rows(state.codes)
        mean[:, k], variance[:, k] = beliefs[k].latent(X)
        mean[rows, k], variance[rows, k] = left_out(
            X[_whole(rows, block)],
            mean[rows, k],
            variance[rows, k],
            state.settled[k],
            {
                one.site[1]: one.belief
                for one in instead[k]
                if one.site[0] == state.place
            },
        )
    logs = decomposition.probit_log_probabilities(probit_margins(mean, variance))
    return relative_to_own(logs, state.codes), block[2]


def moments_at(block, related, log_power):
    """Slope and curvature of the log probability of the classes; `power_moments`."""
    relative, row_weights = related
    return power_moments(log_power, relative, row_weights)


def add_pairs(first, second):
    """Add numbers that come in pairs."""
    return first[0] + second[0], first[1] + second[1]


def _design(rows, fit_intercept):
    """Rows in float64, with a last column for the intercept."""
    if not fit_intercept:
        return rows.astype(np.float64, copy=False)
    # In one pass: every round makes them anew.
    design = np.empty((rows.shape[0], rows.shape[1] + 1))
    design[:, :-1] = rows
    design[:, -1] = 1.0
    return design


def _whole(rows, block):
    """Index rows; by a slice, which copies nothing, where they are all."""
    return slice(None) if len(rows) == len(block[0]) else rows

"""Stochastic approximation of the annealing fixed point, one batch at a time.

``rho_i += a (p_i - rho_i)``, ``sigma_i += a (p_i x - sigma_i)``,
``mu_i = sigma_i / rho_i``. The step is ``a = w / (age + w)`` for a batch of weight
w after rows of weight ``age``: a running mean, whatever the size of the batches. A
memory of N rows holds it at ``1 - (1 - 1/N)^w`` or above.
"""

import numpy as np

from odalib.inference.annealing.codebook import Moments, block_moments
from odalib.inference.annealing.rows import scatter_add
from odalib.kernels import annealing as kernels

__all__ = [
    "INITIAL_AGE",
    "first_age",
    "follow_batches",
    "running_sums",
    "step_size",
    "stochastic_pass",
    "stochastic_step",
]

# Weight that the codebook at the start of a level counts for, in rows: a first
# step of full size would forget it, and codevectors would collapse.
INITIAL_AGE = 2048.0
# Rows of a pass that are converted and centred at a time, or one batch if larger.
SPAN = 8192


def step_size(weight, age, memory):
    """Step for a batch of some weight; ``memory`` in rows, or None for no floor."""
    step = weight / (age + weight)
    if memory is None:
        return step
    return np.maximum(step, -np.expm1(weight * np.log1p(-1.0 / memory)))


def stochastic_step(
    block,
    row_weights,
    divergence,
    codebook,
    temperature,
    step,
    multipliers=None,
    groups=None,
):
    """Move a codebook by one batch of rows.

    Parameters
    ----------
    multipliers : array of shape (n,) or (K, d), default=None
        As for `collect_moments`.
    groups : array of int of shape (n,), default=None
        Groups of the rows, each of which has a codevector.

    Returns
    -------
    codebook : Codebook
    moments : Moments
        Of the batch, under the codebook before the step.
    """
    of_block = block_moments(divergence, codebook, temperature)
    if groups is None:
        _, sums = of_block(block, row_weights, multipliers, None)
    else:
        parts = _by_group(of_block, block, row_weights, multipliers, groups)
        sums = scatter_add(parts, len(codebook))
    moments = Moments(*sums)
    points, weights = kernels.moved(
        codebook.points,
        codebook.weights,
        step,
        row_weights.sum(),
        moments.weight,
        moments.total,
    )
    return codebook.moved(points, weights), moments


def follow_batches(
    rows,
    row_weights,
    starts,
    divergence,
    codebook,
    temperature,
    age,
    memory=None,
    multipliers=None,
    sums=None,
    shift=None,
):
    """Move a codebook by batch after batch of rows that are all alike.

    Parameters
    ----------
    starts : array of int64 of shape (m,)
        Where batches begin, ascending from zero on.
    age : float
        Weight of the rows before.
    memory : float, default=None
        See `step_size`.
    multipliers : array of shape (n,) or (K, d), default=None
        As for `collect_moments`.
    sums : tuple of arrays of shape (K, d) and (K,), default=None
        Axis sums and mass so far, see `kernels.follow`; None for zeros.
    shift : array of shape (d,), default=None
        Still to be subtracted from the rows, which are dense.

    Returns
    -------
    codebook : Codebook
    age : float
    sums : tuple of arrays of shape (K, d) and (K,)
        Up to here, the same bits however the batches are cut into calls.
    """
    weights = row_weights
    if len(starts) < len(row_weights):
        weights = np.add.reduceat(row_weights, starts)
    ages = running_sums(age, weights)
    if sums is None:
        sums = np.zeros(codebook.points.shape), np.zeros(len(codebook))
    points, weights, *sums = kernels.follow(
        rows,
        row_weights,
        starts,
        step_size(weights, ages[:-1], memory),
        codebook.points,
        codebook.weights,
        divergence,
        1.0 / temperature,
        multipliers,
        *sums,
        shift,
    )
    return codebook.moved(points, weights), float(ages[-1]), tuple(sums)


def running_sums(start, weights):
    """Give the sums up to each weight, from the start on, in their order.

    They do not depend on how the weights are cut.
    """
    sums = np.empty(len(weights) + 1)
    sums[0], sums[1:] = start, weights
    return np.add.accumulate(sums, out=sums)


def _by_group(of_block, block, row_weights, multipliers, groups):
    """Moments of the rows of each group of a block."""
    by_row = multipliers is not None and multipliers.ndim == 1
    parts = []
    for group in np.unique(groups):
        own = groups == group
        factors = multipliers[own] if by_row else multipliers
        parts.append(of_block(block[own], row_weights[own], factors, group))
    return parts


def first_age(problem, batch_size):
    """Age at the start of a level of passes over rows in memory."""
    if batch_size is None:
        return 0.0
    rows = problem.rows
    batch_weight = batch_size * rows.total_weight / rows.n_rows
    return max(min(INITIAL_AGE, rows.total_weight), 2.0 * batch_weight)


def stochastic_pass(problem, codebook, temperature, batch_size, age):
    """One pass over the rows, in their order, in batches.

    Returns
    -------
    codebook : Codebook
    age : float
    """
    rows = problem.rows
    if rows.groups is not None:
        return _grouped_pass(problem, codebook, temperature, batch_size, age)
    size = batch_size * max(1, SPAN // batch_size)
    for start in range(0, rows.n_rows, size):
        span = slice(start, min(start + size, rows.n_rows))
        weights = rows.row_weights[span]
        codebook, age, _ = follow_batches(
            rows.select(span),
            weights,
            np.arange(0, len(weights), batch_size),
            problem.divergence,
            codebook,
            temperature,
            age,
        )
    return codebook, age


def _grouped_pass(problem, codebook, temperature, batch_size, age):
    """As `stochastic_pass`, of rows of several groups."""
    rows = problem.rows
    for start in range(0, rows.n_rows, batch_size):
        span = rows.arrivals(slice(start, min(start + batch_size, rows.n_rows)))
        weights = rows.row_weights[span]
        weight = weights.sum()
        codebook, _ = stochastic_step(
            rows.select(span),
            weights,
            problem.divergence,
            codebook,
            temperature,
            step_size(weight, age, None),
            groups=rows.groups[span],
        )
        age += weight
    return codebook, age

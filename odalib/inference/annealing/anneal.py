"""Annealing rows in memory: grow a codebook as the temperature falls."""

from dataclasses import dataclass

import numpy as np

from odalib.inference.annealing.bifurcation import gibbs_axes, split
from odalib.inference.annealing.codebook import Codebook, divergence_between
from odalib.inference.annealing.merging import merge_close, nearest_divergence
from odalib.inference.annealing.path import Level, describe_level
from odalib.inference.annealing.stochastic import first_age, stochastic_pass

__all__ = ["Growth", "cool", "grow"]

# Power iterations for the first critical temperature, which sets the scale of
# everything after it.
FIRST_PASSES = 10
# Temperatures below this fraction of the first critical one are rounding.
COLDEST = 1e-14
# Rows under a divergence whose terms are this many roundings larger are refused, unless
# the difference is one that equal rows have.
LOST, EQUAL = 1e3, 1e6
# Growth ends at so many roundings of the largest term.
ROUNDINGS = 1000.0
# Squared step to either side of a codevector that splits, in units of its critical
# temperature: far enough to leave the saddle in a few steps, near enough to fall
# back where no split is due. With perturbed codevectors, in units of the merging
# distance: a pair that does not part must start within it. A pair nearer than
# FALLEN_BACK of that distance is one codevector already.
SPLIT_STEP, PERTURBATION, FALLEN_BACK = 0.1, 0.1, 1e-6


@dataclass(frozen=True)
class Growth:
    """What an annealing run found.

    Attributes
    ----------
    levels : list of Level
    codebook : Codebook
        Of the last level, one fixed-point step on.
    axis : array of shape (d,)
        Leading axis of all rows, or of the group that varies most.
    stop_reason : str
    n_passes : int
        Passes over the rows.
    converged : bool
        Whether every level met the tolerance (``split='perturb'`` only; growth by
        critical temperatures takes a few steps per level and does not wait).
    """

    levels: list[Level]
    codebook: Codebook
    axis: np.ndarray
    stop_reason: str
    n_passes: int
    converged: bool


def grow(problem, schedule, on_level):
    """Algorithm 1: cool, let codevectors split, until a rule stops it.

    Parameters
    ----------
    problem : Problem
    schedule : Schedule
    on_level : callable
        Called with every Level; growth stops where it returns True.

    Returns
    -------
    Growth
    """
    divergence = problem.divergence
    codebook = problem.first_codebook()
    moments = problem.moments(codebook, 1.0, problem.signs)
    axes = gibbs_axes(problem, codebook, 1.0, moments, FIRST_PASSES)
    n_passes = 2 + FIRST_PASSES
    widest = axes.critical.argmax()
    first_critical, axis = float(axes.critical[widest]), axes.directions[widest]
    # Where all rows are equal, one level at a nominal temperature says all.
    temperature = schedule.first_temperature(first_critical) or 1.0
    coldest = _coldest(problem, first_critical)
    levels, converged, stop_reason = [], True, None
    while stop_reason is None:
        codebook = _bifurcate(divergence, schedule, codebook, axes, temperature)
        codebook, n_steps, settled = _settle(problem, schedule, codebook, temperature)
        moments = problem.moments(codebook, temperature, problem.signs)
        axes = gibbs_axes(problem, codebook, temperature, moments, schedule.axis_passes)
        n_passes += n_steps + 1 + schedule.axis_passes
        converged = converged and settled
        level = describe_level(
            temperature,
            codebook,
            divergence,
            moments,
            problem.total_phi,
            n_passes,
        )
        levels.append(level)
        temperature *= schedule.cooling
        stop_reason = schedule.stop_reason(level, temperature, n_passes)
        if on_level(level):
            stop_reason = "callback"
        elif _spent(schedule, axes, temperature, coldest):
            stop_reason = stop_reason or "distinct_rows"
        if schedule.batch_size is None:
            # The moments that describe the level are a step towards the next.
            codebook = moments.codebook(codebook)
        kept = schedule.not_idle(codebook)
        codebook, axes = codebook.select(kept), axes.select(kept)
    return Growth(levels, codebook, axis, stop_reason, n_passes, converged)


def _coldest(problem, first_critical):
    """Temperature below which differences between rows are rounding.

    Raises
    ------
    ValueError
        Where the first critical temperature is hardly above it already.
    """
    if first_critical == 0.0:
        return 0.0
    precision = np.finfo(float).eps
    size = float(np.abs(problem.phi).max())
    # Equal rows differ from their mean by rounding, and from each other not at all.
    equal = first_critical <= EQUAL * precision**2 * size
    if not equal and first_critical < LOST * precision * size:
        advice = (
            "a few rows far off, or of nearly all the weight, hide how the others "
            "differ. Leave them out, or weigh rows more alike."
            if problem.divergence.translation_invariant
            else "X has a large offset and little spread. Remove the offset, or use "
            "divergence='squared_euclidean', which does not feel it."
        )
        raise ValueError(
            f"Under the {problem.divergence.name} divergence the rows of X differ by "
            f"about {first_critical:.2g}, which is lost in the rounding of terms of "
            f"{size:.2g}: {advice}"
        )
    return max(COLDEST * first_critical, ROUNDINGS * precision * size)


def _spent(schedule, axes, temperature, coldest):
    """Whether nothing is left to split but rounding."""
    if temperature <= coldest or coldest == 0.0:
        return True
    # Without a pass, the axes are random and say nothing of critical temperatures.
    return schedule.axis_passes > 0 and bool(axes.critical.max() <= coldest)


def _bifurcate(divergence, schedule, codebook, axes, temperature):
    """Codebook in which the codevectors are doubled that split, or all."""
    if schedule.split == "perturb":
        chosen = np.ones(len(codebook), dtype=bool)
        step = PERTURBATION * schedule.merge_tol * temperature
        return split(
            codebook, divergence, axes.directions, np.full(len(codebook), step), chosen
        )
    chosen = axes.critical > temperature
    room = max(schedule.n_codevectors - len(codebook), 0)
    if chosen.sum() > room:
        gain = np.where(chosen, axes.critical * codebook.weights, -np.inf)
        chosen = np.zeros_like(chosen)
        chosen[np.argsort(-gain, kind="stable")[:room]] = True
    if not chosen.any():
        return codebook
    return split(
        codebook, divergence, axes.directions, SPLIT_STEP * axes.critical, chosen
    )


def _settle(problem, schedule, codebook, temperature):
    """Step to the fixed point at one temperature, then merge.

    Returns
    -------
    codebook : Codebook
    n_steps : int
    settled : bool
        Whether the tolerance was met; True where none is asked for.
    """
    divergence = problem.divergence
    settled, n_steps = False, 0
    age = first_age(problem, schedule.batch_size)
    while n_steps < schedule.max_steps and not settled:
        previous = codebook
        if schedule.batch_size is None:
            codebook = problem.moments(previous, temperature).codebook(previous)
        else:
            codebook, age = stochastic_pass(
                problem, previous, temperature, schedule.batch_size, age
            )
        n_steps += 1
        kept = schedule.not_idle(codebook)
        if not kept.all():
            codebook = codebook.select(kept)
        elif schedule.tol is not None:
            moved = divergence_between(divergence, codebook, previous)
            nearest = nearest_divergence(codebook, divergence)
            together = nearest < FALLEN_BACK * schedule.merge_tol * temperature
            scale = np.where(together, temperature, np.minimum(nearest, temperature))
            settled = bool((moved <= schedule.tol * scale).all())
    codebook, _ = merge_close(codebook, divergence, schedule.merge_tol * temperature)
    return codebook, n_steps, settled or schedule.tol is None


def cool(problem, codebook, level, cooling, n_levels):
    """Cool a codebook on from a level with its number of codevectors held.

    Every level takes two fixed-point steps; the moments of the second describe it.

    Returns
    -------
    levels : list of Level
    codebook : Codebook
        One fixed-point step on from the last level.
    """
    levels = []
    temperature, n_passes = level.temperature, level.n_passes
    for _ in range(n_levels):
        temperature *= cooling
        for _ in range(2):
            previous = codebook.select(codebook.weights > 0)
            moments = problem.moments(previous, temperature)
            codebook = moments.codebook(previous)
        n_passes += 2
        levels.append(
            describe_level(
                temperature,
                previous,
                problem.divergence,
                moments,
                problem.total_phi,
                n_passes,
            )
        )
    return levels, codebook.select(codebook.weights > 0)

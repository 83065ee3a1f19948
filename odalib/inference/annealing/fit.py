"""The whole in-memory fit: anneal a sample, refine, finish on all rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.anneal import cool, grow
from odalib.inference.annealing.bregman import BregmanDivergence
from odalib.inference.annealing.codebook import Codebook, assign
from odalib.inference.annealing.draws import draw_sample, row_uniforms
from odalib.inference.annealing.merging import merge_down
from odalib.inference.annealing.path import Level
from odalib.inference.annealing.plateau import longest_plateau
from odalib.inference.annealing.problem import Problem
from odalib.inference.annealing.refine import exchange, harden, hierarchy
from odalib.inference.annealing.rows import RowBlocks, weighted_mean

__all__ = [
    "SAMPLE_SIZE",
    "Ground",
    "Solution",
    "anneal",
    "finish_on",
    "fit_on",
    "fit_rows",
    "sampling_importance",
    "smallest_above",
]

# Codevectors grown before merging down: this many times those asked for, and some
# more, which small numbers need and large ones hardly notice.
OVERSHOOT, LEAST_OVERSHOOT, EXTRA = 2.0, 1.5, 5
# Rows annealed; more add time and nothing that the finish on all rows does not.
SAMPLE_SIZE = 10_000
# Levels after merging down, to zero temperature for all that matters.
COOL_LEVELS, COOL_FACTOR = 4, 0.5
# Hard assignment steps on the sample, and on all rows after it; of fits that are not
# to be thorough, and of those whose cells will have children, which count.
HARD_STEPS, FULL_STEPS, QUICK_STEPS, INNER_STEPS = 300, 300, 5, 1
# Of the tolerance, what all rows are held to after a sample: where they have no
# clusters, the distortion falls slowly and for long.
FULL_TOL = 0.15


@dataclass(frozen=True)
class Solution:
    """What a fit found.

    Attributes
    ----------
    divergence : BregmanDivergence
        Bound to the rows.
    shift : array of shape (d,) or None
        Subtracted from the rows; codebooks are in shifted coordinates.
    codebook : Codebook
    temperature : float
        Last positive temperature.
    levels : list of Level
    hierarchy : list of Codebook
        Large to small.
    n_passes : int
    converged : bool
    stop_reason : str
    plateau_strength : float or None
        Where the number of codevectors was chosen by the fit.
    """

    divergence: BregmanDivergence
    shift: np.ndarray | None
    codebook: Codebook
    temperature: float
    levels: list[Level]
    hierarchy: list[Codebook]
    n_passes: int
    converged: bool
    stop_reason: str
    plateau_strength: float | None

    @classmethod
    def of_level(cls, divergence, shift, level):
        """Solution that annealing would be, did it end with this level."""
        return cls(
            divergence=divergence,
            shift=shift,
            codebook=level.codebook,
            temperature=level.temperature,
            levels=[level],
            hierarchy=[level.codebook],
            n_passes=level.n_passes,
            converged=False,
            stop_reason="callback",
            plateau_strength=None,
        )

    @property
    def hardened(self):
        """Whether the codebook came from hard assignments."""
        return self.stop_reason in ("n_clusters", "distinct_rows", "plateau")


@dataclass(frozen=True)
class Ground:
    """What a fit rests on: all rows, wherever they are, and those that anneal.

    Attributes
    ----------
    divergence : BregmanDivergence
        Bound to all rows.
    shift : array of shape (d,) or None
        Subtracted from the rows.
    problem : Problem
        Of the rows that anneal, in memory.
    whole : Problem, or another that `harden` takes
        Of all rows; ``problem`` itself where all of them anneal.
    """

    divergence: BregmanDivergence
    shift: np.ndarray | None
    problem: Problem
    whole: Any

    @classmethod
    def of_rows(cls, X, row_weights, settings, n_jobs, groups):
        """Ground of rows in memory, see `fit_rows`."""
        shift = None
        if settings.divergence.translation_invariant and not sp.issparse(X):
            shift = weighted_mean(X, row_weights)
        everything = RowBlocks(X, row_weights, shift, n_jobs, groups)
        divergence = settings.divergence.bind(everything)
        whole = problem = Problem(everything, divergence, settings.seed)
        if len(row_weights) > SAMPLE_SIZE:
            kept, weights = _sample(X, row_weights, groups, whole, settings.seed)
            own_groups = None if groups is None else groups[kept]
            rows = RowBlocks(X[kept], weights, shift, n_jobs, own_groups)
            problem = Problem(rows, divergence, settings.seed)
        return cls(divergence, shift, problem, whole)


def anneal(batch, settings, n_jobs=1, on_level=None, groups=None):
    """Anneal a batch as its local models ask for, see `fit_rows`."""
    spec = settings.local_models
    settings = replace(settings, divergence=spec.divergence(settings.divergence))
    rows = spec.annealed(batch)
    return fit_rows(rows, batch.weights, settings, n_jobs, on_level, groups)


def fit_rows(X, row_weights, settings, n_jobs=1, on_level=None, groups=None):
    """Anneal rows in memory.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    row_weights : array of shape (n,)
        Positive.
    settings : Settings
    n_jobs : int
    on_level : callable, default=None
        Called after every level with the Level and a function that returns the
        Solution it would be; annealing stops where it returns True.
    groups : array of int of shape (n,), default=None
        Groups of the rows, such as their classes, each of which gets codevectors of
        its own; no more groups than codevectors.

    Returns
    -------
    Solution
    """
    ground = Ground.of_rows(X, row_weights, settings, n_jobs, groups)
    return fit_on(ground, settings, on_level)


def fit_on(ground, settings, on_level=None):
    """Anneal on a ground, see `fit_rows`."""
    divergence, shift, problem = ground.divergence, ground.shift, ground.problem

    def report(level):
        def solution():
            return Solution.of_level(divergence, shift, level)

        return on_level is not None and on_level(level, solution)

    growth, partition, n_passes = _anneal(problem, settings, report)
    solution = replace(
        Solution.of_level(divergence, shift, growth.levels[-1]),
        levels=growth.levels,
        n_passes=n_passes,
        converged=growth.converged and growth.stop_reason != "max_iter",
        stop_reason=growth.stop_reason,
    )
    if partition is None:
        codebook = growth.codebook.ordered(growth.axis)
        return replace(
            solution, codebook=codebook, hierarchy=hierarchy(problem, codebook)
        )
    return _refine(ground, partition, settings, solution, growth.axis)


def _refine(ground, partition, settings, solution, axis):
    """Solution from the best hard partition that annealing led to."""
    whole, problem = ground.whole, ground.problem
    random = np.random.default_rng(settings.seed)
    wanted, tol = settings.schedule.n_codevectors, settings.tol
    codebooks = [partition.codebook]
    if settings.thorough:
        partition = exchange(problem, partition, tol, random)
        codebooks = hierarchy(problem, partition.codebook)
    n_steps = partition.n_steps
    temperature, strength = solution.temperature, None
    if settings.choose:
        plateau = longest_plateau(solution.levels, wanted)
        temperature, strength = plateau.temperature, plateau.strength
        wanted = min(plateau.n_codevectors, len(codebooks[0]))
        start = smallest_above(codebooks, wanted, problem.divergence)
        partition = harden(problem, start, wanted, HARD_STEPS, tol)
        partition = exchange(problem, partition, tol, random)
        n_steps += partition.n_steps
    if not settings.thorough:
        n_last = QUICK_STEPS if settings.finer is None else INNER_STEPS
        partition = harden(whole, partition.codebook, wanted, n_last, tol)
    elif whole is problem:
        # Until no row moves: then every codevector is nearest to some row.
        partition = harden(problem, partition.codebook, wanted, HARD_STEPS, 0.0)
    else:
        full_tol = FULL_TOL * tol
        partition = harden(whole, partition.codebook, wanted, FULL_STEPS, full_tol)
    n_steps += partition.n_steps
    stop_reason = "plateau" if settings.choose else "n_clusters"
    if len(partition.codebook) < wanted:
        stop_reason = "distinct_rows"
    return replace(
        solution,
        codebook=partition.codebook.ordered(axis),
        temperature=temperature,
        hierarchy=codebooks,
        n_passes=solution.n_passes + n_steps,
        converged=solution.converged and (partition.converged or not settings.thorough),
        stop_reason=stop_reason,
        plateau_strength=strength,
    )


def finish_on(X, row_weights, solution, settings, n_codevectors, groups=None):
    """Solution for more rows by hard assignments that start from another's."""
    if not solution.hardened:
        return solution
    rows = RowBlocks(X, row_weights, solution.shift, groups=groups)
    problem = Problem(rows, solution.divergence, settings.seed)
    partition = harden(
        problem, solution.codebook, n_codevectors, FULL_STEPS, settings.tol
    )
    return replace(
        solution,
        codebook=partition.codebook,
        n_passes=solution.n_passes + partition.n_steps,
    )


def _sample(X, row_weights, groups, whole, seed):
    """Rows that stand for all, and their weights; see `sampling_importance`."""
    rows = whole.rows
    first = whole.first_codebook()
    labels, affinity = assign(rows, whole.divergence, first)
    away = np.maximum(whole.phi - affinity, 0.0)
    average = rows.row_weights @ away / rows.total_weight
    shares = None if groups is None else first.weights[labels] * len(first)
    importance = rows.restore(sampling_importance(away, average, shares))
    uniforms = row_uniforms(X, seed)
    return draw_sample(X, row_weights, importance, uniforms, SAMPLE_SIZE, groups)


def sampling_importance(away, average, shares=None):
    """Odds of every row to be sampled, for a weight of one.

    Rows are drawn with odds of their weight times the mean of one and their share
    of the distortion about the mean (Bachem, Lucic & Krause 2018): few rows far
    out can make much of the distortion, and a uniform sample misses them. Half of
    the sample is shared evenly among groups, so that it misses none.

    Parameters
    ----------
    away : array of shape (n,)
        Divergence of every row from the mean of its group.
    average : float
        Weighted mean of it over all rows.
    shares : array of shape (n,), default=None
        Share of the rows that the group of each has, times the number of groups.

    Returns
    -------
    importance : array of shape (n,)
    """
    importance = 0.5 + 0.5 * away / average if average > 0 else np.ones_like(away)
    if shares is None:
        return importance
    return 0.5 * importance + 0.5 / shares


def smallest_above(codebooks, n_codevectors, divergence):
    """Codebook of a size, merged down from the next larger of a hierarchy."""
    larger = [codebook for codebook in codebooks if len(codebook) >= n_codevectors]
    return merge_down(larger[-1], divergence, n_codevectors)[0]


def _anneal(problem, settings, on_level):
    """Grow more codevectors than wanted, merge down, cool on, harden.

    From where growth ended, and from where it first had ``LEAST_OVERSHOOT`` times
    the number wanted: the two end in different minima, and the better one is kept.

    Returns
    -------
    growth : Growth
        Its levels go on to where the better one got.
    partition : Partition or None
        None where another rule than the number of codevectors ended growth.
    n_passes : int
        Of all.
    """
    schedule, choose = settings.schedule, settings.choose
    wanted = schedule.n_codevectors
    overshoot = OVERSHOOT
    if not settings.thorough:
        overshoot, schedule = LEAST_OVERSHOOT, schedule.quick()
    limit = int(np.ceil(overshoot * wanted)) + EXTRA
    growth = grow(problem, replace(schedule, n_codevectors=limit), on_level)
    if growth.stop_reason == "callback" or (
        growth.stop_reason in ("target_distortion", "min_temperature", "max_iter")
        and len(growth.codebook) < wanted
    ):
        return growth, None, growth.n_passes
    sizes = np.array([len(level.codebook) for level in growth.levels])
    enough = int(np.argmax(sizes >= min(LEAST_OVERSHOOT * wanted, sizes.max())))
    starts = {len(sizes) - 1}
    if settings.thorough and not choose:
        starts.add(enough)
    finishes, n_passes = [], growth.n_passes
    for last in sorted(starts):
        levels = growth.levels[: last + 1]
        codebook, _ = merge_down(levels[-1].codebook, problem.divergence, wanted)
        cooled, codebook = cool(problem, codebook, levels[-1], COOL_FACTOR, COOL_LEVELS)
        # The order decides which cells an exchange draws.
        codebook = codebook.ordered(growth.axis)
        n_hard = HARD_STEPS if settings.thorough else QUICK_STEPS
        partition = harden(problem, codebook, wanted, n_hard, settings.tol)
        n_passes += 2 * COOL_LEVELS + partition.n_steps
        finishes.append((levels if choose else levels + cooled, partition))
    levels, partition = min(finishes, key=lambda finish: finish[1].distortion)
    return replace(growth, levels=levels), partition, n_passes

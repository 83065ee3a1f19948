"""Problems and schedules for the tests of annealing."""

import numpy as np

from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.problem import Problem
from odalib.inference.annealing.rows import RowBlocks
from odalib.inference.annealing.schedule import Schedule, Settings
from tests.oracles.divergences import draw_rows

__all__ = [
    "make_problem",
    "make_schedule",
    "make_settings",
    "mean_codebook",
    "random_codebook",
    "random_problem",
]


def make_problem(X, divergence, row_weights=None, *, seed=0, n_jobs=1):
    """Problem of some rows, without the centring that a fit begins with."""
    if row_weights is None:
        row_weights = np.ones(X.shape[0])
    rows = RowBlocks(X, row_weights, n_jobs=n_jobs)
    bound = as_divergence(divergence).bind(rows)
    return Problem(rows, bound, seed)


def random_problem(name, shape=(60, 3), seed=0):
    """Problem of random rows with random weights, and those."""
    X = draw_rows(name, *shape, seed)
    row_weights = np.random.default_rng(seed + 1).uniform(0.2, 2.0, size=shape[0])
    return make_problem(X, name, row_weights), X, row_weights


def random_codebook(X, n_codevectors, seed=0):
    """Codevectors near some of the rows, and random weights."""
    random = np.random.default_rng(seed)
    chosen = random.choice(len(X), size=n_codevectors, replace=False)
    points = 0.7 * X[chosen] + 0.3 * X.mean(axis=0)
    return Codebook(points, random.dirichlet(np.full(n_codevectors, 3.0)))


def mean_codebook(X, row_weights=None):
    return Codebook(np.average(X, axis=0, weights=row_weights)[np.newaxis], np.ones(1))


def make_schedule(**changes):
    """Schedule of growth by critical temperatures, with some settings changed."""
    settings = {
        "n_codevectors": 8,
        "split": "critical",
        "cooling": 0.7,
        "max_temperature": None,
        "min_temperature": None,
        "target_distortion": None,
        "merge_tol": 1.0,
        "idle_tol": 1e-6,
        "tol": None,
        "max_steps": 2,
        "axis_passes": 2,
        "max_iter": 10_000,
        "batch_size": None,
    }
    return Schedule(**(settings | changes))


def make_settings(
    *,
    divergence="squared_euclidean",
    choose=False,
    stream_batch_size=256,
    memory=None,
    seed=0,
    tol=1e-4,
    **changes,
):
    """Settings of a fit; further keywords change the schedule."""
    return Settings(
        divergence=as_divergence(divergence),
        schedule=make_schedule(**changes),
        choose=choose,
        tol=tol,
        seed=seed,
        stream_batch_size=stream_batch_size,
        memory=memory,
    )

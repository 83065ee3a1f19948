"""Local models follow a partition that moves, since they average over fewer rows.

Their error relative to the best models of the present cells is

    mean (prediction - best prediction)^2 / mean (y - best prediction)^2

over fresh rows, the best models being least squares on these with the cells as they
stand. Without noise in what they learnt from it would be zero.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.bifurcation import split
from odalib.inference.annealing.lineage import split_of
from odalib.inference.annealing.local import moments
from odalib.inference.annealing.local.association import associate
from odalib.inference.annealing.warm_up import WarmUp

from .regressions import regression_settings, spec_of

N_CELLS, N_ROWS, WARM_UP, EVERY, N_FRESH = 3, 14_048, 2048, 500, 3000
SEEDS = range(3)


@dataclass(frozen=True)
class Motion:
    """A window of three cells, each of width one, that moves after the warm-up.

    ``window`` is where it begins at a row, and ``memory`` that of the partition.
    """

    window: Callable
    memory: float | None


# By 0.2 cell widths in a memory, for ever: the partition trails behind. And by a cell
# width in all, ever slower, the partition averaging over all rows: it converges.
DRIFTING = Motion(lambda row: 0.2 / 2048.0 * np.maximum(row - WARM_UP, 0), 2048.0)
CONVERGING = Motion(
    lambda row: 1.0 - np.exp(-np.maximum(row - WARM_UP, 0) / 6000.0), None
)
# The noise is about what the best models of cells miss without it.
LINEAR = {"slopes": True, "blend": False}, 0.1
CONSTANT = {"slopes": False, "blend": False}, 0.3
BLENDED = {"slopes": True, "blend": True}, 0.1

motions = pytest.mark.parametrize(
    "motion", [DRIFTING, CONVERGING], ids=["drifting", "converging"]
)
models = pytest.mark.parametrize(
    "model", [LINEAR, CONSTANT, BLENDED], ids=["linear", "constant", "blended"]
)


def relative_errors(model, motion, memory, seed):
    """Errors of the local models every 500 rows, and how far cells moved."""
    changes, noise = model
    random = np.random.default_rng(seed)

    def draw(begins):
        x = begins + N_CELLS * random.random(len(begins))
        y = np.sin(x) + noise * random.normal(size=len(x))
        return Batch(x[:, np.newaxis], np.ones(len(x)), y[:, np.newaxis])

    batch = draw(motion.window(np.arange(N_ROWS)))
    spec = spec_of(ridge=1e-3, global_ridge=0.0, warmth=1.0, **changes)
    settings = regression_settings(spec, n_codevectors=N_CELLS, memory=memory)
    stream = WarmUp(fixed(settings), np.dtype(float)).learn(batch[:WARM_UP])
    begun, errors = np.sort(stream.codebook.points[:, 0]), []
    for start in range(WARM_UP, N_ROWS, EVERY):
        stop = min(start + EVERY, N_ROWS)
        stream = stream.learn(batch[start:stop])
        fresh = draw(np.full(N_FRESH, motion.window(stop)))
        errors.append(relative_error(stream.flushed(), fresh))
    moved = np.sort(stream.codebook.points[:, 0]) - begun
    return np.array(errors), moved.mean()


def fixed(settings):
    """Settings of which nothing is chosen on rows held out."""
    spec = type("Fixed", (type(settings.local_models),), {"tuned": as_given})
    return replace(settings, local_models=spec(**vars(settings.local_models)))


def as_given(spec, batch, settings, n_jobs, parents=None):
    return settings


def relative_error(stream, fresh):
    layer = stream.layers[-1]
    partition, cells = layer.partition, layer.cells
    rows = fresh.rows - partition.shift
    values, _ = cells.predict(rows, partition, None)
    share = associate(rows, partition, None, cells.temperature)
    best = np.zeros_like(values)
    for own in share:
        inside = own > 0.0
        design = np.ones((inside.sum(), 1))
        if cells.sums.z.shape[1]:
            design = np.hstack([design, rows[inside]])
        root = np.sqrt(own[inside])[:, np.newaxis]
        targets = root * fresh.targets[inside]
        model, *_ = np.linalg.lstsq(root * design, targets, rcond=None)
        best[inside] += own[inside, np.newaxis] * (design @ model)
    missed = np.mean((fresh.targets - best) ** 2)
    return np.mean((values - best) ** 2) / missed


@models
@motions
def test_local_models_track_a_partition_that_moves(model, motion):
    for seed in SEEDS:
        errors, moved = relative_errors(model, motion, motion.memory, seed)
        assert moved > 0.15
        assert errors.max() < 0.05


@models
@motions
def test_with_the_scales_swapped_they_do_not(model, motion, monkeypatch):
    """A partition that forgets fast, and local models that average over all rows."""
    monkeypatch.setattr(moments, "LOCAL_SHARE", 1e18)
    monkeypatch.setattr(moments, "INHERITED_ROWS", 1e18)
    for seed in SEEDS:
        errors, moved = relative_errors(model, motion, 512.0, seed)
        assert moved > 0.5
        assert errors[-8:].min() > 0.2


def error_after_a_split(seed):
    """Of constants, 600 rows after every cell was split into halves."""
    random = np.random.default_rng(seed)

    def draw(n_rows):
        x = N_CELLS * random.random(n_rows)
        y = np.sin(x) + 0.1 * random.normal(size=n_rows)
        return Batch(x[:, np.newaxis], np.ones(n_rows), y[:, np.newaxis])

    spec = spec_of(slopes=False, blend=False, ridge=1e-3)
    settings = fixed(regression_settings(spec, n_codevectors=N_CELLS))
    stream = WarmUp(settings, np.dtype(float)).learn(draw(WARM_UP))
    (layer,) = stream.layers
    divergence, chosen = layer.solution.divergence, np.ones(N_CELLS, dtype=bool)
    ones, steps = np.ones((N_CELLS, 1)), np.full(N_CELLS, 0.0625)
    codebook = split(layer.codebook, divergence, ones, steps, chosen)
    cells = layer.cells.inherit(split_of(chosen))
    settings = fixed(regression_settings(spec, n_codevectors=len(codebook)))
    layer = replace(layer, settings=settings, codebook=codebook, cells=cells)
    stream = replace(stream, layers=(layer,)).learn(draw(600))
    return relative_error(stream.flushed(), draw(N_FRESH))


def test_cells_that_split_are_tracked_soon(monkeypatch):
    """What they inherit counts for few rows; not so, were it for all that it sums."""
    errors = [error_after_a_split(seed) for seed in SEEDS]
    assert max(errors) < 0.05
    monkeypatch.setattr(moments, "INHERITED_ROWS", 1e18)
    assert min(error_after_a_split(seed) for seed in SEEDS) > 0.1

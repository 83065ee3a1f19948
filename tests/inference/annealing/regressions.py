"""Batches, partitions and settings for the tests of regression in cells."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import as_divergence
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.local.regression import CellRegression
from tests.oracles.divergences import draw_rows

from .problems import make_settings, random_codebook

__all__ = [
    "curved_batch",
    "dense",
    "partition_of",
    "regression_settings",
    "spec_of",
    "tree_partition",
]


def curved_batch(name="squared_euclidean", n_rows=80, n_features=3, seed=0):
    """Rows with random weights, and two targets that are curved in them."""
    x, random = draw_rows(name, n_rows, n_features, seed), np.random.default_rng(seed)
    slopes = random.normal(size=(n_features, 2))
    y = np.sin(x @ slopes) + 3.0 * x[:, :1] + 0.3 * random.normal(size=(n_rows, 2))
    return Batch(x, random.uniform(0.5, 2.0, n_rows), 5.0 * y + [70.0, -4.0])


def partition_of(batch, name="squared_euclidean", n_codevectors=4, shift=None, seed=0):
    """Partition by codevectors near some rows; points are less the shift."""
    codebook = random_codebook(dense(batch.rows), n_codevectors, seed)
    if shift is not None:
        codebook = codebook.moved(codebook.points - shift, codebook.weights)
    return Partition(as_divergence(name), codebook, shift)


def tree_partition(partition, cells):
    """The codevectors as children of some cells."""
    codebook = partition.codebook
    groups = np.asarray(cells) * MAX_CLASSES
    return replace(
        partition, codebook=Codebook(codebook.points, codebook.weights, groups)
    )


def spec_of(**changes):
    """Settings of linear models that blend, with nothing to choose."""
    defaults = {
        "slopes": True,
        "blend": True,
        "metric_features": 0.0,
        "ridge": 2.0,
        "global_ridge": 3.0,
        "warmth": 1.6,
    }
    return CellRegression(**(defaults | changes))


def regression_settings(spec, **changes):
    return replace(make_settings(**changes), local_models=spec)


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows

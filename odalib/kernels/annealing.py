"""Annealing kernels: the compiled ones for dense rows where they were built.

Signatures and meaning are those of `odalib.kernels.reference.annealing`, which serves
sparse rows, and all rows where no compiler was at hand.
"""

from types import ModuleType
from typing import Any

import numpy as np

from odalib.kernels.compiled import load
from odalib.kernels.reference import annealing as reference
from odalib.kernels.reference import axes as reference_axes
from odalib.kernels.reference import hashes as reference_hashes
from odalib.kernels.reference.annealing import (
    cell_axis_sums,
    differs_from_own,
    gibbs_association,
    log_weights,
    moved,
    negative_divergence,
    own_products,
    tangent_planes,
    weighted_sums,
)
from odalib.kernels.reference.hashes import entry_owners

compiled = load("annealing")

__all__ = [
    "cell_axis_sums",
    "cell_sums",
    "compiled",
    "differs_from_own",
    "entry_owners",
    "follow",
    "gibbs_association",
    "gibbs_sums",
    "log_weights",
    "moved",
    "nearest",
    "nearest_cells",
    "negative_divergence",
    "own_products",
    "row_hashes",
    "scaled_means",
    "takes",
    "tangent_planes",
    "uniforms",
    "unit_axes",
    "weighted_sums",
]


def gibbs_sums(rows, *arguments):
    """As `reference.gibbs_sums`."""
    return _serving(rows).gibbs_sums(rows, *arguments)


def cell_sums(rows, *arguments):
    """As `reference.cell_sums`."""
    return _serving(rows).cell_sums(rows, *arguments)


def nearest(rows, *arguments):
    """As `reference.nearest`."""
    return _serving(rows).nearest(rows, *arguments)


def nearest_cells(rows, *arguments):
    """As `reference.nearest_cells`."""
    return _serving(rows).nearest_cells(rows, *arguments)


def takes(rows):
    """Whether the compiled kernels serve rows of this kind."""
    return _serving(rows) is not reference


def follow(rows, row_weights, starts, steps, points, weights, divergence, *others):
    """As `reference.follow`."""
    arguments = rows, row_weights, starts, steps, points, weights
    kernels, formula = _serving(rows), divergence.formula
    if kernels is reference or formula is None:
        return reference.follow(*arguments, divergence, *others, sums=gibbs_sums)
    if len(starts) == len(row_weights):
        precision = getattr(divergence, "precision", None)
        return kernels.follow_rows(*arguments, formula, precision, *others)
    if formula == "squared_euclidean":
        return kernels.follow_batches(*arguments, *others)
    return reference.follow(*arguments, divergence, *others, sums=gibbs_sums)


def row_hashes(rows, starts, salts):
    """As `reference.hashes.row_hashes`."""
    kernels = _serving(rows)
    kernels = reference_hashes if kernels is reference else kernels
    return kernels.row_hashes(rows, starts, salts)


def uniforms(hashes, salt):
    """As `reference.hashes.uniforms`."""
    return (compiled or reference_hashes).uniforms(hashes, salt)


def scaled_means(sums, weight):
    """As `reference.axes.scaled_means`."""
    return _of_axes(sums).scaled_means(sums, weight)


def unit_axes(vectors, curvature, scale):
    """As `reference.axes.unit_axes`."""
    return _of_axes(vectors).unit_axes(vectors, curvature, scale)


def _of_axes(vectors):
    kernels = _serving(vectors)
    return reference_axes if kernels is reference else kernels


def _serving(rows: Any) -> ModuleType:
    """Kernels that serve rows of this kind."""
    is_dense = isinstance(rows, np.ndarray) and rows.flags.c_contiguous
    if compiled is None or not is_dense or rows.dtype != np.float64:
        return reference
    return compiled

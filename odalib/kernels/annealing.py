"""Annealing kernels: the compiled ones for dense rows where they were built.

Signatures and meaning are those of `odalib.kernels.reference.annealing`, which serves
sparse rows, and all rows where no compiler was at hand.
"""

from types import ModuleType
from typing import Any

import numpy as np

from odalib.kernels.compiled import load
from odalib.kernels.reference import annealing as reference
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
from odalib.kernels.reference.hashes import row_hashes as reference_hashes

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
    "tangent_planes",
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
    hashes = reference_hashes if kernels is reference else kernels.row_hashes
    return hashes(rows, starts, salts)


def _serving(rows: Any) -> ModuleType:
    """Kernels that serve rows of this kind."""
    is_dense = isinstance(rows, np.ndarray) and rows.flags.c_contiguous
    if compiled is None or not is_dense or rows.dtype != np.float64:
        return reference
    return compiled

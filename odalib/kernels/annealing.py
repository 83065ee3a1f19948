"""Annealing kernels: the compiled ones for dense rows where they were built.

Signatures and meaning are those of `odalib.kernels.reference.annealing`, which serves
sparse rows, and all rows where no compiler was at hand.
"""

import numpy as np

from odalib.kernels.compiled import load
from odalib.kernels.reference import annealing as reference
from odalib.kernels.reference.annealing import (
    cell_axis_sums,
    cell_sums,
    differs_from_own,
    gibbs_association,
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
    "moved",
    "nearest",
    "negative_divergence",
    "own_products",
    "row_hashes",
    "tangent_planes",
    "weighted_sums",
]


def gibbs_sums(rows, *arguments):
    """As `reference.gibbs_sums`."""
    kernels = compiled if _is_served(rows) else reference
    return kernels.gibbs_sums(rows, *arguments)


def nearest(rows, *arguments):
    """As `reference.nearest`."""
    kernels = compiled if _is_served(rows) else reference
    return kernels.nearest(rows, *arguments)


def follow(rows, row_weights, starts, steps, points, weights, divergence, *others):
    """As `reference.follow`."""
    arguments = rows, row_weights, starts, steps, points, weights
    formula = divergence.formula if _is_served(rows) else None
    one_by_one = len(starts) == len(row_weights)
    if formula == "squared_euclidean" and not one_by_one:
        return compiled.follow_batches(*arguments, *others)
    if formula is None or not one_by_one:
        return reference.follow(*arguments, divergence, *others, sums=gibbs_sums)
    precision = getattr(divergence, "precision", None)
    return compiled.follow_rows(*arguments, formula, precision, *others)


def row_hashes(rows, starts, salts):
    """As `reference.hashes.row_hashes`."""
    if not _is_served(rows):
        return reference_hashes(rows, starts, salts)
    return compiled.row_hashes(rows, starts, salts)


def _is_served(rows):
    """Whether compiled kernels take such rows."""
    is_dense = isinstance(rows, np.ndarray) and rows.flags.c_contiguous
    return compiled is not None and is_dense and rows.dtype == np.float64

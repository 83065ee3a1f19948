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
    entry_owners,
    gibbs_association,
    negative_divergence,
    own_products,
    weighted_sums,
)

compiled = load("annealing")

__all__ = [
    "cell_axis_sums",
    "cell_sums",
    "compiled",
    "differs_from_own",
    "entry_owners",
    "gibbs_association",
    "gibbs_sums",
    "nearest",
    "negative_divergence",
    "own_products",
    "weighted_sums",
]


def gibbs_sums(rows, *arguments):
    """As `reference.gibbs_sums`."""
    return _serving(rows).gibbs_sums(rows, *arguments)


def nearest(rows, *arguments):
    """As `reference.nearest`."""
    return _serving(rows).nearest(rows, *arguments)


def _serving(rows):
    """Kernels that serve rows of this kind."""
    is_dense = isinstance(rows, np.ndarray) and rows.flags.c_contiguous
    if compiled is None or not is_dense or rows.dtype != np.float64:
        return reference
    return compiled

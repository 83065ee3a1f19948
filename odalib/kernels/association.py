"""Kernels of predictions: the compiled ones for dense rows where they were built.

Signatures and meaning are those of `odalib.kernels.reference.association`, which serves
sparse rows, and all rows where no compiler was at hand.
"""

import numpy as np

from odalib.kernels.compiled import load
from odalib.kernels.reference import association as reference

compiled = load("association")

__all__ = [
    "both_sides",
    "class_votes",
    "compiled",
    "largest_size",
    "latent_moments",
    "probit_sides",
    "row_sums",
]


def largest_size(rows):
    """As `reference.largest_size`."""
    return _serving(rows).largest_size(rows)


def row_sums(rows, *arguments):
    """As `reference.row_sums`."""
    return _serving(rows).row_sums(rows, *arguments)


def class_votes(rows, *arguments):
    """As `reference.class_votes`."""
    return _serving(rows).class_votes(rows, *arguments)


def latent_moments(rows, *arguments):
    """As `reference.latent_moments`."""
    return _serving(rows).latent_moments(rows, *arguments)


def both_sides(margins):
    """As `reference.both_sides`."""
    return (reference if compiled is None else compiled).both_sides(margins)


def probit_sides(rows, *arguments):
    """As `reference.probit_sides`."""
    return _serving(rows).probit_sides(rows, *arguments)


def _serving(rows):
    """Kernels that serve rows of this kind."""
    is_dense = isinstance(rows, np.ndarray) and rows.ndim == 2
    if compiled is None or not is_dense or rows.dtype != np.float64:
        return reference
    return compiled if rows.flags.c_contiguous else reference

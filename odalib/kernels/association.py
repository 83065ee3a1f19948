"""Kernels of predictions: the compiled ones for dense rows where they were built.

Signatures and meaning are those of `odalib.kernels.reference.association` and
`odalib.kernels.reference.coupling`, which serve sparse rows, and all rows where no
compiler was at hand.
"""

import numpy as np

from odalib.kernels.compiled import load
from odalib.kernels.reference import association as reference
from odalib.kernels.reference import coupling

compiled = load("association")

__all__ = [
    "both_sides",
    "class_votes",
    "compiled",
    "couple_margins",
    "largest_size",
    "latent_moments",
    "probit_sides",
    "row_sums",
    "sure_winners",
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


def couple_margins(margins):
    """As `coupling.couple_margins`."""
    return (coupling if compiled is None else compiled).couple_margins(margins)


def probit_sides(rows, *arguments):
    """As `reference.probit_sides`."""
    return _serving(rows).probit_sides(rows, *arguments)


def sure_winners(rows, *arguments):
    """As `coupling.sure_winners`."""
    return _serving(rows, coupling).sure_winners(rows, *arguments)


def _serving(rows, plain=reference):
    """Kernels that serve rows of this kind: compiled or, in NumPy, plain ones."""
    is_dense = isinstance(rows, np.ndarray) and rows.ndim == 2
    if compiled is None or not is_dense or rows.dtype != np.float64:
        return plain
    return compiled if rows.flags.c_contiguous else plain

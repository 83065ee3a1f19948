"""Kernels of assumed-density filtering: the compiled ones where they were built.

Signatures and meaning are those of `odalib.kernels.reference.adf`, which serves where
no compiler was at hand, and factors that are no triangles.
"""

from odalib.kernels.compiled import load
from odalib.kernels.reference import adf as reference
from odalib.kernels.reference.adf import relax_features

compiled = load("adf")

__all__ = [
    "compiled",
    "learn_covariance",
    "learn_diagonal",
    "learn_factor",
    "relax_features",
]

learn_covariance = (compiled or reference).learn_covariance
learn_diagonal = (compiled or reference).learn_diagonal


def learn_factor(mean, factor, *arguments):
    """As `reference.learn_factor`."""
    serving = compiled if compiled and compiled.is_unit_triangle(factor) else reference
    serving.learn_factor(mean, factor, *arguments)

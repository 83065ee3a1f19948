"""Kernels of expectation propagation: the compiled ones where they were built.

Signatures and meaning are those of `odalib.kernels.reference.propagation`.
"""

from odalib.kernels.compiled import load
from odalib.kernels.reference import propagation as reference

compiled = load("propagation")

__all__ = ["compiled", "match_block"]

match_block = (compiled or reference).match_block

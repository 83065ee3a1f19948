"""Kernels of pairwise models: the compiled ones where they were built.

Signatures and meaning are those of `odalib.kernels.reference.pairwise`, which serves
where no compiler was at hand.
"""

from odalib.kernels.compiled import load
from odalib.kernels.reference import pairwise as reference

compiled = load("pairwise")
_serving = reference if compiled is None else compiled

fields_beside = _serving.fields_beside
passed_messages = _serving.passed_messages
gibbs_sweep = _serving.gibbs_sweep

__all__ = ["compiled", "fields_beside", "gibbs_sweep", "passed_messages"]

"""Solvers: one file per way to the fixed point of expectation propagation."""

from odalib.inference.ep.solvers.double_loop import DoubleLoop
from odalib.inference.ep.solvers.parallel import Parallel
from odalib.inference.ep.solvers.sequential import (
    BLOCK,
    Sequential,
    SinglePass,
)
from odalib.inference.ep.solvers.variational import Variational

__all__ = ["ITERATIVE", "SOLVERS"]

SOLVERS = {
    "parallel": Parallel(),
    "sequential": Sequential(block_size=1),
    "blocked": Sequential(block_size=BLOCK),
    "double_loop": DoubleLoop(),
    "single_pass": SinglePass(),
    "variational": Variational(),
}
# Those that iterate until nothing changes.
ITERATIVE = tuple(name for name in SOLVERS if name != "single_pass")

"""Where the compiled kernels are, and whether they were built."""

from importlib import import_module
from types import ModuleType

__all__ = ["FAMILIES", "load"]

FAMILIES = ("adf", "annealing", "association", "pairwise", "propagation")


def load(family: str) -> ModuleType | None:
    """Return compiled kernels, None where odalib was installed without a compiler."""
    name = f"odalib.kernels._{family}"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        # What is there and cannot be loaded is a fault.
        if error.name != name:
            raise
        return None

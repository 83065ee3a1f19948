"""Pictures of fitted estimators; they need matplotlib (``odalib[plot]``)."""

from odalib.inspection.annealing_path import AnnealingPathDisplay

__all__ = ["AnnealingPathDisplay"]

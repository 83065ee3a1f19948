"""Fitted estimators as pictures, which need matplotlib (``odalib[plot]``), and text."""

from odalib.inspection.annealing_path import AnnealingPathDisplay
from odalib.inspection.tree_text import export_text

__all__ = ["AnnealingPathDisplay", "export_text"]

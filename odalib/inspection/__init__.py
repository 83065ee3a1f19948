"""Fitted estimators as pictures, which need matplotlib (``odalib[plot]``), and text."""

from odalib.inspection.annealing_path import AnnealingPathDisplay
from odalib.inspection.codebook import CodebookDisplay
from odalib.inspection.coupling_graph import CouplingGraphDisplay
from odalib.inspection.evidence import EvidenceDisplay
from odalib.inspection.posterior import PosteriorDisplay
from odalib.inspection.predictive import PredictiveProbabilityDisplay
from odalib.inspection.prequential import PrequentialDisplay
from odalib.inspection.prototypes import PrototypesDisplay
from odalib.inspection.tree_display import TreeDisplay
from odalib.inspection.tree_text import export_text

__all__ = [
    "AnnealingPathDisplay",
    "CodebookDisplay",
    "CouplingGraphDisplay",
    "EvidenceDisplay",
    "PosteriorDisplay",
    "PredictiveProbabilityDisplay",
    "PrequentialDisplay",
    "PrototypesDisplay",
    "TreeDisplay",
    "export_text",
]

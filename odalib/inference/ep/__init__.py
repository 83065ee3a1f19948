"""Expectation propagation: solver x Gaussian model x likelihood."""

from odalib.inference.ep.solve import Inference, infer

__all__ = ["Inference", "infer"]

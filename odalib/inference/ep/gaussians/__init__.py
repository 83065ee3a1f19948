"""Gaussian models: what a Gaussian prior times Gaussian sites amounts to."""

from odalib.inference.ep.gaussians.covariance import Covariance
from odalib.inference.ep.gaussians.linear import linear_map
from odalib.inference.ep.gaussians.precision import Precision

__all__ = ["Covariance", "Precision", "linear_map"]

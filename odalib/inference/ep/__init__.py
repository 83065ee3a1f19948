"""Expectation propagation: solver x Gaussian model x likelihood."""

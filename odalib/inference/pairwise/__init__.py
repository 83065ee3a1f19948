"""Pairwise models: exact inference, mean field, belief propagation, adaptive TAP."""

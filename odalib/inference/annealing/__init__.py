"""Deterministic annealing, in memory and from a stream."""

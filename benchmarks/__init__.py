"""Benchmarks of odalib: one script per claim, each against a peer in the same run."""

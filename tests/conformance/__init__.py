"""Checks that every estimator of the suite joins by one line in ``registry.py``."""

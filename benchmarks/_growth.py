"""Exponents of growth: costs at several sizes, and the slope of their logarithms."""

from statistics import median
from time import process_time

import numpy as np

N_RUNS = 5
# Quicker tasks are called as often as this takes, since clocks are coarse.
SHORTEST_RUN = 0.1


def processor_seconds(task):
    """Return the median processor seconds of a call, after one that is not counted."""
    task()
    n_calls = 1 + int(SHORTEST_RUN / max(_run_seconds(task, 1), 1e-6))
    return median(_run_seconds(task, n_calls) for _ in range(N_RUNS)) / n_calls


def _run_seconds(task, n_calls):
    start = process_time()
    for _ in range(n_calls):
        task()
    return process_time() - start


def fitted_exponent(sizes, costs):
    """Return a of the least-squares fit log(cost) = a log(size) + b.

    Parameters
    ----------
    sizes, costs : sequence of float
        Positive, at least four sizes.

    Returns
    -------
    float
    """
    if len(sizes) < 4:
        raise ValueError(f"An exponent needs at least four sizes, not {len(sizes)}.")
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])

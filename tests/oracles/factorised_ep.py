"""Expectation propagation with a factorised family of discrete variables.

Slow and obvious, for factors of any arity: every factor has one message for each of its
variables, and is matched by summing over the states of all of them.
"""

import itertools
import math

import numpy as np

__all__ = ["factorised_ep"]


def factorised_ep(n, values, factors, tol=1e-14, max_iter=2000):
    """Iterate to the fixed point, one factor after the other.

    Parameters
    ----------
    n : int
        Number of variables.
    values : sequence of float
        That each of them takes.
    factors : list of (tuple of int, callable)
        Variables of a factor, and the factor as a function of their values.

    Returns
    -------
    marginals : array of shape (n, len(values))
    log_partition : float
    """
    messages = [{i: np.ones(len(values)) for i in scope} for scope, _ in factors]

    def product(i, without=None):
        belief = np.ones(len(values))
        for number, message in enumerate(messages):
            if i in message and number != without:
                belief = belief * message[i]
        return belief

    def tilted(number):
        scope, factor = factors[number]
        cavities = [product(i, without=number) for i in scope]
        total, marginals = 0.0, np.zeros((len(scope), len(values)))
        for state in itertools.product(range(len(values)), repeat=len(scope)):
            mass = factor(*(values[k] for k in state))
            for cavity, k in zip(cavities, state, strict=True):
                mass *= cavity[k]
            total += mass
            for place, k in enumerate(state):
                marginals[place, k] += mass
        return total, marginals, cavities

    for _ in range(max_iter):
        moved = 0.0
        for number, (scope, _) in enumerate(factors):
            _, marginals, cavities = tilted(number)
            for place, i in enumerate(scope):
                new = marginals[place] / cavities[place]
                new = new / new.sum()
                moved = max(moved, np.abs(new - messages[number][i]).max())
                messages[number][i] = new
        if moved < tol:
            break
    log_partition = 0.0
    for number, (scope, _) in enumerate(factors):
        total, _, cavities = tilted(number)
        log_partition += math.log(total)
        for cavity, i in zip(cavities, scope, strict=True):
            log_partition -= math.log(cavity @ messages[number][i])
    beliefs = np.array([product(i) for i in range(n)])
    log_partition += np.log(beliefs.sum(axis=1)).sum()
    return beliefs / beliefs.sum(axis=1, keepdims=True), log_partition

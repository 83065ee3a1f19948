"""Damped iteration towards a fixed point, the rule that all plain methods share."""

from dataclasses import dataclass

import numpy as np

__all__ = ["MAX_ITER", "FixedPoint", "find_fixed_point", "growth", "shortfall"]

# Iterations unless said otherwise: each costs a product with the couplings.
MAX_ITER = 1000
# The rule "brake and recover": a step is shortened where the residual rose, and
# lengthened a little, up to a whole one, where it did not.
BRAKE, RECOVER = 0.7, 1.05
# Steps after which a perturbation grows at the rate of the largest eigenvalue, nearly,
# and the last of them, over which the rate is averaged.
SETTLED, AVERAGED = 60, 20


@dataclass(frozen=True)
class FixedPoint:
    """Where an iteration ended.

    Attributes
    ----------
    state : array
    residuals : list of float
        Largest change that one more undamped step makes, for every state visited.
    failure : str
        Empty where the iteration converged.
    """

    state: np.ndarray
    residuals: list[float]
    failure: str


def find_fixed_point(update, state, tol, max_iter):
    """Iterate ``state <- state + damping (update(state) - state)``.

    Parameters
    ----------
    update : callable
        From a state to the next, both arrays of one shape.
    state : array
    tol : float
        Largest residual, in the unit of the state.
    max_iter : int

    Returns
    -------
    FixedPoint
    """
    damping = 1.0
    residuals: list[float] = []
    while True:
        change = update(state)
        change -= state
        residuals.append(float(np.abs(change).max(initial=0.0)))
        if residuals[-1] <= tol or len(residuals) == max_iter:
            failure = "" if residuals[-1] <= tol else shortfall(residuals)
            return FixedPoint(state, residuals, failure)
        if len(residuals) > 1:
            rose = residuals[-1] > residuals[-2]
            damping = min(1.0, damping * (BRAKE if rose else RECOVER))
        change *= damping
        change += state
        state = change


def shortfall(residuals):
    """Say what a run lacks that has not converged."""
    return f"after {len(residuals)} iterations the residual is {residuals[-1]:.2g}"


def growth(linear, start):
    """Factor by which a step of a linear map lengthens vectors, in the long run.

    Parameters
    ----------
    linear : callable
        From an array to one of the same shape.
    start : array
        With a component along every direction.

    Returns
    -------
    float
    """
    vector, logs = start / np.linalg.norm(start), []
    for _ in range(SETTLED):
        vector = linear(vector)
        length = np.linalg.norm(vector)
        if length == 0.0:
            return 0.0
        vector /= length
        logs.append(np.log(length))
    return float(np.exp(np.mean(logs[-AVERAGED:])))

"""All copies of a site at once: matched to each other's posterior."""

import numpy as np

from odalib.inference.ep.likelihood import Cavity, Match

__all__ = ["match_copies"]

# Newton steps, their difference quotients, and the error at which the copies agree.
STEPS, NUDGE, AGREED, SINGULAR = 15, 1e-5, 1e-12, 1e-9
# The copies join by doubling, each time from what as many as half of them agreed on.
# More than so many do that on the first sweep only, which takes long enough.
GROWTH, MANY = 1.5, 1e5
SHORTEST = 1e-4


def match_copies(likelihood, number, count, rest, first, present):
    """Site that matches a cavity which holds all copies of it but one.

    Copies that each waited for the next sweep would overshoot, as parallel updates
    do. Solves ``(tau, nu) = match(rest + (count - 1) (tau, nu))`` by Newton steps in
    ``log tau`` and ``nu / sqrt(tau)``.

    Parameters
    ----------
    likelihood : Likelihood
        Log-concave.
    number : int
        Which site.
    count : float
        Copies of it.
    rest : (float, float)
        Precision and shift of the latent value without any copy.
    first : Match
        Of one copy alone.
    present : (float, float)
        Precision and shift of one copy now; of no precision at the first sweep.

    Returns
    -------
    precision, shift : float
        Of one copy.
    """
    agreed = False
    if present[0] > 0:
        root = np.sqrt(present[0])
        point = np.array([2.0 * np.log(root), present[1] / root])
        point, agreed = agree(likelihood, number, count, rest, point)
    if not (agreed or (present[0] > 0 and count > MANY)):
        point, joined = coordinates(first)[0], 1.0
        while joined < count:
            growth = min(GROWTH, count / joined)
            joined *= growth
            # As much information as before, from more copies.
            point = np.array([point[0] - np.log(growth), point[1] / np.sqrt(growth)])
            point, _ = agree(likelihood, number, joined, rest, point)
    precision = np.exp(point[0])
    return precision, point[1] * np.sqrt(precision)


def agree(likelihood, number, count, rest, point):
    """Find the fixed point of so many copies, by Newton steps from a point near it.

    Returns
    -------
    point : array of shape (2,)
        As near as they come.
    agreed : bool
    """

    def matched(points):
        precision = np.exp(points[:, 0])
        shift = points[:, 1] * np.sqrt(precision)
        cavity = Cavity(
            rest[0] + (count - 1.0) * precision,
            rest[1] + (count - 1.0) * shift,
            np.ones(len(points)),
        )
        return coordinates(likelihood.match(cavity, np.full(len(points), number)))

    nudges = NUDGE * np.eye(2)
    for _ in range(STEPS):
        here, *there = matched(np.vstack([point, point + nudges]))
        error = here - point
        if not np.abs(error).max() > AGREED:
            return point, not np.isnan(error).any()
        slope = np.transpose([(image - here) / NUDGE for image in there])
        if not abs(np.linalg.det(np.eye(2) - slope)) > SINGULAR:
            return point, False
        step = np.linalg.solve(np.eye(2) - slope, error)
        length = min(1.0, 1.0 / np.abs(step).max())
        while length > SHORTEST:
            following = point + length * step
            left = matched(following[np.newaxis])[0] - following
            if np.abs(left).max() < np.abs(error).max():
                break
            length /= 2.0
        else:
            return point, False
        point = following
    return point, False


def coordinates(match: Match) -> np.ndarray:
    """``log tau`` and ``nu / sqrt(tau)`` of sites, shape (k, 2); NaN for tau = 0."""
    root = np.sqrt(np.where(match.precision > 0, match.precision, np.nan))
    return np.stack([2.0 * np.log(root), match.shift / root], axis=1)

"""Local models from the rows themselves: pseudo-rows literally appended, plain loops.

The divergence enters as ``d(x, mu)``.
"""

import math

import numpy as np

__all__ = [
    "blended",
    "constants",
    "global_line",
    "local_lines",
    "mean_of_nearest",
    "slow_association",
]

# Share of the pseudo-rows that hold the intercept, and the least spread.
INTERCEPT_SHARE, LEAST_SPREAD = 0.3, 1e-6


def slow_association(d, rows, codebook, temperature, parents=None, cells=None):
    """Gibbs association, or that of the nearest for None, shape (K, n).

    Rows know the codevectors whose cell is theirs, where parents are given.
    """
    result = np.zeros((len(codebook.points), len(rows)))
    for n, x in enumerate(rows):
        own = [
            i
            for i in range(len(codebook.points))
            if parents is None or cells[i] == parents[n]
        ]
        apart = [d(x, codebook.points[i]) for i in own]
        if temperature is None:
            result[own[int(np.argmin(apart))], n] = 1.0
            continue
        odds = [
            codebook.weights[i] * math.exp(-(value - min(apart)) / temperature)
            for i, value in zip(own, apart, strict=True)
        ]
        for i, odd in zip(own, odds, strict=True):
            result[i, n] = odd / math.fsum(odds)
    return result


def mean_of_nearest(d, rows, weights, codebook, parents=None, cells=None):
    """Weighted mean divergence of rows from the nearest codevector, of their cell."""
    least = [
        min(
            d(x, mu)
            for i, mu in enumerate(codebook.points)
            if parents is None or cells[i] == parents[n]
        )
        for n, x in enumerate(rows)
    ]
    return float(np.average(least, weights=weights))


def global_line(z, y, weights, ridge):
    """Slope, intercept and scale of the fit to all rows.

    ``ridge`` rows of weight in all, at one standard deviation of every feature on
    either side of the mean, with the mean of y for targets.
    """
    mean, centre = np.average(z, axis=0, weights=weights), np.average(y, 0, weights)
    scale = np.sqrt(np.average((z - mean) ** 2, axis=0, weights=weights))
    # What is constant up to rounding.
    scale[scale < 1e-9] = 1.0
    heavy = ridge + LEAST_SPREAD * weights.sum()
    pseudo = np.vstack([mean + np.diag(scale), mean - np.diag(scale)])
    slope, intercept = least_squares(
        np.vstack([z, pseudo]),
        np.vstack([y, np.repeat(centre[np.newaxis], len(pseudo), axis=0)]),
        np.concatenate([weights, np.full(len(pseudo), heavy / 2.0)]),
    )
    return slope, intercept, scale


def local_lines(z, y, association, ridge, global_ridge):
    """Slopes (K, q, m) and intercepts (K, m) of all cells.

    The association is times the weights of the rows.
    """
    q = z.shape[1]
    slope, intercept, scale = global_line(z, y, association.sum(axis=0), global_ridge)

    def global_fit(rows):
        return rows @ slope + intercept

    means = [
        np.average(z, axis=0, weights=share) if share.any() else np.zeros(q)
        for share in association
    ]
    pooled = np.zeros((q, q))
    for share, mean in zip(association, means, strict=True):
        for weight, row in zip(share, z, strict=True):
            pooled += weight * np.outer(row - mean, row - mean)
    pooled /= association.sum() * np.outer(scale, scale)
    pooled += LEAST_SPREAD * max(np.trace(pooled), LEAST_SPREAD) * np.eye(q)
    spreads, axes = np.linalg.eigh(pooled)
    slopes, intercepts = [], []
    for share, mean in zip(association, means, strict=True):
        # 2 q rows about the mean whose covariance is that of rows within cells.
        steps = scale * (np.sqrt(q * spreads) * axes).T
        pseudo = np.vstack([mean + steps, mean - steps])
        own, _ = least_squares(
            np.vstack([z, pseudo]),
            # The global fit is right about them; where it is wrong about the rows
            # of the cell on average, the intercept says.
            np.vstack([y - global_fit(z), np.zeros((2 * q, y.shape[1]))]),
            np.concatenate([share, np.full(2 * q, ridge / (2 * q))]),
        )
        weight = share.sum() + INTERCEPT_SHARE * ridge
        wrong = share @ (y - global_fit(z)) / weight
        slopes.append(slope + own)
        intercepts.append(intercept + wrong - mean @ own)
    return np.array(slopes), np.array(intercepts)


def constants(y, association, ridge):
    """Means of cells, each mixed with so many rows at the mean of all: (K, m)."""
    centre = np.average(y, axis=0, weights=association.sum(axis=0))
    heavy = INTERCEPT_SHARE * ridge
    return np.array(
        [(share @ y + heavy * centre) / (share.sum() + heavy) for share in association]
    )


def blended(z, slopes, intercepts, association):
    """Predictions of rows, one by one, shape (n, m)."""
    return np.array(
        [
            sum(
                share * (intercept + row @ slope)
                for share, slope, intercept in zip(own, slopes, intercepts, strict=True)
            )
            for row, own in zip(z, association.T, strict=True)
        ]
    )


def least_squares(z, y, weights):
    """Slope and intercept of weighted rows."""
    root = np.sqrt(weights)[:, np.newaxis]
    design = root * np.hstack([z, np.ones((len(z), 1))])
    solution, *_ = np.linalg.lstsq(design, root * y, rcond=None)
    return solution[:-1], solution[-1]

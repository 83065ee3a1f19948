"""Linear models of cells, from sums over the rows that are associated with them."""

from dataclasses import dataclass, fields

import numpy as np

__all__ = ["CellSums", "Coefficients", "cell_sums", "fit_cells", "fit_globally"]

# Intercepts are drawn to the global fit by this share of the rows that slopes are, and
# every spread of the rows that slopes rest on is taken to be larger by this part of
# the mean spread, so that none is zero.
INTERCEPT_SHARE, LEAST_SPREAD = 0.3, 1e-6


@dataclass(frozen=True)
class CellSums:
    """Sums over the rows of every cell, by association; z are features, y targets.

    Attributes
    ----------
    weight : array of shape (K,)
    z : array of shape (K, q)
    y : array of shape (K, m)
    zz : array of shape (K, q, q)
    zy : array of shape (K, q, m)
    """

    weight: np.ndarray
    z: np.ndarray
    y: np.ndarray
    zz: np.ndarray
    zy: np.ndarray

    @classmethod
    def zeros(cls, n_cells, n_features, n_targets):
        """Make sums over no rows."""
        return cls(
            np.zeros(n_cells),
            np.zeros((n_cells, n_features)),
            np.zeros((n_cells, n_targets)),
            np.zeros((n_cells, n_features, n_features)),
            np.zeros((n_cells, n_features, n_targets)),
        )

    def __add__(self, other):
        return self._each(lambda name: getattr(self, name) + getattr(other, name))

    def scaled(self, factors):
        """Multiply the sums of every cell by its factor."""

        def scale(name):
            sums = getattr(self, name)
            return sums * factors.reshape(-1, *(1,) * (sums.ndim - 1))

        return self._each(scale)

    def inherit(self, lineage):
        """Pass sums on to the codevectors of a lineage."""
        return self._each(lambda name: _inherit(lineage, getattr(self, name)))

    def _each(self, function):
        return CellSums(**{field.name: function(field.name) for field in fields(self)})


def _inherit(lineage, sums):
    flat = lineage @ sums.reshape(len(sums), -1)
    return flat.reshape(lineage.shape[0], *sums.shape[1:])


def cell_sums(association, z, y):
    """Sum over a block of rows.

    Parameters
    ----------
    association : array of shape (K, n)
        Times the weights of the rows.
    z : array of shape (n, q)
    y : array of shape (n, m)
    """
    n_features = z.shape[1]
    products = np.empty((len(association), n_features, n_features))
    crossed = np.empty((len(association), n_features, y.shape[1]))
    for cell, share in enumerate(association):
        own = np.flatnonzero(share)
        weighted = z[own].T * share[own]
        products[cell], crossed[cell] = weighted @ z[own], weighted @ y[own]
    return CellSums(
        association.sum(axis=1), association @ z, association @ y, products, crossed
    )


@dataclass(frozen=True)
class Coefficients:
    """Linear models of all cells, ``intercept + slope' z``.

    Attributes
    ----------
    slope : array of shape (K, q, m)
    intercept : array of shape (K, m)
    """

    slope: np.ndarray
    intercept: np.ndarray

    def blend(self, association, z):
        """Predictions by association, shape (n, m)."""
        n_cells, n_features, n_targets = self.slope.shape
        result = association.T @ self.intercept
        if n_features:
            by_cell = z @ self.slope.transpose(1, 0, 2).reshape(n_features, -1)
            by_cell = by_cell.reshape(len(z), n_cells, n_targets)
            result += np.einsum("kn,nkm->nm", association, by_cell)
        return result


def fit_cells(sums, ridge, global_ridge, rounding):
    """Linear models, each drawn to the linear fit to all rows.

    Slopes minimise the squared error of a cell plus that of ``ridge`` rows on which
    the global fit is right, and which vary as rows do within cells on average.

    Parameters
    ----------
    sums : CellSums
    ridge : float
        In rows.
    global_ridge : float
        Rows that draw the global slopes to zero, of features of unit variance.
    rounding : array of shape (q,)
        Features that vary by less are constant.

    Returns
    -------
    Coefficients
    """
    total = sums.weight.sum()
    slope, intercept, scale = fit_globally(sums, global_ridge, rounding)
    unit = np.eye(len(scale))
    weight = np.where(sums.weight > 0, sums.weight, 1.0)[:, np.newaxis]
    mean = sums.z / weight
    residual = (sums.y - sums.z @ slope - sums.weight[:, np.newaxis] * intercept) / (
        weight
    )
    within = sums.zz - weight[..., np.newaxis] * mean[:, :, None] * mean[:, None, :]
    crossed = (
        sums.zy
        - sums.zz @ slope
        - sums.z[..., np.newaxis] * (intercept + residual)[:, np.newaxis]
    )
    within /= np.outer(scale, scale)
    crossed /= scale[:, np.newaxis]
    pooled = within.sum(axis=0) / total
    least = LEAST_SPREAD * max(np.trace(pooled), LEAST_SPREAD)
    own = np.linalg.solve(within + ridge * (pooled + least * unit), crossed)
    own /= scale[:, np.newaxis]
    share = sums.weight / (sums.weight + INTERCEPT_SHARE * ridge)
    shift = share[:, np.newaxis] * residual - np.einsum("kq,kqm->km", mean, own)
    return Coefficients(slope + own, intercept + shift)


def fit_globally(sums, ridge, rounding):
    """Linear fit to the rows of all cells.

    Parameters
    ----------
    sums : CellSums
    ridge : float
        Rows that draw slopes to zero, of features of unit variance.
    rounding : array of shape (q,)
        Features that vary by less are constant.

    Returns
    -------
    slope : array of shape (q, m)
    intercept : array of shape (m,)
    scale : array of shape (q,)
        Standard deviation of every feature, or one where it is constant.
    """
    total = sums.weight.sum()
    mean_z, mean_y = sums.z.sum(axis=0) / total, sums.y.sum(axis=0) / total
    covariance = sums.zz.sum(axis=0) / total - np.outer(mean_z, mean_z)
    crossed = sums.zy.sum(axis=0) / total - np.outer(mean_z, mean_y)
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    varies = scale > rounding
    scale = np.where(varies, scale, 1.0)
    covariance = np.where(np.outer(varies, varies), covariance, 0.0)
    crossed[~varies] = 0.0
    correlation = covariance / np.outer(scale, scale)
    drawn = (ridge / total + LEAST_SPREAD) * np.eye(len(scale))
    slope = np.linalg.solve(correlation + drawn, crossed / scale[:, np.newaxis])
    slope /= scale[:, np.newaxis]
    return slope, mean_y - mean_z @ slope, scale

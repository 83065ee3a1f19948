"""The divergences that odalib ships, and those that users bring."""

import numpy as np
import scipy.sparse as sp
from scipy.special import logit, xlog1py, xlogy

from odalib.inference.annealing.bregman import BregmanDivergence

__all__ = [
    "DIVERGENCES",
    "ItakuraSaito",
    "KullbackLeibler",
    "Logistic",
    "Mahalanobis",
    "SquaredEuclidean",
    "as_divergence",
]

# A codevector coordinate on the boundary of the domain has an infinite gradient.
# Gradients are taken this fraction of the column mean inside, which exceeds the
# rounding of a mean and is below anything that moves an association.
BOUNDARY = 1e-10
MAX_HALVINGS = 50
SMALLEST = 1e-140


class _Separable(BregmanDivergence):
    """``phi(x) = sum_j f(x_j)`` with ``f(0) = 0`` wherever 0 is in the domain."""

    def _elementwise(self, values):
        raise NotImplementedError

    def phi(self, rows):
        if isinstance(rows, np.ndarray):
            return self._elementwise(rows).sum(axis=1)
        terms = rows.copy()
        terms.data = self._elementwise(rows.data)
        return np.asarray(terms.sum(axis=1)).ravel()

    def shorten(self, points, steps):
        # Half way to the bound; a mean may lie beyond it by rounding.
        room = 0.5 * np.maximum(
            np.minimum(points - self.lower, self.upper - points), 0.0
        )
        return np.clip(steps, -room, room)


class SquaredEuclidean(_Separable):
    """``||x - mu||^2`` on the real numbers."""

    name = "squared Euclidean"
    formula = "squared_euclidean"
    translation_invariant = True

    def _elementwise(self, values):
        return np.square(values)

    def phi(self, rows):
        if isinstance(rows, np.ndarray):
            return np.einsum("ij,ij->i", rows, rows)
        return super().phi(rows)

    def shorten(self, points, steps):
        return steps

    def gradient(self, points):
        return 2.0 * points

    def hessian_diagonal(self, points):
        return np.full_like(points, 2.0)

    def hessian_product(self, points, vectors):
        return 2.0 * vectors

    def log_normaliser(self, temperature, n_features):
        return -0.5 * n_features * np.log(np.pi * temperature)


class Mahalanobis(BregmanDivergence):
    """Squared Mahalanobis divergence, ``(x - mu)' P (x - mu)``.

    Parameters
    ----------
    precision : array-like of shape (n_features, n_features), default=None
        Symmetric and positive semi-definite P. None learns the inverse of the
        covariance of the training rows, as ``divergence='mahalanobis'`` does;
        directions in which the rows do not vary (below 1e-10 of the largest
        variance) then carry no weight.

    Raises
    ------
    ValueError
        For a precision that is not square, finite, symmetric and positive
        semi-definite.

    Examples
    --------
    >>> from odalib import Mahalanobis, ODAClusterer
    >>> X = [[0.0, 0.0], [0.0, 9.0], [1.0, 0.0], [1.0, 9.0]]
    >>> second_feature_hardly_counts = Mahalanobis([[1.0, 0.0], [0.0, 1e-4]])
    >>> clusterer = ODAClusterer(2, divergence=second_feature_hardly_counts)
    >>> labels = clusterer.fit_predict(X)
    >>> bool(labels[0] == labels[1])
    True
    """

    name = "Mahalanobis"
    formula = "mahalanobis"
    translation_invariant = True

    def __init__(self, precision=None):
        if precision is not None:
            precision = np.array(precision, dtype=np.float64)
            if precision.ndim != 2 or precision.shape[0] != precision.shape[1]:
                raise ValueError(
                    "precision of the Mahalanobis divergence must be a square "
                    f"matrix, got shape {precision.shape}."
                )
            scale = np.abs(precision).max()
            if not np.isfinite(scale) or not np.allclose(
                precision, precision.T, rtol=0, atol=1e-10 * scale
            ):
                raise ValueError(
                    "precision of the Mahalanobis divergence must be finite and "
                    "symmetric."
                )
            smallest = np.linalg.eigvalsh(precision)[0]
            if smallest < -1e-10 * scale:
                raise ValueError(
                    "precision of the Mahalanobis divergence must be positive "
                    f"semi-definite; its smallest eigenvalue is {smallest:.3g}."
                )
        self.precision = precision

    def bind(self, rows):
        if self.precision is not None:
            if len(self.precision) != rows.n_features:
                raise ValueError(
                    f"X has {rows.n_features} features, but the precision of the "
                    f"Mahalanobis divergence is for {len(self.precision)}."
                )
            return self
        variances, axes = np.linalg.eigh(rows.covariance())
        kept = variances > 1e-10 * variances[-1]
        scaled = axes[:, kept] / np.sqrt(variances[kept])
        return Mahalanobis(scaled @ scaled.T)

    def phi(self, rows):
        product = rows @ self.precision
        if sp.issparse(rows):
            return np.asarray(rows.multiply(product).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", product, rows)

    def gradient(self, points):
        return 2.0 * (points @ self.precision)

    def hessian_product(self, points, vectors):
        return 2.0 * (vectors @ self.precision)

    def log_normaliser(self, temperature, n_features):
        # Over the subspace in which the precision is positive.
        eigenvalues = np.linalg.eigvalsh(self.precision)
        positive = eigenvalues[eigenvalues > 1e-10 * eigenvalues[-1]]
        return 0.5 * np.log(positive / (np.pi * temperature)).sum()


class KullbackLeibler(_Separable):
    """Generalised: ``sum_j x_j log(x_j / mu_j) - x_j + mu_j`` on ``x >= 0``.

    A column that is zero in all rows drops out.
    """

    name = "Kullback-Leibler"
    formula = "kullback_leibler"
    lower = 0.0

    def _elementwise(self, values):
        return xlogy(values, values) - values

    def gradient(self, points):
        return np.log(points, out=np.zeros_like(points), where=points > 0)

    def hessian_diagonal(self, points):
        return np.divide(1.0, points, out=np.zeros_like(points), where=points > 0)

    def check_domain(self, rows):
        _refuse(self.name, rows, lambda x: x < 0, "x >= 0", "Negative values in data")

    def interior(self, points, mean):
        return np.maximum(points, BOUNDARY * mean)


class ItakuraSaito(_Separable):
    """``sum_j x_j / mu_j - log(x_j / mu_j) - 1`` on ``x > 0``."""

    name = "Itakura-Saito"
    formula = "itakura_saito"
    lower = 0.0

    def _elementwise(self, values):
        return -np.log(values)

    def gradient(self, points):
        return -1.0 / points

    def hessian_diagonal(self, points):
        return points**-2.0

    def check_domain(self, rows):
        if sp.issparse(rows):
            stored = np.diff(rows.indptr)
            short = np.flatnonzero(stored < rows.shape[1])
            if short.size:
                raise ValueError(
                    f"The {self.name} divergence takes x > 0, but row {short[0]} of "
                    "the sparse X holds zeros. Add a small constant, or use "
                    "divergence='kullback_leibler', which takes zeros."
                )
        _refuse(self.name, rows, lambda x: x <= 0, "x > 0", "Negative or zero values")
        _refuse(
            self.name,
            rows,
            lambda x: x < SMALLEST,
            f"x >= {SMALLEST}, whose inverse square does not overflow",
            "Values too small",
        )


class Logistic(_Separable):
    """Logistic loss, or binary relative entropy, on ``0 <= x <= 1``.

    ``sum_j x_j log(x_j / mu_j) + (1 - x_j) log((1 - x_j) / (1 - mu_j))``.
    """

    name = "logistic"
    formula = "logistic"
    lower, upper = 0.0, 1.0

    def _elementwise(self, values):
        return xlogy(values, values) + xlog1py(1.0 - values, -values)

    def gradient(self, points):
        return np.where((points > 0) & (points < 1), logit(self._inside(points)), 0.0)

    def hessian_diagonal(self, points):
        inside = self._inside(points)
        return np.where(inside == points, 1.0 / (inside * (1.0 - inside)), 0.0)

    @staticmethod
    def _inside(points):
        """Replace 0 and 1, where a column is constant and drops out, by 1/2."""
        return np.where((points > 0) & (points < 1), points, 0.5)

    def check_domain(self, rows):
        _refuse(
            self.name,
            rows,
            lambda x: (x < 0) | (x > 1),
            "0 <= x <= 1",
            "Values outside",
        )

    def interior(self, points, mean):
        low, high = BOUNDARY * mean, BOUNDARY * (1.0 - mean)
        return np.minimum(np.maximum(points, low), 1.0 - high)


class _UserDivergence(BregmanDivergence):
    """Gives a user's object the methods it does not define."""

    def __init__(self, divergence):
        self.divergence = divergence
        self.name = getattr(divergence, "name", type(divergence).__name__)

    def __eq__(self, other):
        return (
            isinstance(other, _UserDivergence) and self.divergence is other.divergence
        )

    def __hash__(self):
        return id(self.divergence)

    def phi(self, rows):
        dense = rows.toarray() if sp.issparse(rows) else rows
        values = np.asarray(self.divergence.phi(dense), dtype=np.float64)
        if values.shape != (rows.shape[0],):
            raise ValueError(
                f"phi of the divergence {self.name} must return one number per row, "
                f"shape ({rows.shape[0]},), got {values.shape}."
            )
        return values

    def gradient(self, points):
        return np.asarray(self.divergence.gradient(points), dtype=np.float64)

    def hessian_product(self, points, vectors):
        if hasattr(self.divergence, "hessian_product"):
            product = self.divergence.hessian_product(points, vectors)
        else:
            product = self.divergence.hessian_diagonal(points) * vectors
        return np.asarray(product, dtype=np.float64)

    def check_domain(self, rows):
        self.divergence.check_domain(rows.toarray() if sp.issparse(rows) else rows)

    def shorten(self, points, steps):
        return np.stack(
            [
                self._shorten_one(point, step)
                for point, step in zip(points, steps, strict=True)
            ]
        )

    def _shorten_one(self, point, step):
        # The domain is known by its check alone; past MAX_HALVINGS the point is on
        # its boundary, and does not move.
        for _ in range(MAX_HALVINGS):
            try:
                self.check_domain(np.stack([point + step, point - step]))
            except ValueError:
                step = 0.5 * step
            else:
                return step
        return np.zeros_like(step)


DIVERGENCES = {
    "squared_euclidean": SquaredEuclidean(),
    "kullback_leibler": KullbackLeibler(),
    "itakura_saito": ItakuraSaito(),
    "mahalanobis": Mahalanobis(),
    "logistic": Logistic(),
}


def as_divergence(divergence):
    """Divergence for a name or a user's object.

    Parameters
    ----------
    divergence : str or object
        A key of `DIVERGENCES`, a `BregmanDivergence`, or an object with ``phi``,
        ``gradient``, ``check_domain`` and ``hessian_diagonal`` or
        ``hessian_product``.

    Returns
    -------
    BregmanDivergence

    Raises
    ------
    ValueError
        For an unknown name.
    TypeError
        For an object that lacks one of the methods; it is named.
    """
    if isinstance(divergence, BregmanDivergence):
        return divergence
    if isinstance(divergence, str):
        if divergence not in DIVERGENCES:
            raise ValueError(
                f"Unknown divergence {divergence!r}; take one of "
                f"{sorted(DIVERGENCES)} or an object with the methods phi, "
                "gradient, hessian_diagonal and check_domain."
            )
        return DIVERGENCES[divergence]
    missing = [
        method
        for method in ("phi", "gradient", "check_domain")
        if not callable(getattr(divergence, method, None))
    ]
    if not any(
        callable(getattr(divergence, method, None))
        for method in ("hessian_diagonal", "hessian_product")
    ):
        missing.append("hessian_diagonal")
    if missing:
        raise TypeError(
            f"The divergence {type(divergence).__name__} lacks the methods {missing}."
        )
    return _UserDivergence(divergence)


def _refuse(name, rows, is_outside, domain, what):
    """Raise for the first entry outside the domain, and say which it is."""
    values = rows.data if sp.issparse(rows) else rows
    outside = is_outside(values)
    if not outside.any():
        return
    if sp.issparse(rows):
        position = int(np.flatnonzero(outside)[0])
        row = int(np.searchsorted(rows.indptr, position, side="right")) - 1
        column, value = int(rows.indices[position]), values[position]
    else:
        row, column = (int(index) for index in np.argwhere(outside)[0])
        value = values[row, column]
    raise ValueError(
        f"{what}: the {name} divergence takes {domain}, but row {row}, "
        f"column {column} of X holds {value:g}."
    )

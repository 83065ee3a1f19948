"""Temperatures at which codevectors split, against bifurcation theory.

Claim: with split='perturb', which never looks at an eigenvalue, and cooling 0.998,
codevectors split at T / T_critical within [0.99, 1.01]: the first for all five
divergences on two data sets each, later ones on mixtures whose critical
temperatures are known in closed form.

Peer: the theory. A codevector mu stops being a minimum at the largest eigenvalue of
hessian phi(mu) Cov(x | mu), computed here from the data alone. Later splits: two
groups far apart, each two points, or two tight clouds, at +-a about its middle.
Once the groups have parted, each splits at 2 eigmax of its own covariance: 2 a^2 for
points.

Measured: the highest temperature of annealing_path_ at which a region holds two
codevectors. Annealing starts 2 % above the critical temperature; merge_tol, tol and
max_iter are set so fine that codevectors which have parted a little count as two,
and those that drift together slowly, as they do near a bifurcation, have the time.
"""

import sys
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import _data
from benchmarks._report import Claim, Table, argument_parser, conclude
from odalib import ODAClusterer

# Near a bifurcation codevectors approach each other by only |1 - T / T_critical|
# of their distance per iteration.
FINE = {"merge_tol": 1e-3, "tol": 1e-7, "max_iter": 10_000_000}


def hessian(name, mean, covariance):
    """Return the Hessian of the divergence's potential at the mean."""
    if name == "mahalanobis":
        return 2 * np.linalg.inv(covariance)
    diagonals = {
        "squared_euclidean": lambda: np.full_like(mean, 2.0),
        "kullback_leibler": lambda: 1 / mean,
        "itakura_saito": lambda: 1 / mean**2,
        "logistic": lambda: 1 / (mean * (1 - mean)),
    }
    return np.diag(diagonals[name]())


def critical_temperature(name, X):
    """Return the temperature at which one codevector for all of X splits."""
    covariance = np.cov(X, rowvar=False, bias=True)
    product = hessian(name, X.mean(axis=0), covariance) @ covariance
    return np.linalg.eigvals(product).real.max()


def first_cases():
    """Yield name of the divergence, name of the data, and the rows."""
    iris, wine = _data.load_toy("iris"), _data.load_toy("wine")
    digits = _data.load_toy("digits")[::4]
    digits = digits[:, digits.any(axis=0)]
    yield "squared_euclidean", "iris", iris
    yield "squared_euclidean", "wine, std", _data.standardised(wine)
    yield "kullback_leibler", "digits, counts", digits
    yield "kullback_leibler", "multinomial mixture", _data.multinomial_mixture(500)
    yield "itakura_saito", "iris", iris
    yield "itakura_saito", "gamma mixture", _data.gamma_mixture(500)
    yield "mahalanobis", "iris", iris
    yield "mahalanobis", "wine", wine
    yield "logistic", "digits / 16", digits / 16
    yield "logistic", "beta mixture", _data.beta_mixture(500)


def hierarchy(spread):
    """Return two groups of two clouds each, 50 rows a cloud, and their labels.

    The groups' middles lie 16 apart on the first axis, their clouds at +-1.5 and
    +-1 on the second; ``spread`` is the clouds' standard deviation.
    """
    middles = np.array([[-8, 1.5], [-8, -1.5], [8, 1.0], [8, -1.0]])
    noise = np.random.default_rng(0).normal(scale=spread, size=(200, 2))
    return np.repeat(middles, 50, axis=0) + noise, np.repeat([0, 1], 100)


def anneal(X, n_clusters, divergence, hottest, coldest):
    """Return the path of a slow anneal by perturbation between two temperatures."""
    model = ODAClusterer(
        n_clusters,
        divergence=divergence,
        split="perturb",
        cooling=0.998,
        max_temperature=hottest,
        min_temperature=coldest,
        random_state=0,
        **FINE,
    )
    with warnings.catch_warnings():
        # Just above a critical temperature a doubled codevector closes up so slowly
        # that no tolerance is met; what counts is only where it stays apart.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X).annealing_path_


def split_temperature(path, belongs=lambda centres: np.ones(len(centres), bool)):
    """Return the highest temperature at which two codevectors belong, or NaN."""
    levels = zip(path.temperature, path.codebooks, strict=True)
    split = (t for t, centres in levels if belongs(centres).sum() > 1)
    return max(split, default=np.nan)


def first_splits(chosen):
    """Yield divergence, data, which split, critical temperature and T over it."""
    for name, data, X in first_cases():
        if chosen in name:
            critical = critical_temperature(name, X)
            path = anneal(X, 2, name, 1.02 * critical, 0.95 * critical)
            yield name, data, "first", critical, split_temperature(path) / critical


def later_splits():
    """Yield the same for all three splits of the hierarchies."""
    for data, spread in (("four points", 0.0), ("four clouds", 0.1)):
        X, group = hierarchy(spread)
        critical = {
            "first": critical_temperature("squared_euclidean", X),
            "second": critical_temperature("squared_euclidean", X[group == 0]),
            "third": critical_temperature("squared_euclidean", X[group == 1]),
        }
        path = anneal(
            X,
            4,
            "squared_euclidean",
            1.02 * critical["first"],
            0.95 * critical["third"],
        )
        regions = {
            "first": lambda centres: np.ones(len(centres), bool),
            "second": lambda centres: centres[:, 0] < 0,
            "third": lambda centres: centres[:, 0] > 0,
        }
        for split, belongs in regions.items():
            ratio = split_temperature(path, belongs) / critical[split]
            yield "squared_euclidean", data, split, critical[split], ratio


def list_rows(chosen):
    """Yield the rows of the table; later splits are those of squared Euclidean."""
    yield from first_splits(chosen)
    if chosen in "squared_euclidean":
        yield from later_splits()


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("bifurcation", __doc__)
    parser.add_argument(
        "--divergence", default="", help="only divergences whose name has this text"
    )
    options = parser.parse_args(arguments)
    table = Table(
        {
            "divergence": "<17",
            "data": "<19",
            "split": "<6",
            "T_critical": ">11.5g",
            "T / T_critical": ">14.4f",
        }
    )
    ratios = []
    for row in list_rows(options.divergence):
        table.row(*row)
        ratios.append(row[-1])
    claims = [
        Claim("lowest T / T_critical", np.min(ratios), 0.99, ">="),
        Claim("highest T / T_critical", np.max(ratios), 1.01),
    ]
    return conclude(claims, f"{len(ratios)} of 16 splits", options.strict)


if __name__ == "__main__":
    sys.exit(main())

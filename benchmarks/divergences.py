"""Distortion of ODAClusterer under every Bregman divergence.

Claim: at K = 10 and 50, at most 1.002 times the distortion of hard Bregman
clustering on each of count data (Kullback-Leibler), positive data (Itakura-Saito),
data in [0, 1] (logistic) and correlated data (Mahalanobis), and at most 0.987 times
on average.

Peer: Lloyd's algorithm under the same divergence, the best of ten starts drawn by
greedy k-means++ with the divergence itself (benchmarks/_bregman.py).

Measured: both get the same seed, in turn; one function scores both codebooks on the
training rows. The ratio of a case is the median over the seeds; both run on one
thread. The abalone cases need --data.
"""

import sys
from statistics import fmean, median

import numpy as np

from benchmarks import _data
from benchmarks._bregman import (
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    SquaredEuclidean,
    hard_clustering,
    mean_divergence,
)
from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import alternate, describe_threads
from odalib import ODAClusterer


def without_zero_columns(X):
    """Return X without the columns that are zero in every row."""
    return X[:, X.any(axis=0)]


def whitener(X):
    """Return W with W W^T the inverse of X's covariance."""
    return np.linalg.cholesky(np.linalg.inv(np.cov(X, rowvar=False, bias=True)))


def cases(data_dir):
    """Yield name of the divergence, name of the data, and the rows."""
    digits = without_zero_columns(_data.load_toy("digits"))
    yield "kullback_leibler", "digits, counts", digits
    yield "kullback_leibler", "multinomial mixture", _data.multinomial_mixture()
    if data_dir is not None:
        yield "itakura_saito", "abalone, sizes", _data.abalone_sizes(data_dir)
    yield "itakura_saito", "gamma mixture", _data.gamma_mixture()
    yield "logistic", "digits / 16", digits / 16
    yield "logistic", "beta mixture", _data.beta_mixture()
    yield "mahalanobis", "wine", _data.load_toy("wine")
    if data_dir is not None:
        yield "mahalanobis", "abalone", _data.load_file("abalone", data_dir)


def comparison_space(name, X):
    """Return the divergence and the linear map under which both are compared.

    Mahalanobis with the precision learnt from the data is the squared Euclidean
    divergence of whitened rows.
    """
    if name == "mahalanobis":
        return SquaredEuclidean(), whitener(X)
    choices = {
        "kullback_leibler": lambda: KullbackLeibler(X),
        "itakura_saito": ItakuraSaito,
        "logistic": lambda: Logistic(X),
    }
    return choices[name](), np.eye(X.shape[1])


def measure(name, X, n_clusters, seeds):
    """Return the median distortion ratio and the median seconds of both."""
    divergence, linear_map = comparison_space(name, X)
    Z = X @ linear_map

    def subject(seed):
        model = ODAClusterer(n_clusters, divergence=name, random_state=seed).fit(X)
        return model.cluster_centers_ @ linear_map

    def peer(seed):
        return hard_clustering(Z, n_clusters, divergence, seed)

    ours, theirs = alternate(subject, peer, seeds)
    ratios = [
        mean_divergence(Z, own, divergence) / mean_divergence(Z, other, divergence)
        for own, other in zip(ours.results, theirs.results, strict=True)
    ]
    return median(ratios), ours.median_seconds, theirs.median_seconds


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("divergences", __doc__)
    parser.add_argument("--data", metavar="DIR", help="folder of abalone.csv")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument(
        "--clusters", type=int, nargs="+", default=[10, 50], help="values of K"
    )
    options = parser.parse_args(arguments)
    print(describe_threads())
    table = Table(
        {
            "divergence": "<17",
            "data": "<20",
            "K": ">3d",
            "distortion ratio": ">16.4f",
            "seconds": ">8.3f",
            "peer": ">8.3f",
        }
    )
    ratios = []
    for name, data, X in cases(options.data):
        for k in options.clusters:
            ratio, own, other = measure(name, X, k, range(options.seeds))
            table.row(name, data, k, ratio, own, other)
            ratios.append(ratio)
    claims = [
        Claim("worst distortion ratio", max(ratios), 1.002),
        Claim("mean distortion ratio", fmean(ratios), 0.987),
    ]
    scope = f"{len(ratios)} of 16 cases, {options.seeds} seeds"
    return conclude(claims, scope, options.strict)


if __name__ == "__main__":
    sys.exit(main())

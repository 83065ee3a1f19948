"""One annealing path against a KMeans fit for every number of clusters.

Claim: after one fit with n_clusters=50, the codebooks of at(n_clusters=k) for k from
1 to 50 have on average at most 1.00 times the distortion of KMeans(n_init=10) at
that k on digits and breast_cancer, raw and standardised, nowhere more than 1.08
times, and the whole costs at most a tenth of the 50 KMeans fits. Every at(k)
predicts, pickles and clones.

Peer: scikit-learn's KMeans(n_init=10), fitted at each k.

Measured: the fit and all calls of at, and the 50 fits of the peer, are timed in
turn, on one thread unless --threads says otherwise; all codebooks are then scored
on the training rows by one function. The mean is taken over k and seeds, and the
claim is held against the worst mean of the sets.
"""

import pickle
import sys

import numpy as np
from sklearn.base import clone

from benchmarks._data import load_toy, nearest_squared_distance, standardised
from benchmarks._peers import kmeans
from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import alternate, describe_threads
from odalib import ODAClusterer


def mean_distortions(X, models):
    """Return the mean squared distance to the nearest centre, for every model."""
    return np.array(
        [nearest_squared_distance(X, m.cluster_centers_).mean() for m in models]
    )


def is_whole(level, k, X):
    """Return whether a level of the path is an estimator of k clusters in full."""
    labels = level.predict(X)
    restored = pickle.loads(pickle.dumps(level))
    return (
        level.cluster_centers_.shape == (k, X.shape[1])
        and labels.max() < k
        and np.array_equal(restored.predict(X), labels)
        and clone(level).get_params() == level.get_params()
    )


def measure(X, numbers, seeds, n_threads):
    """Return ratios of shape (seeds, numbers), broken levels and both times."""

    def subject(seed):
        model = ODAClusterer(max(numbers), random_state=seed, n_jobs=n_threads).fit(X)
        return [model.at(n_clusters=k) for k in numbers]

    def peer(seed):
        return [kmeans(k, seed).fit(X) for k in numbers]

    ours, theirs = alternate(subject, peer, seeds, n_threads)
    ratios = [
        mean_distortions(X, levels) / mean_distortions(X, models)
        for levels, models in zip(ours.results, theirs.results, strict=True)
    ]
    broken = sum(
        not is_whole(level, k, X)
        for levels in ours.results
        for k, level in zip(numbers, levels, strict=True)
    )
    return np.array(ratios), broken, ours.median_seconds, theirs.median_seconds


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("path", __doc__)
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--clusters", type=int, default=50, help="the largest k")
    parser.add_argument("--threads", type=int, default=1, help="threads of both")
    options = parser.parse_args(arguments)
    raw = {name: load_toy(name) for name in ("digits", "breast_cancer")}
    sets = raw | {f"{name}, std": standardised(X) for name, X in raw.items()}
    numbers = range(1, options.clusters + 1)
    print(describe_threads(options.threads))
    table = Table(
        {
            "set": "<20",
            "mean": ">7.4f",
            "worst": ">7.4f",
            "at k": ">4d",
            "seconds": ">8.2f",
            "KMeans": ">8.2f",
            "cheaper": ">8.1f",
        }
    )
    means, worsts, gains, broken = [], [], [], 0
    for name, X in sets.items():
        ratios, faults, own, other = measure(
            X, numbers, range(options.seeds), options.threads
        )
        means.append(ratios.mean())
        worsts.append(ratios.max())
        gains.append(other / own)
        broken += faults
        worst_k = numbers[int(ratios.max(axis=0).argmax())]
        table.row(name, means[-1], worsts[-1], worst_k, own, other, gains[-1])
    claims = [
        Claim("largest mean distortion ratio of a set", max(means), 1.0),
        Claim("worst distortion ratio", max(worsts), 1.08),
        Claim("least times cheaper", min(gains), 10, ">="),
        Claim("levels that fail to predict, pickle or clone", broken, 0),
    ]
    scope = f"k = 1..{options.clusters}, {options.seeds} seeds"
    return conclude(claims, scope, options.strict)


if __name__ == "__main__":
    sys.exit(main())

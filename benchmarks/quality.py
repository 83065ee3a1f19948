"""Distortion and time of ODAClusterer's defaults on real data.

Claim: over 13 real data sets at K = 5, 10 and 50, the ratio of distortions to
KMeans(n_init=10) has a mean of at most 0.987, at K = 50 of at most 0.963, and is
nowhere above 1.015; the time is at most 0.9 of KMeans' in total and nowhere above
3 times it.

Peer: scikit-learn's KMeans(n_init=10).

Measured: both are fitted to the same rows with the same seed, in turn. The ratio
of a case is the median over the seeds of inertia_ / inertia_, its time that of the
median run, on one thread unless --threads says otherwise. Without --data only the
toy sets of scikit-learn are run.
"""

import sys
from statistics import fmean, median

from benchmarks._data import real_sets
from benchmarks._peers import kmeans
from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import alternate, describe_threads
from odalib import ODAClusterer


def measure(X, n_clusters, seeds, n_threads):
    """Return the median distortion ratio and the median seconds of both."""

    def subject(seed):
        model = ODAClusterer(n_clusters, random_state=seed, n_jobs=n_threads)
        return model.fit(X).inertia_

    def peer(seed):
        return kmeans(n_clusters, seed).fit(X).inertia_

    ours, theirs = alternate(subject, peer, seeds, n_threads)
    ratios = [a / b for a, b in zip(ours.results, theirs.results, strict=True)]
    return median(ratios), ours.median_seconds, theirs.median_seconds


def parse(arguments):
    """Return the command line's options."""
    parser = argument_parser("quality", __doc__)
    parser.add_argument("--data", metavar="DIR", help="folder of the CSV files")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument(
        "--cases", default="", help="only sets whose name contains this text"
    )
    parser.add_argument(
        "--clusters", type=int, nargs="+", default=[5, 10, 50], help="values of K"
    )
    parser.add_argument("--threads", type=int, default=1, help="threads of both")
    return parser.parse_args(arguments)


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    options = parse(arguments)
    sets = [item for item in real_sets(options.data) if options.cases in item[0]]
    if not sets:
        sys.exit(f"no data set has {options.cases!r} in its name")
    # The first fit of each pays for thread pools and late imports.
    measure(sets[0][1], 2, range(1), options.threads)
    print(describe_threads(options.threads))
    table = Table(
        {
            "case": "<20",
            "K": ">3d",
            "distortion ratio": ">16.4f",
            "seconds": ">8.3f",
            "KMeans": ">8.3f",
            "time ratio": ">10.2f",
        }
    )
    ratios, ours, theirs = {}, [], []
    seeds = range(options.seeds)
    for name, X in sets:
        for k in options.clusters:
            ratio, own, other = measure(X, k, seeds, options.threads)
            table.row(name, k, ratio, own, other, own / other)
            ratios[name, k] = ratio
            ours.append(own)
            theirs.append(other)
    claims = [Claim("mean distortion ratio", fmean(ratios.values()), 0.987)]
    if 50 in options.clusters:
        at_50 = [ratio for (_, k), ratio in ratios.items() if k == 50]
        claims.append(Claim("mean distortion ratio at K=50", fmean(at_50), 0.963))
    claims += [
        Claim("worst distortion ratio", max(ratios.values()), 1.015),
        Claim("total time ratio", sum(ours) / sum(theirs), 0.9),
        Claim("worst time ratio", max(map(float.__truediv__, ours, theirs)), 3.0),
    ]
    scope = f"{len(ratios)} of 39 cases, {options.seeds} seeds"
    return conclude(claims, scope, options.strict)


if __name__ == "__main__":
    sys.exit(main())

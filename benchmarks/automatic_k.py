"""How often ODAClusterer(n_clusters=None) finds the number of blobs.

Claim: right on at least 80 % of 60 seeded sets, and on more of them than the peer.

Peer: KMeans(n_init=10) at K = 2..15, the K of the highest silhouette taken.

Measured: set s has 2 + s % 11 spherical Gaussian blobs of standard deviation 1 and
100 rows each; the dimension cycles over 2, 3, 5, 10 and the box's half-width over
4, 5, ..., 10. Centres are uniform in the box, one after the other, and drawn again
where one falls within ``--apart`` standard deviations (3) of another: nearer than two,
the density of two equal blobs has a single mode, and their number is not in the rows.
``--apart 0`` rejects none. Right means the very number of blobs drawn.
"""

import sys

import numpy as np
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics import silhouette_score

from benchmarks._peers import kmeans
from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import alternate
from odalib import ODAClusterer


def draw_centres(rng, n_blobs, n_features, half_width, apart):
    """Draw centres one by one, starting anew where there is no room for the next."""
    while True:
        centres = np.empty((0, n_features))
        for _ in range(1000):
            centre = rng.uniform(-half_width, half_width, (1, n_features))
            if cdist(centre, centres).min(initial=np.inf) >= apart:
                centres = np.vstack([centres, centre])
            if len(centres) == n_blobs:
                return centres


def draw_blobs(seed, apart):
    """Return the rows, the centres and the half-width of set ``seed``."""
    rng = np.random.default_rng(seed)
    n_blobs = 2 + seed % 11
    n_features = (2, 3, 5, 10)[seed % 4]
    half_width = 4 + seed % 7
    centres = draw_centres(rng, n_blobs, n_features, half_width, apart)
    noise = rng.standard_normal((100 * n_blobs, n_features))
    return np.repeat(centres, 100, axis=0) + noise, centres, half_width


def annealed_number(X):
    """Return the number of clusters that ODAClusterer takes from its path."""
    return ODAClusterer(random_state=0).fit(X).n_clusters_


def silhouette_number(X):
    """Return the K in 2..15 whose KMeans partition has the highest silhouette."""

    def silhouette(k):
        labels = kmeans(k).fit_predict(X)
        return silhouette_score(X, labels)

    return max(range(2, 16), key=silhouette)


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("automatic_k", __doc__)
    parser.add_argument("--sets", type=int, default=60, help="number of sets")
    parser.add_argument(
        "--apart", type=float, default=3.0, help="least distance of two centres"
    )
    options = parser.parse_args(arguments)
    table = Table(
        {
            "set": ">3d",
            "features": ">8d",
            "half-width": ">10d",
            "closest two": ">11.2f",
            "blobs": ">5d",
            "odalib": ">6d",
            "silhouette": ">10d",
        }
    )
    drawn = [draw_blobs(seed, options.apart) for seed in range(options.sets)]
    true, found, rival = [], [], []

    def subject(seed):
        return annealed_number(drawn[seed][0])

    def peer(seed):
        return silhouette_number(drawn[seed][0])

    seconds = np.zeros(2)
    for seed, (X, centres, half_width) in enumerate(drawn):
        ours, theirs = alternate(subject, peer, [seed])
        seconds += ours.seconds[0], theirs.seconds[0]
        true.append(len(centres))
        found.append(ours.results[0])
        rival.append(theirs.results[0])
        closest = pdist(centres).min()
        table.row(seed, X.shape[1], half_width, closest, true[-1], found[-1], rival[-1])
    share = np.mean(np.equal(true, found))
    rival_share = np.mean(np.equal(true, rival))
    print(f"\nright: odalib {share:.1%}, silhouette {rival_share:.1%}")
    print(f"seconds: odalib {seconds[0]:.1f}, silhouette {seconds[1]:.1f}")
    claims = [
        Claim("share right", share, 0.8, ">="),
        Claim("sets ahead of silhouette", len(drawn) * (share - rival_share), 1, ">="),
    ]
    return conclude(claims, f"{options.sets} of 60 sets", options.strict)


if __name__ == "__main__":
    sys.exit(main())

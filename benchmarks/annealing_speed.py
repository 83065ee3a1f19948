"""Speed of annealing: steps of one row, of batches, passes and fits.

Claim: a compiled step of one row is at least 100, 60, 20 and 14 times as fast as the
same step in NumPy for (K, d) = (10, 2), (20, 10), (100, 10), (200, 256) codevectors and
features. Rows that come in one call are learnt at least 0.8 times as fast as by
SGDClassifier, and 500 times as fast as by MiniBatchKMeans row by row. Batches of 1,024
are learnt 2.5, 1.8 and 1.6 times as fast as by MiniBatchKMeans for (20, 10), (100, 64)
and (200, 256); the kernel reaches 18 %, 42 % and 65 % of the machine's matrix product,
counting 4 B K d operations. A pass over rows in memory is at least 0.75 times as fast
as Lloyd's. A fit of 200,000 x 16 rows, K = 64, takes at most 0.2 of the time of
KMeans(n_init=3) at 1.002 of its distortion or less.

Peers: the reference kernels; SGDClassifier(loss='log_loss'), which learns
probabilities, by partial_fit of the same 100,000 rows; MiniBatchKMeans by partial_fit
of the same batches; numpy's product of matrices of 1,024 x 1,024; the iteration of
KMeans(algorithm='lloyd'), called alone; KMeans(n_init=3).

Measured: medians of alternating runs, one thread for all. Rows are normal about K
centres, 3 standard deviations of the rows apart in every feature, a million numbers for
a pass; fits also on normal
rows without clusters. The pass that is held against Lloyd's does what that does: every
row goes to its nearest codevector, and every codevector to the mean of its rows. Passes
under the Gibbs association, which no peer has, are shown, at the temperature of a fit
that has ended and at one where all codevectors share each row.
"""

import sys

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import alternate, describe_threads
from odalib import ODAClusterer
from odalib.inference.annealing.codebook import (
    Codebook,
    assign_and_collect,
    collect_moments,
)
from odalib.inference.annealing.divergences import SquaredEuclidean
from odalib.inference.annealing.rows import RowBlocks
from odalib.kernels import annealing as serving
from odalib.kernels.reference import annealing as reference

ROW_STEPS = {(10, 2): 100.0, (20, 10): 60.0, (100, 10): 20.0, (200, 256): 14.0}
BATCHES = {(20, 10): (2.5, 0.18), (100, 64): (1.8, 0.42), (200, 256): (1.6, 0.65)}
BATCH = 1024
COLUMNS = {
    "what": "<44",
    "peer": "<28",
    "time": ">10",
    "peer's": ">10",
    "ratio": ">8.2f",
}


def mixture(n_rows, n_codevectors, n_features, seed=0):
    """Return rows about normal centres, and the centres."""
    rng = np.random.default_rng(seed)
    centres = 3.0 * rng.standard_normal((n_codevectors, n_features))
    rows = centres[rng.integers(n_codevectors, size=n_rows)]
    return rows + rng.standard_normal(rows.shape), centres


def contest(table, what, peer_name, subject, peer, runs, per_subject=1, per_peer=1):
    """Time both, print a row, and return how many times as fast the subject is.

    Parameters
    ----------
    per_subject, per_peer : int
        Units, such as rows, that a run deals with.
    """
    own, other = alternate(lambda _: subject(), lambda _: peer(), range(runs))
    time, peer_time = own.median_seconds / per_subject, other.median_seconds / per_peer
    ratio = peer_time / time
    table.row(what, peer_name, in_words(time), in_words(peer_time), ratio)
    return ratio


def in_words(seconds):
    """Return a time with its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def followed(kernels, rows, starts, centres):
    """Let a codebook of the centres follow rows, one step for each start."""
    return kernels.follow(
        rows,
        np.ones(len(rows)),
        starts,
        np.full(len(starts), 1e-3),
        centres,
        np.full(len(centres), 1.0 / len(centres)),
        SquaredEuclidean(),
        0.5,
        np.linspace(-1.0, 1.0, len(rows)),
        np.zeros_like(centres),
        np.zeros(len(centres)),
    )


def steps_of_one_row(table, runs):
    """Return the claims on compiled steps of one row."""
    claims = []
    for (size, n_features), limit in ROW_STEPS.items():
        n_rows = 2_000_000 // (size * n_features) + 1000
        rows, centres = mixture(n_rows, size, n_features)
        few = rows[:100]
        ratio = contest(
            table,
            f"step of one row, ({size}, {n_features})",
            "the step in NumPy",
            lambda c=centres, r=rows: followed(serving, r, np.arange(len(r)), c),
            lambda c=centres, r=few: followed(reference, r, np.arange(len(r)), c),
            runs,
            n_rows,
            len(few),
        )
        claims.append(Claim(f"row step ({size}, {n_features})", ratio, limit, ">="))
    return claims


def rows_in_one_call(table, runs):
    """Return the claims on whole calls of partial_fit with batch_size=1."""
    rows, _ = mixture(108_192, 20, 10)
    start, rows = rows[:8192], rows[8192:]
    y = rows[:, 0] > 0
    model = ODAClusterer(20, batch_size=1, random_state=0).partial_fit(start)
    sgd = SGDClassifier(loss="log_loss", random_state=0)
    sgd.partial_fit(rows[:100], y[:100], [False, True])
    peer = MiniBatchKMeans(20, random_state=0).partial_fit(start)

    def row_by_row():
        for i in range(200):
            peer.partial_fit(rows[i : i + 1])

    name = "partial_fit of 100,000 rows, (20, 10)"
    learn = lambda: model.partial_fit(rows)  # noqa: E731
    by_sgd = contest(
        table, name, "SGDClassifier", learn, lambda: sgd.partial_fit(rows, y), runs
    )
    by_row = contest(
        table,
        f"{name}, a row",
        "MiniBatchKMeans, row by row",
        learn,
        row_by_row,
        runs,
        len(rows),
        200,
    )
    return [
        Claim("rows a second, of SGDClassifier's", by_sgd, 0.8, ">="),
        Claim("of MiniBatchKMeans' row by row", by_row, 500.0, ">="),
    ]


def batches(table, runs):
    """Return the claims on batches, whole calls and the kernel alone."""
    claims = []
    for (size, n_features), (limit, share) in BATCHES.items():
        rows, centres = mixture(8192 + 30 * BATCH, size, n_features)
        start, parts = rows[:8192], np.split(rows[8192:], 30)
        model = ODAClusterer(size, random_state=0).partial_fit(start)
        peer = MiniBatchKMeans(size, random_state=0).partial_fit(start)

        def learn(estimator, parts=parts):
            for part in parts:
                estimator.partial_fit(part)

        ratio = contest(
            table,
            f"partial_fit of {BATCH}, ({size}, {n_features})",
            "MiniBatchKMeans",
            lambda m=model: learn(m),
            lambda p=peer: learn(p),
            runs,
            len(parts),
            len(parts),
        )
        claims.append(Claim(f"batches ({size}, {n_features})", ratio, limit, ">="))
        claims.append(kernel_share(table, parts[0], centres, share, runs))
    return claims


def kernel_share(table, rows, centres, limit, runs):
    """Return the claim on the kernel's operations beside those of a matrix product."""
    size, n_features = centres.shape
    square = np.random.default_rng(0).standard_normal((1024, 1024))
    starts = np.arange(0, len(rows), 256)
    calls = max(1, 2_000_000 // rows.size)
    ratio = contest(
        table,
        f"kernel of {BATCH}, ({size}, {n_features}), an operation",
        "product of matrices",
        lambda: [followed(serving, rows, starts, centres) for _ in range(calls)],
        lambda: square @ square,
        runs,
        calls * 4 * rows.size * size,
        2 * len(square) ** 3,
    )
    return Claim(f"kernel of a product ({size}, {n_features})", ratio, limit, ">=")


def passes(table, runs):
    """Return the claims on passes over rows in memory."""
    claims, divergence = [], SquaredEuclidean()
    for size, n_features in BATCHES:
        rows, centres = mixture(1_000_000 // n_features, size, n_features)
        centred = RowBlocks(rows - rows.mean(axis=0), np.ones(len(rows)))
        codebook = Codebook(centres - rows.mean(axis=0), np.full(size, 1.0 / size))
        iterations = lloyd_iterations(rows, centres)
        ratio = contest(
            table,
            f"pass of hard assignments, ({size}, {n_features})",
            "Lloyd's iteration",
            lambda c=codebook, r=centred: assign_and_collect(r, divergence, c),
            iterations,
            runs,
            1,
            10,
        )
        for name, temperature in (("cold", 2.0), ("warm", 20.0 * n_features)):
            contest(
                table,
                f"pass by association, {name}, ({size}, {n_features})",
                "Lloyd's iteration",
                lambda c=codebook, r=centred, t=temperature: collect_moments(
                    r, divergence, c, t
                ),
                iterations,
                runs,
                1,
                10,
            )
        claims.append(Claim(f"pass ({size}, {n_features})", ratio, 0.75, ">="))
    return claims


def lloyd_iterations(rows, centres):
    """Return a function that runs ten of Lloyd's iterations, and as little else."""
    from sklearn.cluster._k_means_lloyd import lloyd_iter_chunked_dense

    size = len(centres)
    weights, shift = np.ones(len(rows)), np.zeros(size)
    labels = np.full(len(rows), -1, dtype=np.int32)
    new, weight = np.zeros_like(centres), np.zeros(size)

    def run():
        for _ in range(10):
            lloyd_iter_chunked_dense(
                rows, weights, centres, new, weight, labels, shift, n_threads=1
            )

    return run


def large_fits(table, runs):
    """Return the claims on fits of many rows."""
    claims = []
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((200_000, 16)) * np.linspace(1.0, 3.0, 16)
    for name, rows in {
        "clusters": mixture(200_000, 64, 16)[0],
        "no clusters": normal,
    }.items():
        fitted = {}

        def fit(estimator, rows=rows, fitted=fitted):
            fitted[type(estimator)] = estimator.fit(rows).inertia_

        ratio = contest(
            table,
            f"fit of 200,000 x 16, K = 64, {name}",
            "KMeans(n_init=3)",
            lambda: fit(ODAClusterer(64, random_state=0)),
            lambda: fit(KMeans(64, n_init=3, random_state=0)),
            runs,
        )
        distortion = fitted[ODAClusterer] / fitted[KMeans]
        claims.append(Claim(f"fit, {name}", 1.0 / ratio, 0.2))
        claims.append(Claim(f"distortion, {name}", distortion, 1.002))
    return claims


def main(argv=None):
    """Run the contests and print their ratios."""
    parser = argument_parser("annealing_speed", __doc__)
    parser.add_argument("--runs", type=int, default=7, help="of each (default: 7)")
    parser.add_argument(
        "--fits", type=int, default=1, help="runs of the large fits (default: 1)"
    )
    options = parser.parse_args(argv)
    print(describe_threads())
    table = Table(COLUMNS)
    with threadpool_limits(1):
        claims = [
            *steps_of_one_row(table, options.runs),
            *rows_in_one_call(table, options.runs),
            *batches(table, options.runs),
            *passes(table, options.runs),
            *large_fits(table, options.fits),
        ]
    return conclude(claims, f"medians of {options.runs} runs", options.strict)


if __name__ == "__main__":
    sys.exit(main())

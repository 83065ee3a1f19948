"""Time of predictions of all estimators.

Claim: `predict` and `predict_proba` of every estimator take at most as long on
1,000,000 rows of 20 features (20,000 for Gaussian processes of 1,000 rows) as those of
the nearest peer in scikit-learn.

Peers, each the fastest of those that answer the same question from a model as large:

- ODAClusterer, 20 codevectors: KMeans of as many; for probabilities a spherical
  GaussianMixture of as many. With resolutions, 20 leaves under 4: BisectingKMeans,
  the tree that scikit-learn has; KMeans, which has none, is shown.
- ODAClassifier, 50 codevectors: KNeighborsClassifier(n_neighbors=1) of as many
  labelled rows, which is the same rule; for probabilities a spherical GaussianMixture
  of as many, whose components are the terms of the same sum. NearestCentroid keeps one
  row per class, which is another model: shown, not held against.
- ODARegressor, 50 codevectors: HistGradientBoostingRegressor, what else a user would
  take for a smooth function of 20 features. KNeighborsRegressor is several times
  slower and left out.
- EPProbitClassifier and ADFProbitClassifier: LogisticRegression. It multiplies a row
  by one vector; a probability with the uncertainty of d weights takes a product with a
  d x d matrix too, which by itself takes longer. For five classes, of ten pairs,
  OneVsOneClassifier of LogisticRegression is shown beside.
- EPGaussianProcessClassifier: GaussianProcessClassifier of the same kernel.
- IsingModel predicts no label; its `score_samples` and `transform` are shown beside
  those of BernoulliRBM with as many hidden units as columns.

Measured: fits on 20,000 rows, not timed; then both in turns on rows that neither has
seen, in float64, validation included. One thread for both. Other methods are shown
beside, and not held against anything.
"""

import sys
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import BisectingKMeans, KMeans
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.multiclass import OneVsOneClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import BernoulliRBM

import odalib
from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import alternate, describe_threads

N_FEATURES, N_TRAINING, N_PROCESS = 20, 20_000, 1000
HELD = ("predict", "predict_proba")


@dataclass
class Pair:
    """A fitted estimator and its peer, and the rows that both predict.

    Attributes
    ----------
    name : str
    subject, peer : estimators
    rows : array
    methods : tuple of str
        Of both.
    is_claimed : bool
        Whether the times are held against each other.
    """

    name: str
    subject: object
    peer: object
    rows: np.ndarray
    methods: tuple
    is_claimed: bool = True

    def contest(self, table, runs):
        """Time the methods, and return the claims."""
        for method in self.methods:
            subject, peer = (
                getattr(fitted, method) for fitted in (self.subject, self.peer)
            )
            own, other = alternate(
                lambda _, call=subject: call(self.rows) is None,
                lambda _, call=peer: call(self.rows) is None,
                range(runs),
            )
            ratio = own.median_seconds / other.median_seconds
            is_claimed = self.is_claimed and method in HELD
            table.row(
                f"{self.name}.{method}",
                type(self.peer).__name__,
                own.median_seconds,
                other.median_seconds,
                ratio,
                "" if is_claimed else "shown",
            )
            if is_claimed:
                yield Claim(f"{self.name}.{method}", ratio, 1.0)


def labelled_rows(n_rows, rng):
    """Rows about 20 points, the class of each, of five, and a smooth target."""
    points = 2.0 * np.random.default_rng(0).standard_normal((20, N_FEATURES))
    cluster = rng.integers(20, size=n_rows)
    rows = points[cluster] + rng.standard_normal((n_rows, N_FEATURES))
    noise = rng.standard_normal(n_rows)
    return rows, cluster % 5, np.sin(rows[:, 0]) + 0.1 * rows[:, 1] ** 2 + 0.1 * noise


def clusterings(training, rows):
    """Clusterers, flat and as a tree."""
    flat = odalib.ODAClusterer(20, random_state=0).fit(training)
    kmeans = KMeans(20, n_init=1, random_state=0).fit(training)
    mixture = GaussianMixture(20, covariance_type="spherical", random_state=0)
    mixture.fit(training)
    yield Pair("ODAClusterer", flat, kmeans, rows, ("predict", "transform"))
    yield Pair("ODAClusterer", flat, mixture, rows, ("predict_proba", "score_samples"))
    coarse = odalib.Resolution([0, 1, 2, 3, 4], n_codevectors=4)
    tree = odalib.ODAClusterer(20, resolutions=[coarse, None], random_state=0)
    tree.fit(training)
    bisecting = BisectingKMeans(20, random_state=0).fit(training)
    yield Pair("ODAClusterer, tree", tree, bisecting, rows, ("predict",))
    yield Pair(
        "ODAClusterer, tree", tree, kmeans, rows, ("predict", "transform"), False
    )
    yield Pair(
        "ODAClusterer, tree", tree, mixture, rows, ("predict_proba", "score_samples")
    )


def classifications(training, labels, rows):
    """Classifiers of 50 codevectors."""
    subject = odalib.ODAClassifier(50, random_state=0).fit(training, labels)
    stored = subject.codevectors_, subject.codevector_classes_
    neighbours = KNeighborsClassifier(1).fit(*stored)
    mixture = GaussianMixture(50, covariance_type="spherical", random_state=0)
    mixture.fit(training)
    centroid = NearestCentroid().fit(training, labels)
    yield Pair("ODAClassifier", subject, neighbours, rows, ("predict",))
    yield Pair("ODAClassifier", subject, mixture, rows, ("predict_proba",))
    yield Pair("ODAClassifier", subject, centroid, rows, ("predict",), False)


def regressions(training, targets, rows):
    """Regressors, blended."""
    subject = odalib.ODARegressor(50, random_state=0).fit(training, targets)
    boosting = HistGradientBoostingRegressor(random_state=0).fit(training, targets)
    yield Pair("ODARegressor", subject, boosting, rows, ("predict",))


def linear_classifications(training, labels, rows):
    """Probit classifiers of two and of five classes."""
    for name, y in (("2 classes", labels % 2), ("5 classes", labels)):
        peer = LogisticRegression().fit(training, y)
        pairs = OneVsOneClassifier(LogisticRegression()).fit(training, y)
        for subject in (
            odalib.EPProbitClassifier(),
            odalib.ADFProbitClassifier(random_state=0),
        ):
            subject.fit(training, y)
            title = f"{type(subject).__name__}, {name}"
            yield Pair(title, subject, peer, rows, HELD)
            if y is labels:
                yield Pair(title, subject, pairs, rows, ("predict",), False)


def processes(training, labels, rows):
    """Gaussian processes of few rows."""
    kernel = RBF(3.0)
    few = slice(N_PROCESS)
    subject = odalib.EPGaussianProcessClassifier(kernel, optimizer=None)
    peer = GaussianProcessClassifier(kernel, optimizer=None)
    for fitted in (subject, peer):
        fitted.fit(training[few], labels[few] % 2)
    yield Pair("EPGaussianProcessClassifier", subject, peer, rows, HELD)


def spins(training, rows):
    """Models of binary columns."""
    training, rows = training > 0.0, rows > 0.0
    subject = odalib.IsingModel(random_state=0).fit(training)
    peer = BernoulliRBM(N_FEATURES, n_iter=5, random_state=0).fit(training)
    yield Pair("IsingModel", subject, peer, rows, ("score_samples", "transform"), False)


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("predict_speed", __doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="to predict")
    parser.add_argument("--runs", type=int, default=5, help="turns of both")
    parser.add_argument("--cases", default="", help="only names that hold this text")
    options = parser.parse_args(arguments)
    print(describe_threads())
    rng = np.random.default_rng(1)
    training, labels, targets = labelled_rows(N_TRAINING, rng)
    rows, _, _ = labelled_rows(options.rows, rng)
    cases = {
        "ODAClusterer": lambda: clusterings(training, rows),
        "ODAClassifier": lambda: classifications(training, labels, rows),
        "ODARegressor": lambda: regressions(training, targets, rows),
        "EPProbitClassifier, ADFProbitClassifier": lambda: linear_classifications(
            training, labels, rows
        ),
        "EPGaussianProcessClassifier": lambda: processes(
            training, labels, rows[: options.rows // 50]
        ),
        "IsingModel": lambda: spins(training, rows),
    }
    table = Table(
        {
            "method": "<45",
            "peer": "<29",
            "seconds": ">8.4f",
            "peer's": ">8.4f",
            "ratio": ">6.3f",
            "": "<5",
        }
    )
    claims, n_cases = [], 0
    for name, pairs in cases.items():
        if options.cases in name:
            n_cases += 1
            for pair in pairs():
                claims += pair.contest(table, options.runs)
    scope = f"{n_cases} of {len(cases)} cases, {options.rows} rows"
    return conclude(claims, scope, options.strict)


if __name__ == "__main__":
    sys.exit(main())

"""The estimators under test: one line joins all of the checks."""

from odalib import ODAClusterer

from .cases import ScaledEuclidean
from .subject import Subject

SUBJECTS = (
    Subject("clusterer", ODAClusterer(n_clusters=3)),
    Subject(
        "automatic",
        ODAClusterer(max_clusters=6),
        # These meet the default, which chooses among more.
        sklearn_checks=False,
    ),
    Subject("perturb", ODAClusterer(n_clusters=3, split="perturb")),
    Subject("drift", ODAClusterer(n_clusters=3, step="constant", memory_samples=500)),
    Subject(
        "batches",
        ODAClusterer(n_clusters=3, batch_size=50),
        order_free=False,
        # These hold a weight to be a repetition, in whatever batches.
        sklearn_checks=False,
    ),
    Subject(
        "mahalanobis",
        ODAClusterer(n_clusters=3, divergence="mahalanobis"),
        # These weigh 15 rows of 30 features, and in the metric of fewer rows than
        # features all rows are equally far apart.
        sklearn_checks=False,
    ),
    Subject(
        "own divergence",
        ODAClusterer(n_clusters=3, divergence=ScaledEuclidean(2.0)),
        # These it has met as the squared Euclidean divergence.
        sklearn_checks=False,
    ),
    Subject(
        "kullback-leibler",
        ODAClusterer(n_clusters=3, divergence="kullback_leibler"),
        domain="non-negative",
        domain_error="Negative values in data.*Kullback-Leibler.*x >= 0",
    ),
    Subject(
        "itakura-saito",
        ODAClusterer(n_clusters=3, divergence="itakura_saito"),
        domain="positive",
        domain_error="Itakura-Saito divergence takes x > 0",
        sklearn_checks=False,
    ),
    Subject(
        "logistic",
        ODAClusterer(n_clusters=3, divergence="logistic"),
        domain="unit",
        domain_error="logistic divergence takes 0 <= x <= 1",
        homogeneous=False,
        sklearn_checks=False,
    ),
)

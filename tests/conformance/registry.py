"""The estimators under test: one line joins all of the checks."""

from odalib import ODAClusterer

from .case_data import ScaledEuclidean
from .subject import Subject

SUBJECTS = (
    Subject("clusterer", ODAClusterer(n_clusters=3)),
    Subject("automatic", ODAClusterer()),
    Subject("perturb", ODAClusterer(n_clusters=3, split="perturb")),
    Subject(
        "batches",
        ODAClusterer(n_clusters=3, batch_size=16),
        order_free=False,
    ),
    Subject(
        "drift",
        ODAClusterer(n_clusters=3, step="constant", memory_samples=500),
    ),
    Subject("mahalanobis", ODAClusterer(n_clusters=3, divergence="mahalanobis")),
    Subject("own divergence", ODAClusterer(3, divergence=ScaledEuclidean(2.0))),
    Subject(
        "kullback-leibler",
        ODAClusterer(n_clusters=3, divergence="kullback_leibler"),
        domain="non-negative",
        domain_error="(?i)negative.*kullback.leibler",
    ),
    Subject(
        "itakura-saito",
        ODAClusterer(n_clusters=3, divergence="itakura_saito"),
        domain="positive",
        domain_error="(?i)itakura.saito.*positive|positive.*itakura.saito",
    ),
    Subject(
        "logistic",
        ODAClusterer(n_clusters=3, divergence="logistic"),
        domain="unit",
        domain_error=r"(?i)logistic.*\[0, 1\]|\[0, 1\].*logistic",
        homogeneous=False,
    ),
)

# scikit-learn's checks know two domains: all numbers, and those that are not negative.
SKLEARN_SUBJECTS = tuple(s for s in SUBJECTS if s.domain in ("real", "non-negative"))

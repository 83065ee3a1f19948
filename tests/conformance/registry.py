"""The estimators under test: one line joins all of the checks."""

from functools import partial

from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import SGDRegressor

from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
    IsingModel,
    ODAClassifier,
    ODAClusterer,
    ODARegressor,
)

from .cases import ScaledEuclidean
from .subject import Subject


def one_step(objective, theta, bounds):
    """Optimiser of hyperparameters that no rounding can lead elsewhere."""
    values = {step: objective(theta + step, eval_gradient=False) for step in (0.0, 0.5)}
    best = min(values, key=values.get)
    return theta + best, values[best]


# Rows of classifiers fit into the prior, and are learnt when they come.
Classifier = partial(Subject, scale=0.1, gathers=False)

# Labels that were not announced are learnt when they come.
Growing = partial(Subject, classes_grow=True)
# Features of all rows but the last, then all of them.
COARSE_TO_FINE = [slice(0, 2), None]

CLUSTERERS = (
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
    Subject(
        "clusterer by resolutions",
        ODAClusterer(n_clusters=3, resolutions=COARSE_TO_FINE),
        flat=False,
    ),
)

CLASSIFIERS = (
    Classifier(
        "probit",
        # Its fits differ by the tolerance, which is too wide to compare them.
        EPProbitClassifier(tol=1e-8),
        fits_calls=True,
        cut_atol=0.25,
        fit_rtol=1e-5,
        # These meet the default.
        sklearn_checks=False,
    ),
    Classifier(
        "probit against the rest",
        EPProbitClassifier([0.5, 1.0, 2.0], multi_class="ovr", tol=1e-8),
        fits_calls=True,
        cut_atol=0.15,
        fit_rtol=1e-5,
        # These have other numbers of features.
        any_width=False,
        sklearn_checks=False,
    ),
    Classifier(
        "probit by evidence",
        EPProbitClassifier("evidence"),
        streams=False,
        fixed_prior=False,
        fit_rtol=1e-3,
        # These call partial_fit, which it refuses.
        sklearn_checks=False,
    ),
    # The default, which scikit-learn's checks meet as it comes.
    Classifier("filtering", ADFProbitClassifier(), sklearn_checks=False),
    Classifier("diagonal filtering", ADFProbitClassifier(covariance="diagonal")),
    Classifier("forgetting", ADFProbitClassifier(forgetting=0.999)),
    Classifier(
        "gaussian process",
        EPGaussianProcessClassifier(),
        fit_rtol=1e-4,
        sklearn_checks=False,
    ),
    Classifier(
        "gaussian processes of pairs",
        EPGaussianProcessClassifier(
            1.0 * RBF(1.0), multi_class="one_vs_one", optimizer=one_step
        ),
        fixed_prior=False,
        fit_rtol=1e-4,
        sklearn_checks=False,
    ),
    Classifier(
        "inducing points",
        EPGaussianProcessClassifier(inducing_points=8),
        fixed_prior=False,
        fit_rtol=1e-4,
    ),
)

# What may depend on the parameters that choose by rows held out.
CHOOSING = ("checks_invariance", "checks_classifier")

ANNEALED_CLASSIFIERS = (
    Growing(
        # As by default, but for the largest number, which makes for quick checks.
        "codevectors",
        ODAClassifier(max_codevectors=4),
        only=CHOOSING,
        # These meet the default.
        sklearn_checks=False,
    ),
    Growing(
        "few codevectors",
        ODAClassifier(6, metric=None, polish=None),
        sklearn_checks=False,
    ),
    Growing(
        "codevectors of counts",
        ODAClassifier(6, divergence="kullback_leibler", polish=None),
        domain="non-negative",
        domain_error="Negative values in data.*Kullback-Leibler.*x >= 0",
        only=("checks_input", "checks_refusal"),
    ),
    Growing(
        "codevectors by resolutions",
        ODAClassifier(6, metric=None, polish=None, resolutions=COARSE_TO_FINE),
        flat=False,
    ),
)

REGRESSORS = (
    Subject(
        # As by default, but for the number, which makes for quick checks.
        "local models",
        ODARegressor(6),
        only=CHOOSING,
        # These meet the default.
        sklearn_checks=False,
    ),
    Subject(
        "constants",
        ODARegressor(6, local_model="constant"),
        # These want half of the variance of a plane explained.
        sklearn_checks=False,
    ),
    Subject(
        "learners",
        ODARegressor(6, local_model=SGDRegressor(random_state=0)),
        # Rows are learnt in their order, and diverge where they are large.
        order_free=False,
        scale=0.05,
        # Its learner learns sparse rows otherwise than dense ones.
        only=("checks_refusal", "checks_persistence"),
        # These hold a weight to be a repetition.
        sklearn_checks=False,
    ),
    Subject(
        "local models by resolutions",
        ODARegressor(6, metric=None, resolutions=COARSE_TO_FINE),
        flat=False,
    ),
)

DENSITIES = (
    Subject(
        "spins",
        # Its fits differ by the tolerance, which is too wide to compare them.
        IsingModel(tol=1e-7),
        fit_rtol=1e-5,
        domain="binary",
        domain_error=r"\{0, 1\}, \{-1, \+1\} or bool",
        gathers=False,
        # These have data that are not binary.
        sklearn_checks=False,
        as_it_comes=False,
    ),
    Subject(
        "binarised",
        IsingModel(binarize=0.0),
        gathers=False,
        as_it_comes=False,
        # Counts are all on one side of the threshold.
        only=("checks_refusal", "checks_persistence"),
    ),
)

SUBJECTS = (*CLUSTERERS, *CLASSIFIERS, *ANNEALED_CLASSIFIERS, *REGRESSORS, *DENSITIES)

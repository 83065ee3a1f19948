"""The estimators under test: one line joins all of the checks."""

from functools import partial

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import SGDRegressor
from sklearn.preprocessing import StandardScaler

from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
    IsingModel,
    ODAClassifier,
    ODAClusterer,
    ODARegressor,
    PathSearchCV,
)
from odalib.streaming import make_streaming_pipeline

from .cases import ScaledEuclidean
from .subject import Subject


def one_step(objective, theta, bounds):
    """Optimiser of hyperparameters that no rounding can lead elsewhere."""
    values = {step: objective(theta + step, eval_gradient=False) for step in (0.0, 0.5)}
    best = min(values, key=values.get)
    return theta + best, values[best]


def prior_in_units(*prior_variance):
    """Parameters that keep slopes times features as likely, for those of a probit."""
    variance = np.array(prior_variance) if prior_variance[1:] else prior_variance[0]
    return lambda factor: {"prior_variance": variance / factor**2}


def fixed_kernel(factor):
    """Kernel that is the default one in other units."""
    return {"kernel": ConstantKernel(1.0, "fixed") * RBF(factor, "fixed")}


# Rows of classifiers fit into the prior, and are learnt when they come.
Classifier = partial(Subject, scale=0.1, gathers=False)
Probit = partial(Classifier, in_units=prior_in_units(1.0))
Process = partial(Classifier, in_units=fixed_kernel, shift_free=True)

# Labels that were not announced are learnt when they come.
Growing = partial(Subject, classes_grow=True, shift_free=True, slow=True)
# Few steps of the annealing, for quick checks: how well it fits is tested elsewhere.
QUICK = {"cooling": 0.5, "tol": 0.01}
# Features of all rows but the last, then all of them.
COARSE_TO_FINE = [slice(0, 2), None]

# The divergence does not know where the origin is.
Movable = partial(Subject, shift_free=True)
Regressor = partial(Movable, slow=True)

CLUSTERERS = (
    Movable("clusterer", ODAClusterer(n_clusters=3)),
    Movable(
        "automatic",
        ODAClusterer(max_clusters=6, **QUICK),
        # These meet the default, which chooses among more.
        sklearn_checks=False,
    ),
    Movable("perturb", ODAClusterer(n_clusters=3, split="perturb", **QUICK)),
    Movable(
        "drift",
        ODAClusterer(n_clusters=3, step="constant", memory_samples=500, **QUICK),
    ),
    Movable(
        "batches",
        ODAClusterer(n_clusters=3, batch_size=50, **QUICK),
        order_free=False,
        # These hold a weight to be a repetition, in whatever batches.
        sklearn_checks=False,
    ),
    Movable(
        "mahalanobis",
        ODAClusterer(n_clusters=3, divergence="mahalanobis", **QUICK),
        # These weigh 15 rows of 30 features, and in the metric of fewer rows than
        # features all rows are equally far apart.
        sklearn_checks=False,
    ),
    Movable(
        "own divergence",
        ODAClusterer(n_clusters=3, divergence=ScaledEuclidean(2.0), **QUICK),
        # These it has met as the squared Euclidean divergence.
        sklearn_checks=False,
    ),
    Subject(
        "kullback-leibler",
        ODAClusterer(n_clusters=3, divergence="kullback_leibler", **QUICK),
        domain="non-negative",
        domain_error="Negative values in data.*Kullback-Leibler.*x >= 0",
    ),
    Subject(
        "itakura-saito",
        ODAClusterer(n_clusters=3, divergence="itakura_saito", **QUICK),
        domain="positive",
        domain_error="Itakura-Saito divergence takes x > 0",
        sklearn_checks=False,
    ),
    Subject(
        "logistic",
        ODAClusterer(n_clusters=3, divergence="logistic", **QUICK),
        domain="unit",
        domain_error="logistic divergence takes 0 <= x <= 1",
        homogeneous=False,
        sklearn_checks=False,
    ),
    Movable(
        "clusterer by resolutions",
        ODAClusterer(n_clusters=3, resolutions=COARSE_TO_FINE, **QUICK),
        flat=False,
    ),
)

CLASSIFIERS = (
    Probit(
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
        in_units=prior_in_units(0.5, 1.0, 2.0),
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
    Probit("filtering", ADFProbitClassifier(), sklearn_checks=False),
    Probit("diagonal filtering", ADFProbitClassifier(covariance="diagonal")),
    Probit("forgetting", ADFProbitClassifier(forgetting=0.999)),
    Process(
        "gaussian process",
        EPGaussianProcessClassifier(),
        fit_rtol=1e-4,
        sklearn_checks=False,
    ),
    Process(
        "gaussian processes of pairs",
        EPGaussianProcessClassifier(
            1.0 * RBF(1.0), multi_class="one_vs_one", optimizer=one_step
        ),
        fixed_prior=False,
        fit_rtol=1e-4,
        in_units=lambda factor: {"kernel": 1.0 * RBF(factor)},
        sklearn_checks=False,
    ),
    Process(
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
        # As by default, but for what makes for quick checks.
        "codevectors",
        ODAClassifier(max_codevectors=4, **QUICK),
        only=CHOOSING,
        # These meet the default.
        sklearn_checks=False,
    ),
    Growing(
        "few codevectors",
        ODAClassifier(4, metric=None, polish=None, **QUICK),
        sklearn_checks=False,
    ),
    Growing(
        "codevectors of counts",
        ODAClassifier(4, divergence="kullback_leibler", polish=None, **QUICK),
        domain="non-negative",
        domain_error="Negative values in data.*Kullback-Leibler.*x >= 0",
        shift_free=False,
        only=("checks_input", "checks_refusal"),
    ),
    Growing(
        "codevectors by resolutions",
        ODAClassifier(6, metric=None, polish=None, resolutions=COARSE_TO_FINE),
        flat=False,
    ),
)

REGRESSORS = (
    Regressor(
        # As by default, but for the number, which makes for quick checks.
        "local models",
        ODARegressor(6),
        only=CHOOSING,
        # These meet the default.
        sklearn_checks=False,
    ),
    Regressor(
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
    Regressor(
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
        homogeneous=False,
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

# Their laws and their answers; what they keep is not theirs alone.
LAWFUL = ("laws_learning", "laws_forms")

TOOLS = (
    Classifier(
        "standardised filtering",
        make_streaming_pipeline(StandardScaler(), ADFProbitClassifier(shuffle=False)),
        order_free=False,
        shift_free=True,
        fit_rtol=1e-6,
        # A scaler that has seen more gives the same row another place.
        cut_atol=0.5,
        only=LAWFUL,
        sklearn_checks=False,
        as_it_comes=False,
    ),
    Growing(
        "standardised codevectors",
        make_streaming_pipeline(
            StandardScaler(), ODAClassifier(4, metric=None, polish=None, **QUICK)
        ),
        fit_rtol=1e-6,
        cut_atol=0.5,
        only=LAWFUL,
        sklearn_checks=False,
        as_it_comes=False,
    ),
    Movable(
        "search",
        PathSearchCV(ODAClusterer(n_clusters=4, **QUICK), cv=2),
        # Folds are cut where rows stand.
        order_free=False,
        only=LAWFUL,
        sklearn_checks=False,
        as_it_comes=False,
    ),
)

SUBJECTS = (
    *CLUSTERERS,
    *CLASSIFIERS,
    *ANNEALED_CLASSIFIERS,
    *REGRESSORS,
    *DENSITIES,
    *TOOLS,
)

# They run code that another subject of their class runs, too, but for an option: what
# takes long meets them at night.
VARIANTS = frozenset(
    {
        "automatic",
        "perturb",
        "drift",
        "batches",
        "own divergence",
        "itakura-saito",
        "logistic",
        "probit against the rest",
        "probit by evidence",
        "diagonal filtering",
        "forgetting",
        "gaussian processes of pairs",
        "codevectors by resolutions",
        "codevectors of counts",
        "local models by resolutions",
        "binarised",
    }
)

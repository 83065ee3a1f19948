"""Make tests/data/models/VERSION: models that this version of odalib has saved.

Once for every release, with the versions of what it rests on that are then newest::

    python tests/data/make_models.py

Every ``NAME.joblib`` is loaded by all later versions, and must answer what
``NAME.npz`` holds: of ``rows`` as it is, and again (``later_...``) where it has learnt
these as well, with ``more_targets``. Rows are made of whole numbers, by no random
generator. No model holds an estimator of scikit-learn, which would warn of its own
version.
"""

from pathlib import Path

import joblib
import numpy as np
import scipy.sparse as sp

from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
    IsingModel,
    Mahalanobis,
    ODAClassifier,
    ODAClusterer,
    ODARegressor,
    PathSearchCV,
    Resolution,
    __version__,
)
from odalib.streaming import StreamingPipeline

TARGET = Path(__file__).parent / "models" / __version__
NAMES = np.array(["ash", "birch", "cherry"])
CENTRES = np.array([[-8, 0, 1], [8, 1, -1], [0, 9, 0]])
METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "score_samples",
    "apply",
)


def groups(first, n_rows):
    """Rows (n_rows, 3) in sixteenths about three centres, and their groups."""
    rows, columns = np.arange(first, first + n_rows), np.arange(3)
    steps = np.multiply.outer(rows, 7 + 4 * columns) + np.square(rows)[:, None] % 23
    members = rows % 3
    return CENTRES[members] + (steps % 33 - 16) / 16.0, members


def spins(first, n_rows):
    """Rows (n_rows, 4) of zeros and ones, of which the first two go together."""
    rows = np.arange(first, first + n_rows)
    leader = rows * rows % 7 % 2
    follower = np.where(rows % 5 == 0, 1 - leader, leader)
    return np.column_stack([leader, follower, rows // 2 % 2, rows % 3 % 2]).astype(
        float
    )


X, Y = groups(0, 60)
MORE_X, MORE_Y = groups(60, 45)
SPINS, MORE_SPINS = spins(0, 60), spins(60, 45)


def half_way(model, X, y=None):
    """Fit a model, and let it learn some rows more."""
    return model.fit(X, y).partial_fit(X[:7], None if y is None else y[:7])


def made():
    """Yield names, models, and the rows and targets that they learn on."""
    plain, named = (MORE_X, None), (MORE_X, NAMES[MORE_Y])
    yield "clusterer", ODAClusterer(3, random_state=0).fit(X), plain
    chosen = ODAClusterer(max_clusters=6, random_state=0)
    yield "clusterer_chosen", chosen.fit(X), plain
    yield (
        "clusterer_float32",
        half_way(ODAClusterer(3, random_state=0), X.astype(np.float32)),
        (MORE_X.astype(np.float32), None),
    )
    yield (
        "clusterer_mahalanobis",
        ODAClusterer(3, divergence=Mahalanobis(np.eye(3)), random_state=0).fit(X),
        plain,
    )
    yield "clusterer_begun", ODAClusterer(3, random_state=0).partial_fit(X), plain
    yield (
        "clusterer_begun_sparse",
        ODAClusterer(3, random_state=0).partial_fit(sp.csr_array(X)),
        plain,
    )
    resolutions = [Resolution([0], n_codevectors=2), None]
    yield (
        "clusterer_resolutions",
        half_way(ODAClusterer(4, resolutions=resolutions, random_state=0), X),
        plain,
    )
    classifier = ODAClassifier(6, random_state=0)
    yield "codevectors", half_way(classifier, X, NAMES[Y]), named
    begun = ODAClassifier(6, metric=None, polish=None, random_state=0)
    yield "codevectors_begun", begun.partial_fit(X, NAMES[Y]), named
    slope = X @ [1.0, -2.0, 0.5] + X[:, 0] ** 2 / 8
    more_slope = MORE_X @ [1.0, -2.0, 0.5] + MORE_X[:, 0] ** 2 / 8
    regressor = ODARegressor(4, random_state=0)
    yield "local_models", half_way(regressor, X, slope), (MORE_X, more_slope)
    constants = ODARegressor(4, local_model="constant", random_state=0)
    yield "constants", constants.fit(X, slope), (MORE_X, more_slope)
    yield "probit", EPProbitClassifier(tol=1e-8).fit(X, NAMES[Y]), named
    yield "probit_two", EPProbitClassifier(tol=1e-8).fit(X, Y > 0), (MORE_X, MORE_Y > 0)
    wide = np.hstack([X[:10]] * 9)
    few = EPProbitClassifier(tol=1e-8).fit(sp.csr_array(wide), Y[:10])
    yield "probit_few_rows", few, (np.hstack([MORE_X[:10]] * 9), MORE_Y[:10])
    yield "filtering", ADFProbitClassifier().fit(X, NAMES[Y]), named
    diagonal = ADFProbitClassifier(covariance="diagonal", forgetting=0.99)
    yield "filtering_diagonal", half_way(diagonal, X, NAMES[Y]), named
    unit = X[:24] / 8.0
    process = EPGaussianProcessClassifier().fit(unit, NAMES[Y[:24]])
    yield "gaussian_process", process, (unit, None)
    induced = EPGaussianProcessClassifier(inducing_points=5, random_state=0)
    yield "inducing_points", induced.fit(unit, Y[:24] > 0), (unit, None)
    yield "spins", IsingModel(tol=1e-8).fit(SPINS), (MORE_SPINS, None)
    yield (
        "spins_begun",
        IsingModel(random_state=0).partial_fit(SPINS),
        (MORE_SPINS, None),
    )
    search = PathSearchCV(ODAClusterer(4, random_state=0), cv=3, rule="best")
    yield "search", search.fit(X), plain
    steps = [
        ("distances", ODAClusterer(3, random_state=0)),
        ("classifier", ADFProbitClassifier()),
    ]
    pipeline = StreamingPipeline(steps).partial_fit(X / 8, NAMES[Y], classes=NAMES)
    yield "pipeline", pipeline, (MORE_X / 8, NAMES[MORE_Y])


def answers(model, rows):
    """Collect what a model says of rows, by the methods that it has."""
    present = [name for name in METHODS if hasattr(model, name)]
    return {name: getattr(model, name)(rows) for name in present}


def main():
    """Save every model and its answers."""
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, model, (rows, targets) in made():
        path = TARGET / f"{name}.joblib"
        joblib.dump(model, path, compress=("zlib", 9))
        model = joblib.load(path)
        kept = {"rows": rows, **answers(model, rows)}
        if hasattr(model, "partial_fit"):
            if targets is not None:
                kept["more_targets"] = targets
            model.partial_fit(rows, targets)
            later = answers(model, rows).items()
            kept |= {f"later_{method}": said for method, said in later}
        np.savez_compressed(TARGET / f"{name}.npz", **kept)


if __name__ == "__main__":
    main()

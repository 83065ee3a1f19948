"""A guided demonstration on data that scikit-learn ships: ``python -m odalib``."""

from time import perf_counter

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from odalib import EPProbitClassifier, ODAClusterer, PathSearchCV, __version__
from odalib.inspection import AnnealingPathDisplay

__all__ = ["main"]

SEED = 0
LARGEST = 50
COMPARED = (5, 20, 50)
FOLDS = KFold(3, shuffle=True, random_state=SEED)
PICTURE = "annealing_path.png"
# As the README says it.
GET_MATPLOTLIB = '.venv/bin/pip install -e ".[plot]"'
CLASS_FOLDS = StratifiedKFold(5, shuffle=True, random_state=SEED)
FEATURES = {
    "mean": slice(0, 10),
    "error": slice(10, 20),
    "worst": slice(20, 30),
    "all": slice(0, 30),
}


def main():
    """Show what odalib does, in six parts."""
    X, digits = load_digits(return_X_y=True)
    print(f"odalib {__version__} on data that scikit-learn ships")
    print(f"Parts 1 to 5: {len(X)} images of digits, {X.shape[1]} pixels each.")
    model, seconds = anneal(X)
    compare_with_kmeans(X, model, seconds)
    search_in_a_pipeline(X, digits)
    follow_a_stream(X)
    draw(model)
    classify()


def heading(title):
    """Print a title."""
    print(f"\n{title}\n{'-' * len(title)}")


def timed(function, *args, **kwargs):
    """Call a function; return its result and the seconds it took."""
    start = perf_counter()
    result = function(*args, **kwargs)
    return result, perf_counter() - start


def anneal(X):
    """Fit once and print the path; return the model and the seconds it took."""
    heading("1. Clustering by annealing")
    model = ODAClusterer(n_clusters=LARGEST, random_state=SEED)
    _, seconds = timed(model.fit, X)
    print(
        f"ODAClusterer(n_clusters={LARGEST}).fit(X) took {seconds:.2f} s. While it\n"
        "is hot, one codevector (a cluster centre) serves all images. As the\n"
        "temperature falls, codevectors split, beyond the number wanted; then they\n"
        f"are merged down to {LARGEST}, which are cooled on.\n"
    )
    print("temperature  codevectors  mean squared distance")
    path = model.annealing_path_
    levels = zip(path.temperature, path.n_codevectors, path.distortion, strict=True)
    for temperature, number, distortion in levels:
        print(f"{temperature:11.2f}  {number:11d}  {distortion:21.1f}")
    return model, seconds


def compare_with_kmeans(X, model, fit_seconds):
    """Print distortion and time of levels of the path and of k-means."""
    heading("2. Every number of clusters from that one fit, beside KMeans(n_init=10)")
    print("clusters  annealing    KMeans  ratio  KMeans took")
    total = 0.0
    for number in COMPARED:
        level = model.at(n_clusters=number)
        peer = KMeans(number, n_init=10, random_state=SEED)
        _, seconds = timed(peer.fit, X)
        total += seconds
        ours, theirs = -level.score(X), peer.inertia_ / len(X)
        print(
            f"{number:8d}  {ours:9.1f}  {theirs:8.1f}  {ours / theirs:5.3f}  "
            f"{seconds:9.2f} s"
        )
    print(
        "\nMean squared distance of an image from its nearest centre; a ratio below\n"
        f"1 is in favour of annealing. All numbers up to {LARGEST} come from the fit\n"
        f"of part 1, {fit_seconds:.2f} s; KMeans took {total:.2f} s for these three."
    )


def search_in_a_pipeline(X, digits):
    """Grid-search a pipeline, then search the path of its last step."""
    heading("3. In a pipeline: StandardScaler, PCA, ODAClusterer")
    pipeline = make_pipeline(
        StandardScaler(),
        PCA(random_state=SEED),
        ODAClusterer(n_clusters=10, random_state=SEED),
    )
    agreement = {"scoring": "adjusted_rand_score", "cv": FOLDS}
    grid = GridSearchCV(pipeline, {"pca__n_components": [10, 20, 40]}, **agreement)
    grid.fit(X, digits)
    print(
        "GridSearchCV over the number of components, scored by agreement with the\n"
        f"true digits (adjusted Rand score): {grid.best_params_['pca__n_components']} "
        f"components, score {grid.best_score_:.3f}."
    )
    numbers = range(2, 31)
    path = PathSearchCV(grid.best_estimator_, values=numbers, **agreement)
    path.fit(X, digits)
    print(
        f"PathSearchCV over {len(numbers)} numbers of clusters: "
        f"{path.best_params_['odaclusterer__n_clusters']} clusters, "
        f"score {path.best_score_:.3f},\n"
        f"by {path.n_splits_ + 1} fits where a grid search needs "
        f"{len(numbers) * path.n_splits_ + 1}."
    )


def follow_a_stream(X):
    """Learn from the rows call by call, and compare with a fit."""
    heading("4. As a stream")
    rows = np.random.default_rng(SEED).permutation(np.tile(X, (3, 1)))
    streams = {}
    for size in (100, 7):
        stream = ODAClusterer(n_clusters=10, random_state=SEED)
        for start in range(0, len(rows), size):
            stream.partial_fit(rows[start : start + size])
        streams[size] = stream
    centres = [stream.cluster_centers_ for stream in streams.values()]
    fitted = ODAClusterer(n_clusters=10, random_state=SEED).fit(X)
    print(
        f"partial_fit on {len(rows)} rows, every image three times in mixed order, in\n"
        "calls of 100 rows, and again in calls of 7: the same codevectors bit for "
        f"bit: {'yes' if np.array_equal(*centres) else 'no'}.\n"
        f"Mean squared distance with 10 clusters: {-streams[100].score(X):.1f} as a "
        f"stream, {-fitted.score(X):.1f} from fit."
    )


def draw(model):
    """Write a picture of the path, or say what it takes."""
    heading("5. A picture")
    try:
        display = AnnealingPathDisplay.from_estimator(model)
    except ImportError:
        print(f"No picture, which needs matplotlib: {GET_MATPLOTLIB} adds it.")
        return
    display.figure_.savefig(PICTURE, dpi=120)
    print(f"The path of part 1 is in {PICTURE}.")


def classify():
    """Print evidence and log loss for several sets of features."""
    heading("6. Classification, with probabilities and evidence")
    X, y = load_breast_cancer(return_X_y=True)
    print(
        f"{len(X)} tumours, benign or malignant, by ten measurements of their cells:\n"
        "mean, standard error of the mean, and the worst cells. Which to use?\n"
        "EPProbitClassifier tells by the evidence of one fit, which also chooses how\n"
        "wide its prior is. Cross-validation, here in five folds, takes five fits.\n"
    )
    print("          log       log loss  log loss of the folds")
    print("features  evidence  left out    odalib  LogisticRegression  ratio")
    for name, columns in FEATURES.items():
        model = EPProbitClassifier(prior_variance="evidence")
        ours = held_out_loss(model, X[:, columns], y)
        theirs = held_out_loss(LogisticRegression(), X[:, columns], y)
        model.fit(scale(X[:, columns]), y)
        left_out = log_loss(y, model.loo_predict_proba())
        print(
            f"{name:8s}  {model.log_evidence_[0]:8.1f}  {left_out:8.3f}  {ours:8.3f}  "
            f"{theirs:18.3f}  {ours / theirs:5.2f}"
        )
    print(
        "\nA large evidence and a small log loss are good; a ratio below 1 is in\n"
        "favour of odalib. The penalty of LogisticRegression is the same for all and\n"
        "suits some of these features well; odalib has chosen its own from the rows.\n"
        "The loss with each row left out comes with the one fit."
    )


def held_out_loss(classifier, X, y):
    """Log loss of predictions for rows that a classifier has not seen."""
    model = make_pipeline(StandardScaler(), classifier)
    folds = {"cv": CLASS_FOLDS, "method": "predict_proba"}
    return log_loss(y, cross_val_predict(model, X, y, **folds))


if __name__ == "__main__":
    main()

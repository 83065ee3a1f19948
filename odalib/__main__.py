"""A guided demonstration on data that scikit-learn ships: ``python -m odalib``."""

from time import perf_counter

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    make_friedman1,
)
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from odalib import (
    EPProbitClassifier,
    ODAClassifier,
    ODAClusterer,
    ODARegressor,
    PathSearchCV,
    __version__,
)
from odalib.inspection import AnnealingPathDisplay, export_text

__all__ = ["main"]

SEED = 0
LARGEST = 50
COMPARED = (5, 20, 50)
FOLDS = KFold(3, shuffle=True, random_state=SEED)
PICTURE = "annealing_path.png"
# As the README says it.
GET_MATPLOTLIB = '.venv/bin/pip install -e ".[plot]"'
CODEVECTORS, CELLS, LEAVES = 30, 40, 9
SEPALS, PETALS = slice(0, 2), slice(2, 4)
CLASS_FOLDS = StratifiedKFold(5, shuffle=True, random_state=SEED)
FEATURES = {
    "mean": slice(0, 10),
    "error": slice(10, 20),
    "worst": slice(20, 30),
    "all": slice(0, 30),
}


def main():
    """Show what odalib does, in nine parts."""
    X, digits = load_digits(return_X_y=True)
    print(f"odalib {__version__} on data that scikit-learn ships")
    print(f"Parts 1 to 6: {len(X)} images of digits, {X.shape[1]} pixels each.")
    model, seconds = anneal(X)
    compare_with_kmeans(X, model, seconds)
    search_in_a_pipeline(X, digits)
    follow_a_stream(X)
    draw(model)
    classify_by_codevectors(X, digits)
    regress()
    go_from_coarse_to_fine()
    classify_with_evidence()


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


def classify_by_codevectors(X, digits):
    """Print accuracy and log loss beside nearest neighbours, and a close call."""
    heading("6. Classification by codevectors")
    split = train_test_split(X, digits, test_size=0.5, random_state=SEED)
    X_train, X_test, y_train, y_test = split
    model = ODAClassifier(n_codevectors=CODEVECTORS, random_state=SEED)
    _, seconds = timed(model.fit, X_train, y_train)
    print(
        f"ODAClassifier(n_codevectors={CODEVECTORS}) learns from half of the images in "
        f"{seconds:.2f} s.\nOf the other half:\n"
    )
    print("                      keeps  accuracy  log loss")
    peer = KNeighborsClassifier().fit(X_train, y_train)
    for fitted, kept in ((model, CODEVECTORS), (peer, len(X_train))):
        loss = log_loss(y_test, fitted.predict_proba(X_test))
        accuracy = fitted.score(X_test, y_test)
        name = type(fitted).__name__
        print(f"{name:20s}  {kept:5d}  {accuracy:8.3f}  {loss:8.3f}")
    explanation = model.explain(X_test)
    sure = model.predict_proba(X_test).max(axis=1)
    closest = sure.argmin()
    decider = explanation.codevector[closest]
    print(
        f"\nIt is least sure, with probability {sure[closest]:.2f}, of an image of the "
        f"digit {y_test[closest]}:\ncodevector {decider} decided, of the digit "
        f"{model.codevector_classes_[decider]}. It can be looked at as an image itself."
    )


def regress():
    """Print R2 beside peers, and how often the deviations hold."""
    heading("7. Regression by local models")
    X, y = make_friedman1(1000, noise=1.0, random_state=SEED)
    X_train, X_test, y_train, y_test = X[:500], X[500:], y[:500], y[500:]
    print(
        "Friedman's function of ten features, of which the last five do not matter:\n"
        f"500 rows to learn from, 500 held out. {CELLS} cells with a linear model\n"
        "each, cut in the metric of the slopes, or as the rows lie (metric=None).\n"
    )
    models = {
        "ODARegressor": ODARegressor(CELLS, random_state=SEED),
        "ODARegressor, metric=None": ODARegressor(
            CELLS, metric=None, random_state=SEED
        ),
        "RandomForestRegressor": RandomForestRegressor(random_state=SEED),
        "Ridge": Ridge(),
    }
    print("                              R2  seconds")
    for name, model in models.items():
        _, seconds = timed(model.fit, X_train, y_train)
        print(f"{name:25s}  {model.score(X_test, y_test):5.3f}  {seconds:7.2f}")
    model = models["ODARegressor"]
    mean, deviation = model.predict(X_test, return_std=True)
    within = np.mean(abs(y_test - mean) <= 2.0 * deviation)
    metric = np.diag(model.metric_)
    share = metric[:5].sum() / metric.sum()
    print(
        f"\nThe metric gives {share:.0%} of the weight to the five that matter. Of the "
        f"targets\nheld out, {within:.0%} are within two of the deviations that "
        "predict(return_std=True)\ngives."
    )


def go_from_coarse_to_fine():
    """Print a tree whose levels see different features."""
    heading("8. Coarse to fine: a tree of resolutions")
    iris = load_iris()
    model = ODAClassifier(
        LEAVES, resolutions=[SEPALS, PETALS], polish=None, random_state=SEED
    )
    model.fit(iris.data, iris.target_names[iris.target])
    print(
        f"{len(iris.data)} irises by their sepals, and then, in cells that mix kinds, "
        "by their petals:\n"
    )
    print(export_text(model, feature_names=iris.feature_names))


def classify_with_evidence():
    """Print evidence and log loss for several sets of features."""
    heading("9. Classification, with probabilities and evidence")
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

"""
How many clusters?
==================

Choose the number of clusters by the annealing path, and by cross-validation along it.

The rows are 178 wines by thirteen measurements, of three cultivars that the fit does
not see. As the temperature falls codevectors split, and a number that lasts over a wide
range of temperatures is one that the data support. Cross-validation scores every number
on rows that were held out, here by the silhouette, with one fit per fold::

    python docs/examples/number_of_clusters.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import scale

from odalib import ODAClusterer, PathSearchCV
from odalib.inspection import AnnealingPathDisplay

NUMBERS = range(2, 13)


def silhouette(model, rows):
    """Silhouette of the clusters of held-out rows."""
    return silhouette_score(rows, model.predict(rows))


def search_path(X):
    """Silhouette of every number of clusters, from one fit per fold."""
    search = PathSearchCV(
        ODAClusterer(max(NUMBERS), random_state=0),
        values=NUMBERS,
        scoring=silhouette,
        cv=KFold(5, shuffle=True, random_state=0),
    )
    return search.fit(X)


def draw(model, search):
    """Draw the path, and beside it the scores along it."""
    figure = plt.figure(figsize=(9.0, 4.4), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    number = figure.add_subplot(grid[0, 0])
    distortion = figure.add_subplot(grid[1, 0], sharex=number)
    AnnealingPathDisplay.from_estimator(model, ax=[number, distortion])

    scores = figure.add_subplot(grid[:, 1])
    results = search.cv_results_
    n_folds = search.n_splits_
    scores.errorbar(
        NUMBERS,
        results["mean_test_score"],
        results["std_test_score"] / np.sqrt(n_folds),
        color="#1b3a5c",
        marker="o",
        capsize=3,
    )
    best = search.best_params_["n_clusters"]
    scores.axvline(best, color="#e0701a", linestyle="--", label=f"chosen: {best}")
    scores.set_xlabel("number of clusters")
    scores.set_ylabel("silhouette")
    scores.set_title("of held-out rows, with its standard error", fontsize=10)
    scores.legend()
    return figure


def main():
    """Print both choices, how they agree with the cultivars, and draw them."""
    wine = load_wine()
    X = scale(wine.data)
    by_plateau = ODAClusterer(n_clusters=None, random_state=0).fit(X)
    search = search_path(X)
    by_score = search.best_estimator_

    print("chosen by              clusters  agreement with the cultivars")
    for name, model in (("longest plateau", by_plateau), ("silhouette", by_score)):
        agreement = adjusted_rand_score(wine.target, model.predict(X))
        print(f"{name:21s}  {model.n_clusters_:8d}  {agreement:28.2f}")
    print(
        f"\nThe longest plateau is {by_plateau.plateau_strength_:.1f} times as wide as "
        "the next.\nAgreement is the adjusted Rand score."
    )
    draw(by_plateau, search)
    plt.show()


if __name__ == "__main__":
    main()

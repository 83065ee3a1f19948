"""
Which divergence?
=================

Cluster positive measurements, and see how the divergence says what is near.

The rows are 178 wines by thirteen positive measurements in units of their own, of three
cultivars that the fits do not see. Squared Euclidean distance adds up units, so that
proline, in hundreds, hides the rest. The Itakura-Saito divergence compares ratios, and
has no units; Kullback-Leibler is that of counts. Mahalanobis distance takes units and
correlations out by the covariance of all rows, and with it what sets the clusters apart
where that is most of the covariance::

    python docs/examples/divergences.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale

from odalib import ODAClusterer

DIVERGENCES = ["squared_euclidean", "kullback_leibler", "itakura_saito", "mahalanobis"]
FEATURES = ["proline", "flavanoids"]


def name_of(divergence):
    """Words for a divergence."""
    return divergence.replace("_", " ")


def draw(wine, labels, agreement):
    """Draw two features of the wines for each divergence, clusters as marks."""
    columns = [wine.feature_names.index(name) for name in FEATURES]
    figure, panels = plt.subplots(
        2, 2, figsize=(8.0, 6.4), sharex=True, sharey=True, layout="constrained"
    )
    styles = (("o", "#1b3a5c"), ("s", "#e0701a"), ("^", "#2f8579"))
    for axes, divergence in zip(panels.flat, DIVERGENCES, strict=True):
        # The same marks for clusters of the same height in the second feature.
        heights = [
            wine.data[labels[divergence] == k, columns[1]].mean() for k in range(3)
        ]
        for cluster, (marker, color) in zip(np.argsort(heights), styles, strict=True):
            rows = wine.data[labels[divergence] == cluster][:, columns]
            axes.scatter(*rows.T, s=16, marker=marker, color=color, alpha=0.7)
        axes.set_title(
            f"{name_of(divergence)}: {agreement[divergence]:.2f}", fontsize=10
        )
    figure.supxlabel(FEATURES[0])
    figure.supylabel(FEATURES[1])
    figure.suptitle("three clusters, and their agreement with the cultivars")
    return figure


def main():
    """Print how clusters of each divergence agree with the cultivars, and draw them."""
    wine = load_wine()
    labels = {
        divergence: ODAClusterer(3, divergence=divergence, random_state=0).fit_predict(
            wine.data
        )
        for divergence in DIVERGENCES
    }
    agreement = {
        divergence: adjusted_rand_score(wine.target, found)
        for divergence, found in labels.items()
    }
    scaled = ODAClusterer(3, random_state=0).fit_predict(scale(wine.data))
    print("three clusters by                   agreement with the cultivars")
    for divergence, score in agreement.items():
        print(f"{name_of(divergence):34s}  {score:28.2f}")
    score = adjusted_rand_score(wine.target, scaled)
    print(f"{'squared euclidean, after scaling':34s}  {score:28.2f}")
    print("\nAgreement is the adjusted Rand score.")
    draw(wine, labels, agreement)
    plt.show()


if __name__ == "__main__":
    main()

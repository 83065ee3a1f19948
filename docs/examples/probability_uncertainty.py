"""
A probability and its uncertainty
=================================

Tell a probability of one half that is certain from one that is a lack of data.

Two species of iris by two measurements of the petal. `EPProbitClassifier` is linear,
`EPGaussianProcessClassifier` is not. Both give probabilities, and both know how sure
these are: dashed lines tell how wide the interval is in which the probability lies.
Amid the flowers it is narrow, where the species mix it is wider, and far from all of
them next to nothing is known. Stars are the three flowers that the text tells of::

    python docs/examples/probability_uncertainty.py
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import log_loss

from odalib import EPGaussianProcessClassifier, EPProbitClassifier
from odalib.inspection import PredictiveProbabilityDisplay

PETAL = ["petal length (cm)", "petal width (cm)"]
FLOWERS = {
    "amid the first species": [4.5, 1.4],
    "where both meet": [4.9, 1.65],
    "far from all flowers": [6.8, 0.9],
}


def interval(model, rows):
    """Central interval of posterior probability 0.95 of the probability."""
    mean, variance = model.latent_mean_and_variance(rows)
    half = 1.96 * np.sqrt(variance)
    return ndtr(mean - half), ndtr(mean + half)


def main():
    """Print probabilities of three flowers with their intervals, and draw both maps."""
    iris = load_iris(as_frame=True)
    rows = iris.target > 0
    X = iris.data.loc[rows, PETAL]
    y = iris.target_names[iris.target[rows]]
    kernel = ConstantKernel(4.0) * RBF([1.0, 0.5])
    models = {
        "linear": EPProbitClassifier("evidence").fit(X, y),
        "Gaussian process": EPGaussianProcessClassifier(kernel, random_state=0).fit(
            X, y
        ),
    }
    flowers = X.iloc[:0].reindex(range(len(FLOWERS)))
    flowers[:] = list(FLOWERS.values())
    for name, model in models.items():
        leave_one_out = log_loss(y, model.loo_predict_proba())
        print(f"{name}: log loss of flowers left out {leave_one_out:.3f}\n")
        lower, upper = interval(model, flowers)
        probability = model.predict_proba(flowers)[:, 1]
        print(f"flower                  probability of {model.classes_[1]}")
        for place, *told in zip(FLOWERS, probability, lower, upper, strict=True):
            print("{:22s}  {:.2f}, from {:.2f} to {:.2f}".format(place, *told))
        print()

    _, panels = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
    for ax, (name, model) in zip(panels, models.items(), strict=True):
        PredictiveProbabilityDisplay.from_estimator(model, X, y, ax=ax)
        ax.plot(*np.transpose(list(FLOWERS.values())), "k*", markersize=11)
        ax.set_title(name)
    plt.show()


if __name__ == "__main__":
    main()

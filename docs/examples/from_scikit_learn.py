"""
Coming from scikit-learn
========================

What changes when KMeans or GaussianProcessClassifier is replaced, in one picture.

On the left the distortion of digits over the number of clusters: KMeans is fitted anew
for every number, once and with five starts, and `ODAClusterer` once for all of them. On
the right held-out probabilities of tumours against how often they come true: Laplace's
approximation, which GaussianProcessClassifier uses, draws probabilities towards one
half, and expectation propagation does so less. Both start from one kernel, and learn
its parameters::

    python docs/examples/from_scikit_learn.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from odalib import EPGaussianProcessClassifier, ODAClusterer

NUMBERS = [5, 10, 20, 30, 40, 60]
STARTS = (1, 5)


def distortions(X):
    """Mean distortion of each way over the numbers of clusters."""
    found = {}
    for n_init in STARTS:
        fits = [KMeans(k, n_init=n_init, random_state=0).fit(X) for k in NUMBERS]
        starts = "one start" if n_init == 1 else f"{n_init} starts"
        found[f"KMeans, {starts}"] = np.array([fit.inertia_ for fit in fits]) / len(X)
    full = ODAClusterer(max(NUMBERS), random_state=0).fit(X)
    path = [-full.at(n_clusters=k).score(X) for k in NUMBERS]
    found["ODAClusterer, one fit"] = np.array(path)
    return found


def probabilities():
    """Held-out labels, and the probability of the second class by both classifiers."""
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=150, stratify=y, random_state=0
    )
    scaler = StandardScaler().fit(X_train)
    kernel = ConstantKernel(4.0) * RBF(5.0)
    told = {}
    for estimator in (GaussianProcessClassifier, EPGaussianProcessClassifier):
        model = estimator(kernel, random_state=0).fit(
            scaler.transform(X_train), y_train
        )
        told[estimator.__name__] = model.predict_proba(scaler.transform(X_test))[:, 1]
    return y_test, told


def draw(found, truth, told):
    """Draw distortions beside the best, and calibration."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
    best = np.min(list(found.values()), axis=0)
    styles = (("s:", "#8a8a8a"), ("s--", "#1b3a5c"), ("D-", "#e0701a"))
    for (name, values), (line, color) in zip(found.items(), styles, strict=True):
        left.plot(NUMBERS, 100.0 * (values / best - 1.0), line, color=color, label=name)
    left.set(xlabel="number of clusters", ylabel="distortion above the best, %")
    left.set_title("clusters of digits")
    left.legend()
    for (name, values), (line, color) in zip(told.items(), styles[1:], strict=True):
        CalibrationDisplay.from_predictions(
            truth, values, n_bins=8, strategy="quantile", name=name, ax=right
        )
        right.lines[-1].set(color=color, linestyle=line[1:], marker=line[0])
    right.set(xlabel="probability of benign", ylabel="share that is benign")
    right.set_title("held-out tumours")
    right.legend(loc="upper left", fontsize=8)


def main():
    """Print both comparisons and draw them."""
    found = distortions(load_digits().data)
    print("mean distortion of clusters  " + "".join(f"{k:7d}" for k in NUMBERS))
    for name, values in found.items():
        print(f"{name:27s}  " + "".join(f"{value:7.1f}" for value in values))
    truth, told = probabilities()
    print("\nheld-out tumours             log loss  right")
    for name, probability in told.items():
        right = ((probability > 0.5) == truth).mean()
        print(f"{name:27s}  {log_loss(truth, probability):8.3f}  {right:5.3f}")
    draw(found, truth, told)
    plt.show()


if __name__ == "__main__":
    main()

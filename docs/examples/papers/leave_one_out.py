"""
Cavities are what is predicted of a row left out
================================================

Predict each row from all others, without refitting.

The paper: expectation propagation (EP) removes a row from its posterior before it looks
at that row again. The lecture notes "Expectation Propagation" (Raymond, Manoel and
Opper) work with the distribution that is left, the cavity, throughout, and turn with
figure 3 to real data, where no couplings are drawn from a known distribution. If the
cavity is right, it predicts the row as a model would that has never seen it.

Shown here: 150 patients of the breast cancer data of scikit-learn. The probability of a
benign tumour from the cavity, of one fit, against that of a model fitted again to the
149 others; for a linear probit classifier with 30 features and for a Gaussian process.
In grey beside it, what the fit says of the rows that it learnt from.

Differences: the data, and the quantity, which is a probability here. The notes at hand
give no numbers for their figure. Leave-one-out on more sets, and with a kernel that was
optimised::

    python -m benchmarks.probabilities --parts loo
    python -m benchmarks.ising_gibbs

This script::

    python docs/examples/papers/leave_one_out.py
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.gaussian_process.kernels import RBF

from odalib import EPGaussianProcessClassifier, EPProbitClassifier

N_ROWS = 150
DARK, GREY = "#1b3a5c", "#9a9a9a"
# Largest difference from a refit that is claimed.
LIMITS = {"linear probit": 0.02, "Gaussian process": 0.002}


def read():
    """Return standardised rows and their classes."""
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:N_ROWS]
    X, y = X[chosen], y[chosen]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def refitted(model, X, y):
    """Return the probability of the second class of every row from all others."""
    probabilities = []
    for row in range(len(y)):
        model.fit(np.delete(X, row, axis=0), np.delete(y, row))
        probabilities.append(model.predict_proba(X[[row]])[0, 1])
    return np.array(probabilities)


def compare(model, X, y):
    """Return probabilities by cavities, by the fit and by refits, and seconds."""
    start = process_time()
    model.fit(X, y)
    cavity = model.loo_predict_proba()[:, 1]
    once = process_time() - start
    learnt_from = model.predict_proba(X)[:, 1]
    start = process_time()
    refits = refitted(model, X, y)
    return cavity, learnt_from, refits, once, process_time() - start


def log_loss(p, y):
    """Return the mean log loss of probabilities of the second class."""
    return -np.mean(np.log(np.where(y == 1, p, 1.0 - p)))


def draw(panels):
    """Draw what cavities and the fit say against refits."""
    _, axes = plt.subplots(1, 2, figsize=(9, 5), layout="constrained")
    for ax, (name, (cavity, learnt_from, refits)) in zip(
        axes, panels.items(), strict=True
    ):
        ax.plot([0, 1], [0, 1], color=GREY, lw=1, zorder=0)
        ax.plot(refits, learnt_from, "x", color=GREY, ms=6, label="learnt from the row")
        ax.plot(refits, cavity, "o", color=DARK, ms=4, label="cavity")
        ax.set(title=name, xlabel="fitted again without the row", aspect="equal")
    axes[0].set_ylabel("probability from one fit")
    axes[0].legend(loc="upper left")
    plt.show()


def main():
    """Print how far cavities are from refits, check it, and draw."""
    X, y = read()
    models = {
        "linear probit": EPProbitClassifier(),
        "Gaussian process": EPGaussianProcessClassifier(
            1.0 * RBF(np.sqrt(X.shape[1])), optimizer=None
        ),
    }
    print("largest difference from a refit, log losses, seconds\n")
    print("                    cavity  learnt from   loss by: cavity  refits", end="")
    print("  learnt from   once  refits")
    panels = {}
    for name, model in models.items():
        cavity, learnt_from, refits, once, again = compare(model, X, y)
        panels[name] = cavity, learnt_from, refits
        off, naive = (np.abs(p - refits).max() for p in (cavity, learnt_from))
        losses = [log_loss(p, y) for p in (cavity, refits, learnt_from)]
        print(f"{name:16s}  {off:8.5f}  {naive:11.5f}", end="")
        print("  {:15.4f}  {:6.4f}  {:11.4f}".format(*losses), end="")
        print(f"  {once:5.2f}  {again:6.2f}")
        assert off < LIMITS[name]
        assert naive > 10 * off
        assert abs(losses[0] - losses[1]) < 0.1 * abs(losses[2] - losses[1])
    draw(panels)


if __name__ == "__main__":
    main()

"""
Where codevectors split
=======================

Anneal slowly, and compare the temperatures of splits with theory.

The paper: "Multi-Resolution Online Deterministic Annealing" (Mavridis and Baras) proves
that a codevector is no minimum any more below a critical temperature, which depends on
the data and the divergence: the largest eigenvalue of the Hessian of its potential
times the covariance of its rows, twice the largest eigenvalue of that covariance for
squared Euclidean distances. Its algorithm finds the split without eigenvalues: it
doubles every codevector, perturbs both, and merges those that come together again.

Shown here: that algorithm, ``split="perturb"``, cooled by one per cent a level, on four
clouds whose three critical temperatures are known beforehand, as a diagram of the
codevectors; and the first split of the flowers of iris under three divergences.

The first level below the critical temperature that has split is up to one per cent
below it, the width of a level.

Differences: all rows are iterated to the fixed point at each temperature in the place
of stochastic steps, so that a split is not blurred by noise. The paper gives the
condition for one step; whether a split comes at every further critical temperature is
looked at here with the covariances of each group. Cooled by 0.2 % a level, with five
divergences on two sets each::

    python -m benchmarks.bifurcation

This script::

    python docs/examples/papers/bifurcations.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from odalib import ODAClusterer

# More codevectors than there are between the temperatures: those end the anneal.
COOLING, MOST = 0.99, 8
# So fine that codevectors which part a little are two, and those that drift together
# slowly, as they do near a critical temperature, have the time.
FINE = {"merge_tol": 1e-3, "tol": 1e-6, "max_iter": 10_000_000}
DARK, BRIGHT, GREY = "#1b3a5c", "#e0701a", "#8a8a8a"
DIVERGENCES = {
    "squared_euclidean": ("squared Euclidean", DARK, "o-"),
    "kullback_leibler": ("Kullback-Leibler", BRIGHT, "s--"),
    "itakura_saito": ("Itakura-Saito", "black", "^:"),
}


def four_clouds():
    """Return rows and their group: two groups far apart, each of two clouds."""
    middles = np.array([[-8.0, 1.5], [-8.0, -1.5], [8.0, 1.0], [8.0, -1.0]])
    noise = np.random.default_rng(0).normal(scale=0.1, size=(200, 2))
    return np.repeat(middles, 50, axis=0) + noise, np.repeat([0, 1], 100)


def hessian(divergence, X):
    """Return the Hessian of the divergence's potential at the mean of the rows."""
    mean = X.mean(axis=0)
    diagonal = {
        "squared_euclidean": np.full_like(mean, 2.0),
        "kullback_leibler": 1.0 / mean,
        "itakura_saito": 1.0 / mean**2,
    }
    return np.diag(diagonal[divergence])


def critical_temperature(X, divergence="squared_euclidean"):
    """Return the temperature at which a codevector for all these rows splits."""
    covariance = np.cov(X, rowvar=False, bias=True)
    return np.linalg.eigvals(hessian(divergence, X) @ covariance).real.max()


def anneal(X, hottest, coldest, divergence="squared_euclidean"):
    """Return the path of a slow anneal between two temperatures."""
    model = ODAClusterer(
        MOST,
        divergence=divergence,
        split="perturb",
        cooling=COOLING,
        max_temperature=hottest,
        min_temperature=coldest,
        random_state=0,
        **FINE,
    )
    return model.fit(X).annealing_path_


def hottest_with(path, number, belongs=lambda codebook: slice(None)):
    """Return the highest temperature with so many codevectors where they belong."""
    levels = zip(path.temperature, path.codebooks, strict=True)
    return max(t for t, book in levels if len(book[belongs(book)]) >= number)


def splits_of_clouds():
    """Print the three splits of the clouds; return path and critical temperatures."""
    X, group = four_clouds()
    critical = [
        critical_temperature(rows) for rows in (X, X[group == 0], X[group == 1])
    ]
    path = anneal(X, 1.03 * critical[0], 0.9 * critical[2])
    measured = (
        hottest_with(path, 2),
        hottest_with(path, 2, lambda book: book[:, 0] < 0),
        hottest_with(path, 2, lambda book: book[:, 0] > 0),
    )
    print("four clouds     theory   measured   ratio")
    for name, theory, split in zip(
        ("all rows", "left group", "right group"), critical, measured, strict=True
    ):
        print(f"{name:12s}  {theory:8.3f}  {split:9.3f}  {split / theory:6.3f}")
        assert 0.97 < split / theory < 1.01
    return path, critical


def splits_of_iris():
    """Print the first split under each divergence; return T / T_critical and K."""
    X = load_iris().data
    curves = {}
    print("\niris                theory   measured   ratio")
    for name in DIVERGENCES:
        theory = critical_temperature(X, name)
        path = anneal(X, 1.06 * theory, 0.9 * theory, name)
        split = hottest_with(path, 2)
        print(f"{name:17s}  {theory:7.4f}  {split:9.4f}  {split / theory:6.3f}")
        assert 0.97 < split / theory < 1.01
        curves[name] = path.temperature / theory, parted(path)
    return curves


def parted(path):
    """Return how far codevectors are from their mean, relative to the coldest."""
    spreads = [np.linalg.norm(book - book.mean(axis=0)) for book in path.codebooks]
    return np.array(spreads) / max(spreads)


def draw_clouds(figure, grid, path, critical):
    """Draw both coordinates of the codevectors against the temperature."""
    for row, label in enumerate(("across", "upwards")):
        ax = figure.add_subplot(grid[row, 0])
        for temperature, book in zip(path.temperature, path.codebooks, strict=True):
            for place in book:
                color, marker = (DARK, ".") if place[0] < 0 else (BRIGHT, "+")
                ax.plot(temperature, place[row], marker, color=color, ms=4)
        for theory in critical:
            ax.axvline(theory, color=GREY, ls="--", lw=1)
        ax.set(xscale="log", ylabel=f"codevectors,\n{label}")
        ax.set_xticks([100, 30, 10, 3], [100, 30, 10, 3])
        ax.minorticks_off()
        ax.invert_xaxis()
        if row == 0:
            ax.set_title("four clouds; dashed: theory", fontsize=10)
            ax.tick_params(labelbottom=False)
            ax.text(20, 6, "right group (+)", va="top")
            ax.text(20, -6, "left group (dots)", va="bottom")
    ax.set_xlabel("temperature, falling")


def draw(path, critical, curves):
    """Draw the codevectors of the clouds, and how those of iris part."""
    figure = plt.figure(figsize=(10, 4.6), layout="constrained")
    grid = figure.add_gridspec(2, 2)
    draw_clouds(figure, grid, path, critical)
    ax = figure.add_subplot(grid[:, 1])
    for name, (ratio, spread) in curves.items():
        label, color, style = DIVERGENCES[name]
        ax.plot(ratio, spread, style, color=color, lw=2, ms=5, label=label)
    ax.axvline(1.0, color=GREY, ls="--", lw=1)
    ax.set_title("iris: the first split, a mark for each level", fontsize=10)
    ax.set(xlabel="temperature over the critical one, falling")
    ax.set(ylabel="distance between codevectors, relative")
    ax.invert_xaxis()
    ax.legend(loc="upper left")
    plt.show()


def main():
    """Print the temperatures of splits and of theory, check them, and draw."""
    path, critical = splits_of_clouds()
    curves = splits_of_iris()
    draw(path, critical, curves)


if __name__ == "__main__":
    main()

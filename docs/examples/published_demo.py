"""
The data of the published code
==============================

Classify the demonstration data of the published code, flat and in a tree.

The data are mixtures of normal distributions in the plane, and come with a coarser
feature, see ``docs/examples/data/SOURCES.md``. The tree has three resolutions: the
coarse feature, with a codevector for each class, and then the plane twice::

    python docs/examples/published_demo.py
"""

import sys
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from odalib import ODAClassifier, Resolution
from odalib.inspection import CodebookDisplay, TreeDisplay, export_text

# The folder of this script; a gallery that runs it has no __file__.
DATA = Path(sys.argv[0]).parent / "data" / "oda_gaussians.csv"
NAMES = ["coarse", "x0", "x1"]
COARSE, PLANE = [0], [1, 2]
LEAVES = 12


def read():
    """Read the rows to learn from and those to test with: X and y of each."""
    table = np.loadtxt(DATA, delimiter=",", skiprows=1)
    is_test, labels, rows = table[:, 0] == 1, table[:, 1].astype(int), table[:, 2:]
    return (rows[~is_test], labels[~is_test]), (rows[is_test], labels[is_test])


def draw(models, X, y):
    """Draw the cells of the flat model amid the rows to test with, and the tree."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
    CodebookDisplay.from_estimator(
        models["flat, on the plane"], X, y, features=PLANE, ax=left
    )
    left.set(xlabel=NAMES[PLANE[0]], ylabel=NAMES[PLANE[1]])
    left.set_title("flat: cells and classes, and rows to test with")
    TreeDisplay.from_estimator(models["tree"], ax=right)
    right.set_title("tree")


def main():
    """Print accuracy, size and time of both, and the tree as text."""
    (X_train, y_train), (X_test, y_test) = read()
    models = {
        "flat, on the plane": ODAClassifier(
            LEAVES, resolutions=[PLANE], random_state=0
        ),
        "tree": ODAClassifier(
            LEAVES,
            resolutions=[Resolution(COARSE, n_codevectors=2), PLANE, PLANE],
            random_state=0,
        ),
    }
    print(f"{len(X_train)} rows to learn from, {len(X_test)} to test with.\n")
    print("                    codevectors     leaves  accuracy  seconds")
    for name, model in models.items():
        start = perf_counter()
        model.fit(X_train, y_train)
        seconds = perf_counter() - start
        levels = " > ".join(map(str, model.tree_.n_codevectors))
        print(
            f"{name:18s}  {levels:14s}  {model.tree_.n_leaves:6d}  "
            f"{model.score(X_test, y_test):8.4f}  {seconds:7.2f}"
        )
    print("\nThe tree:\n")
    print(export_text(models["tree"], feature_names=NAMES))
    draw(models, X_test, y_test)
    plt.show()


if __name__ == "__main__":
    main()

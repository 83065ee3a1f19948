"""
Why is this a three?
====================

Show the prototypes that a classifier of digits has learnt, and which of them decided.

A codevector of a classifier is a row like those that it is trained on: here, an image.
`ODAClassifier.explain` tells for every image the prototype that decided, and by how
much the nearest one of another class is farther. Images with a small margin are those
that a person should look at::

    python docs/examples/digit_prototypes.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from odalib import ODAClassifier
from odalib.inspection import PrototypesDisplay

SHAPE = (8, 8)
N_SHOWN = 5


def draw(model, X, y, explanation):
    """Draw all prototypes, and the images of smallest margin with what decided."""
    said = model.predict(X)
    doubtful = np.argsort(explanation.margin)[:N_SHOWN]
    figure = plt.figure(figsize=(9.0, 4.8), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(3, 2))
    PrototypesDisplay.from_estimator(model, SHAPE, ax=left.subplots())
    left.suptitle("prototypes, and their shares of the rows", fontsize=10)
    right.suptitle("least sure images, and what decided", fontsize=10)
    for row, (image, decided) in zip(doubtful, right.subplots(N_SHOWN, 2), strict=True):
        prototype = explanation.codevector[row]
        image.imshow(X[row].reshape(SHAPE), cmap="gray_r")
        decided.imshow(model.codevectors_[prototype].reshape(SHAPE), cmap="gray_r")
        image.set_ylabel(f"a {y[row]}", rotation=0, labelpad=16, va="center")
        decided.set_ylabel(f"said: {said[row]}", rotation=0, labelpad=24, va="center")
        for axes in (image, decided):
            axes.set(xticks=[], yticks=[])
    return figure


def main():
    """Print how often images of small and large margin are right, and draw them."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, stratify=y, random_state=0
    )
    # Without polish and metric a prototype is the mean image of its rows.
    model = ODAClassifier(40, metric=None, polish=None, random_state=0)
    model.fit(X_train, y_train)
    explanation = model.explain(X_test)
    right = model.predict(X_test) == y_test

    print(f"{len(model.codevectors_)} prototypes, {len(y_test)} held-out images\n")
    print("images by margin     right")
    parts = np.array_split(np.argsort(explanation.margin), 4)
    for name, part in zip(
        ("smallest quarter", "second", "third", "largest"), parts, strict=True
    ):
        print(f"{name:18s}  {right[part].mean():6.1%}")
    print(f"{'all':18s}  {right.mean():6.1%}")
    draw(model, X_test, y_test, explanation)
    plt.show()


if __name__ == "__main__":
    main()

"""
An image pyramid
================

Classify digits coarse to fine: an image pyramid, beside one level of all pixels.

Every level of the pyramid halves the side of its squares: means over 2 by 2, then
4 by 4, then 8 by 8 squares of an image, the pixels themselves. A cell is cut further,
by the next level, only where it mixes digits::

    python docs/examples/image_pyramid.py
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import FunctionTransformer

from odalib import ODAClassifier
from odalib.inspection import TreeDisplay

SIDE = 8
LEAVES = 100
SQUARES = (2, 4, 8)


def block_means(images, n_squares):
    """Mean of every square of images that are cut into n_squares by n_squares."""
    width = SIDE // n_squares
    cut = images.reshape(-1, n_squares, width, n_squares, width)
    return cut.mean(axis=(2, 4)).reshape(len(images), n_squares**2)


def pyramid():
    """Feature maps from coarse to fine."""
    return [
        FunctionTransformer(block_means, kw_args={"n_squares": n_squares})
        for n_squares in SQUARES
    ]


def fitted(model, X, y):
    """Fitted model, and the seconds it took."""
    start = perf_counter()
    return model.fit(X, y), perf_counter() - start


def describe_levels(model, X, y):
    """Print, level by level, what the nodes that images pass there say of them."""
    tree = model.tree_
    passed = model.decision_path(X).indices.reshape(len(X), -1)[:, 1:]
    print("level  squares  nodes  open  closed  images in open nodes  accuracy")
    for level, n_squares in enumerate(SQUARES):
        nodes = np.flatnonzero(tree.level == level + 1)
        status = np.array([tree.status(node) for node in nodes])
        place = passed[:, level] - nodes[0]
        in_open = (status == "open")[place].mean()
        accuracy = (tree.classes[level][place] == y).mean()
        print(
            f"{level + 1:5d}  {n_squares:2d} by {n_squares}  {len(nodes):5d}  "
            f"{(status == 'open').sum():4d}  {(status == 'closed').sum():6d}  "
            f"{in_open:20.0%}  {accuracy:8.3f}"
        )


def draw(model, image):
    """Draw the tree, and what the codevectors that an image passes look like."""
    figure = plt.figure(figsize=(9.5, 5.0), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(3, 2))
    TreeDisplay.from_estimator(model, ax=above.subplots())
    panels = below.subplots(1, len(SQUARES) + 1)
    panels[0].imshow(image.reshape(SIDE, SIDE), cmap="gray_r")
    panels[0].set_title("an image", fontsize=9)
    tree = model.tree_
    passed = model.decision_path(image[np.newaxis]).indices[1:]
    for level, (node, n_squares) in enumerate(zip(passed, SQUARES, strict=True)):
        place = node - np.flatnonzero(tree.level == level + 1)[0]
        codevector = tree.codevectors[level][place].reshape(n_squares, n_squares)
        panels[level + 1].imshow(codevector, cmap="gray_r")
        title = f"{n_squares} by {n_squares}: class {tree.classes[level][place]}"
        panels[level + 1].set_title(title, fontsize=9)
    for ax in panels:
        ax.set(xticks=[], yticks=[])


def main():
    """Fit the pyramid and one level, and print how they do on held-out images."""
    X, y = load_digits(return_X_y=True)
    split = train_test_split(X / 16.0, y, stratify=y, random_state=0)
    X_train, X_test, y_train, y_test = split
    tree = ODAClassifier(LEAVES, resolutions=pyramid(), random_state=0)
    flat = ODAClassifier(LEAVES, random_state=0)
    tree, tree_seconds = fitted(tree, X_train, y_train)
    flat, flat_seconds = fitted(flat, X_train, y_train)

    print(f"{len(X_train)} images to learn from, {len(X_test)} held out.\n")
    describe_levels(tree, X_test, y_test)
    print(
        "\nAn open node is cut further at the next level, a closed one has one child.\n"
        "Accuracy is that of the class of the node; predict takes the votes of all\n"
        "children of a node. Beside one level of all pixels:\n"
    )
    print("          leaves  accuracy  seconds")
    for name, model, seconds in (
        ("pyramid", tree, tree_seconds),
        ("flat", flat, flat_seconds),
    ):
        score = model.score(X_test, y_test)
        print(f"{name:8s}  {model.tree_.n_leaves:6d}  {score:8.3f}  {seconds:7.1f}")
    draw(tree, X_test[0])
    plt.show()


if __name__ == "__main__":
    main()

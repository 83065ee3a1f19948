"""The tree of resolutions as a picture."""

import numpy as np

from odalib.inspection._figures import (
    axes_for,
    check_has,
    class_style,
    font_size,
    lay_out,
    points_across,
)
from odalib.inspection._names import on_picture

__all__ = ["TreeDisplay"]

# Bars of the root, and of resolutions from coarse to fine, where there are no classes.
ROOT, COARSE, FINE = "#e4e4e4", "#dbe6f2", "#8fb0d3"
HEIGHT = 0.86
# Beside the size of a text: width of a character, what stays free, height of a line.
CHARACTER, GAP, HIGH = 0.64, 0.5, 1.3


class TreeDisplay:
    """The tree of codevectors, a line of bars for each resolution.

    Use `from_estimator` to make one. The uppermost bar is the root. Below are the
    codevectors of each resolution, from coarse to fine, in the order of their numbers
    in ``tree_``. A bar is as wide as the weight of its rows, and stands below its
    parent. It tells this weight, and of a classifier the class, where there is room.

    Parameters
    ----------
    tree : AnnealingTree
        As ``tree_`` of a fitted estimator.
    classes : ndarray of shape (n_classes,) or None
        Of a classifier.

    Attributes
    ----------
    ax_ : matplotlib axes
    figure_ : matplotlib figure
        That holds them.
    bars_ : list of matplotlib patches
        One for each node, by its number in ``tree_``.
    texts_ : dict of int to matplotlib text
        Texts by node, where there is room.

    See Also
    --------
    export_text : The same tree as text, with the codevectors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from odalib import ODAClusterer
    >>> from odalib.inspection import TreeDisplay
    >>> X = load_iris().data
    >>> model = ODAClusterer(6, resolutions=[[2], [2, 3], None], random_state=0).fit(X)
    >>> display = TreeDisplay.from_estimator(model)
    >>> len(display.bars_) == model.tree_.n_nodes
    True
    """

    def __init__(self, *, tree, classes=None):
        self.tree = tree
        self.classes = classes

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the tree of a fitted estimator.

        Parameters
        ----------
        estimator : ODAClusterer, ODAClassifier or ODARegressor
            Fitted, with or without resolutions.
        ax : matplotlib axes, default=None
            None makes a new figure.

        Returns
        -------
        display : TreeDisplay
            With the axes and what is drawn as attributes.

        Raises
        ------
        ImportError
            Without matplotlib.
        NotFittedError
            Before a fit.
        TypeError
            For an estimator that has no tree.
        """
        check_has(cls, estimator, "tree_", "ODAClusterer")
        classes = getattr(estimator, "classes_", None)
        return cls(tree=estimator.tree_, classes=classes).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            None makes a new figure.

        Returns
        -------
        display : TreeDisplay
            Itself.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        (self.ax_,) = axes_for(self, ax)
        self.figure_ = self.ax_.figure
        tree, axes = self.tree, self.ax_
        left, width = _spans(tree)
        codes = self._codes()
        self.bars_ = [
            axes.barh(
                tree.level[node],
                width[node],
                HEIGHT,
                left[node],
                edgecolor="white",
                linewidth=0.8,
                **self._style(node, codes),
            )[0]
            for node in range(tree.n_nodes)
        ]
        axes.set_xlim(0.0, tree.n_samples[0])
        axes.set_ylim(tree.n_levels + 0.5, -0.5)
        axes.spines[["top", "right", "left"]].set_visible(False)
        names = ["root", *_level_names(tree)]
        axes.set_yticks(range(len(names)), names, fontsize=font_size(axes, 18))
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("weight of rows")
        lay_out(axes)
        self.texts_ = {}
        for node in range(tree.n_nodes):
            self._write(node, left[node] + width[node] / 2.0, width[node])
        return self

    def _codes(self):
        """Class of every node by its place among the classes, or None."""
        if self.classes is None:
            return None
        labels = np.concatenate(self.tree.classes)
        return np.concatenate([[-1], np.searchsorted(self.classes, labels)])

    def _style(self, node, codes):
        """Colour and hatch of a bar."""
        if node == 0:
            return {"facecolor": ROOT}
        if codes is not None:
            style = class_style(codes[node])
            return {"facecolor": style.tint, "hatch": style.hatch}
        return {"facecolor": COARSE if self.tree.level[node] % 2 else FINE}

    def _write(self, node, middle, width):
        """Write into a bar what it has room for."""
        size = font_size(self.ax_, 36)
        room = points_across(self.ax_) * [width / self.tree.n_samples[0], 1.0]
        room[1] *= HEIGHT / (self.tree.n_levels + 1)
        bar = self.bars_[node]
        for text in self._texts(node):
            lines = text.split("\n")
            needed = CHARACTER * max(map(len, lines)) + GAP, HIGH * len(lines)
            if (size * np.array(needed) <= room).all():
                self.texts_[node] = self.ax_.text(
                    middle,
                    self.tree.level[node],
                    text,
                    fontsize=size,
                    ha="center",
                    va="center",
                    # Without it the hatches would cross the letters.
                    bbox={"facecolor": bar.get_facecolor(), "linewidth": 0, "pad": 1},
                )
                return

    def _texts(self, node):
        """Texts of a node, the longest first."""
        weight = f"{self.tree.n_samples[node]:.6g}"
        if node == 0:
            return [f"{weight} {'row' if weight == '1' else 'rows'}"]
        if self.tree.classes is None:
            return [weight]
        level = self.tree.level[node] - 1
        label = self.tree.classes[level][node - self.tree.first_nodes[level]]
        return [f"{on_picture(label)}\n{weight}", on_picture(label)]


def _level_names(tree):
    """Name the resolutions by number and size."""
    for level, number in enumerate(tree.n_codevectors, start=1):
        yield f"resolution {level}\n{number} codevector{'' if number == 1 else 's'}"


def _spans(tree):
    """Left end and width of each bar: a node divides its width among its children.

    They divide it as their rows; in a stream these may not add up to those of the node,
    as its weight is known from its own codevector.
    """
    left, width = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    width[0] = tree.n_samples[0]
    for node in range(tree.n_nodes):
        children = tree.children(node)
        weights = tree.n_samples[children]
        if weights.any():
            ends = left[node] + width[node] * np.cumsum(weights) / weights.sum()
            width[children] = np.diff(ends, prepend=left[node])
            left[children] = ends - width[children]
    return left, width

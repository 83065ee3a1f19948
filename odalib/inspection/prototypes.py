"""Codevectors as images."""

from numbers import Integral

import numpy as np

from odalib.inspection._figures import (
    axes_for,
    check_has,
    font_size,
    lay_out,
    points_across,
)
from odalib.inspection._names import on_picture

__all__ = ["PrototypesDisplay"]

# Gaps beside and above an image, as shares of its width; in the latter is the text.
BESIDE, ABOVE = 0.12, 0.3
# Points of a text at the most and the least; beside that, what a character takes.
LARGEST, LEAST, CHARACTER, HIGH = 8.0, 5.0, 0.62, 1.3
# "12.3 %"
TEXT_LENGTH = 6
# Width and height of a picture, up to a factor.
PROPORTION = np.array([4.0, 3.0])


class PrototypesDisplay:
    """Codevectors as images, above each its share of the rows.

    Use `from_estimator` to make one. Images are in the order of their weights, from
    left to right and line by line. Those of a classifier are grouped: each class begins
    a line, or a column where images are larger so. All have the same scale of grey.

    Parameters
    ----------
    images : ndarray of shape (n_codevectors, height, width)
        In the order of the codevectors of the estimator.
    shares : ndarray of shape (n_codevectors,)
        Shares of the rows; they sum to one.
    classes : ndarray of shape (n_codevectors,) or None
        Labels, for a classifier.

    Attributes
    ----------
    ax_ : matplotlib axes
    figure_ : matplotlib figure
        That holds them.
    order_ : ndarray of int of shape (n_codevectors,)
        Codevectors in the order in which they are shown.
    images_ : list of matplotlib images
        In that order.
    texts_ : list of matplotlib texts
        In that order; empty where there is no room.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from odalib import ODAClassifier
    >>> from odalib.inspection import PrototypesDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ODAClassifier(20, metric=None, random_state=0).fit(X, y)
    >>> display = PrototypesDisplay.from_estimator(model, (8, 8))
    >>> len(display.images_)
    20
    """

    def __init__(self, *, images, shares, classes=None):
        self.images = images
        self.shares = shares
        self.classes = classes

    @classmethod
    def from_estimator(cls, estimator, image_shape, *, ax=None, cmap="gray_r"):
        """Draw the codevectors of a fitted estimator.

        Parameters
        ----------
        estimator : ODAClusterer, ODAClassifier or ODARegressor
            Fitted to images, each a row of X.
        image_shape : pair of int
            Height and width; their product is the number of features.
        ax : matplotlib axes, default=None
            None makes a new figure.
        cmap : str or matplotlib colormap, default='gray_r'
            High values are dark, as ink is; ``'gray'`` for photographs.

        Returns
        -------
        display : PrototypesDisplay
            With the axes and what is drawn as attributes.

        Raises
        ------
        ImportError
            Without matplotlib.
        NotFittedError
            Before a fit.
        TypeError
            For an estimator that has no codevectors.
        ValueError
            For a shape that is no pair of whole numbers, or of another number of
            pixels than features.
        """
        check_has(cls, estimator, "tree_", "ODAClusterer")
        shape = _checked_shape(image_shape, estimator.n_features_in_)
        tree = estimator.tree_
        weights = tree.n_samples[tree.first_nodes[-1] :]
        display = cls(
            images=tree.points[-1].reshape(-1, *shape),
            shares=weights / weights.sum(),
            classes=None if tree.classes is None else tree.classes[-1],
        )
        return display.plot(ax=ax, cmap=cmap)

    def plot(self, *, ax=None, cmap="gray_r"):
        """Draw the images.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            None makes a new figure.
        cmap : str or matplotlib colormap, default='gray_r'
            Of the values of pixels.

        Returns
        -------
        display : PrototypesDisplay
            Itself.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        (self.ax_,) = axes_for(self, ax)
        self.figure_ = self.ax_.figure
        groups = self._groups()
        self.order_ = np.concatenate(groups)
        ratio = self.images.shape[1] / self.images.shape[2]
        step = np.array([1.0 + BESIDE, ratio + ABOVE])
        cells, heads, beside = _arranged(list(map(len, groups)), step)
        corners = cells * step
        self.images_ = [
            self.ax_.imshow(
                self.images[codevector],
                cmap=cmap,
                vmin=self.images.min(),
                vmax=self.images.max(),
                extent=(left, left + 1.0, top + ratio, top),
                interpolation="nearest",
            )
            for codevector, (left, top) in zip(self.order_, corners, strict=True)
        ]
        right, bottom = corners.max(axis=0) + np.array([1.0, ratio])
        self.ax_.set_xlim(-BESIDE, right + BESIDE)
        self.ax_.set_ylim(bottom + BESIDE, -ABOVE)
        self.ax_.spines[:].set_visible(False)
        self.ax_.set_xticks([])
        self.ax_.set_yticks([])
        if self.classes is not None:
            names = [on_picture(self.classes[group[0]]) for group in groups]
            middles = heads * step + [0.5, ratio / 2.0]
            self._name_classes(names, middles, beside)
        lay_out(self.ax_)
        self.texts_ = self._write(corners)
        return self

    def _name_classes(self, names, middles, beside):
        """Write classes beside the lines, or above the columns, that they begin."""
        style = {"length": 0, "labelsize": font_size(self.ax_, 18)}
        if beside:
            self.ax_.set_yticks(middles[:, 1], names)
            self.ax_.tick_params(axis="y", **style)
            self.ax_.set_ylabel("class")
        else:
            self.ax_.xaxis.tick_top()
            self.ax_.xaxis.set_label_position("top")
            self.ax_.set_xticks(middles[:, 0], names)
            self.ax_.tick_params(axis="x", **style)
            self.ax_.set_xlabel("class")

    def _write(self, corners):
        """Write shares above images, where there is room for the letters."""
        room = points_across(self.ax_)
        unit = room[0] / np.ptp(self.ax_.get_xlim())
        size = min(unit / (CHARACTER * TEXT_LENGTH), unit * ABOVE / HIGH, LARGEST)
        if size < LEAST:
            return []
        return [
            self.ax_.text(
                left + 0.5,
                top - 0.04,
                f"{100.0 * self.shares[codevector]:.1f} %",
                fontsize=size,
                ha="center",
                va="bottom",
            )
            for codevector, (left, top) in zip(self.order_, corners, strict=True)
        ]

    def _groups(self):
        """Codevectors by falling weight, those of each class by themselves."""
        order = np.argsort(-self.shares, kind="stable")
        if self.classes is None:
            return [order]
        labels = np.unique(self.classes)
        return [order[self.classes[order] == label] for label in labels]


def _arranged(sizes, step):
    """Place images on a grid in which they are as large as may be.

    Parameters
    ----------
    sizes : list of int
        Of the groups.
    step : ndarray of shape (2,)
        From an image to that on its right, and to that below.

    Returns
    -------
    cells : ndarray of int of shape (n_images, 2)
        Column and line of each.
    heads : ndarray of int of shape (n_groups, 2)
        Column and line of the first of each group.
    beside : bool
        Whether groups begin lines, rather than columns.
    """

    def extent(way):
        return ((_in_lines(sizes, *way).max(axis=0) + 1) * step / PROPORTION).max()

    ways = [(most, True) for most in range(1, max(sizes) + 1)]
    if len(sizes) > 1:
        ways += [(most, False) for most, _ in ways]
    best = min(ways, key=extent)
    cells = _in_lines(sizes, *best)
    firsts = np.cumsum([0, *sizes[:-1]])
    return cells, cells[firsts], best[1]


def _in_lines(sizes, most, beside):
    """Cells where each group begins a line, or a column, of so many at the most."""
    cells, line = [], 0
    for size in sizes:
        place = np.arange(size)
        cells.append(np.stack([place % most, line + place // most], axis=1))
        line += -(-size // most)
    cells = np.concatenate(cells)
    return cells if beside else cells[:, ::-1]


def _checked_shape(image_shape, n_features):
    """Pair of whole numbers whose product is the number of features."""
    shape = tuple(image_shape) if np.iterable(image_shape) else (image_shape,)
    if len(shape) != 2 or not all(isinstance(n, Integral) and n > 0 for n in shape):
        raise ValueError(
            f"image_shape={image_shape!r} must be two whole numbers, height and width."
        )
    if shape[0] * shape[1] != n_features:
        raise ValueError(
            f"image_shape={image_shape!r} has {shape[0] * shape[1]} pixels, and the "
            f"estimator was fitted to {n_features} features."
        )
    return shape

"""The couplings of a pairwise model as a picture of a graph."""

import textwrap
from numbers import Integral

import numpy as np

from odalib.inspection._figures import (
    LINE,
    RESULT,
    axes_for,
    check_has,
    points_across,
)
from odalib.inspection._layout import (
    circle,
    name_directions,
    shared_area,
    stress_layout,
)
from odalib.inspection._names import features_of, on_picture
from odalib.inspection._series import add_legend

__all__ = ["CouplingGraphDisplay"]

LAYOUTS = ("circular", "spring")
# Of the strongest edge, others are thinner in proportion; and of a node: in points, and
# less where the picture is small.
WIDEST, NODE = 5.0, 7.0
# Letters of a name on a line, and points of the smallest.
WRAP, SMALLEST = 22, 4.0
# Width and height of a letter, about, in those of its size.
LETTER = (0.6, 1.15)
# Letters that names of the smallest size may hide of each other, for each name.
TOLERATED = 0.25
# Radius of the picture, of half its shorter side, that names leave in any case.
LEAST_RADIUS = 0.5


class CouplingGraphDisplay:
    """Graph of the couplings of a pairwise model of binary columns.

    Use `from_estimator` to make one; of couplings that are known, make it and call
    `plot`. A node is a column. An edge is a coupling, as wide as it is strong: solid
    where the columns are alike given all others, dashed where they are opposed. Nodes
    without an edge are independent of each other given the rest, as far as the
    couplings drawn tell.

    Parameters
    ----------
    coupling : ndarray of shape (n_features, n_features)
        Symmetric, with a zero diagonal.
    feature_names : list of str of length n_features
        Names of the columns.
    layout : {'circular', 'spring'}, default='circular'
        Columns in their order, clockwise from the top, so that two pictures can be
        compared; or strongly coupled ones near each other, which shows groups.
    max_edges : int, default=50
        So many edges at the most, the strongest; more are hard to follow.

    Attributes
    ----------
    positions_ : ndarray of shape (n_features, 2)
        Places of the nodes, within the unit circle.
    ax_ : matplotlib axes
    figure_ : matplotlib figure
        That holds them.
    nodes_ : matplotlib path collection
    positive_edges_, negative_edges_ : matplotlib line collections
        The strongest first.
    labels_ : list of matplotlib texts
        Names of the columns; their numbers, from 0, in axes too small for the names.

    See Also
    --------
    CouplingGraphDisplay.from_estimator : Draw the couplings of a fitted model.
    odalib.IsingModel.edges : The same couplings as a list.

    References
    ----------
    E. Gansner, Y. Koren and S. North, "Graph drawing by stress majorization", GD 2004:
    the layout ``'spring'``, in which the length of an edge is one over the root of its
    strength.

    Examples
    --------
    >>> import numpy as np
    >>> from odalib import IsingModel
    >>> from odalib.inspection import CouplingGraphDisplay
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.random(500) < 0.3
    >>> wet = rain ^ (rng.random(500) < 0.1)
    >>> dry = ~wet ^ (rng.random(500) < 0.2)
    >>> model = IsingModel().fit(np.column_stack([rain, wet, dry]))
    >>> display = CouplingGraphDisplay.from_estimator(
    ...     model, feature_names=["rain", "wet", "dry"], max_edges=2
    ... )
    >>> len(display.positive_edges_.get_segments())
    1
    >>> len(display.negative_edges_.get_segments())
    1
    """

    def __init__(self, *, coupling, feature_names, layout="circular", max_edges=50):
        self.coupling = coupling
        self.feature_names = feature_names
        self.layout = layout
        self.max_edges = max_edges

    @classmethod
    def from_estimator(
        cls,
        estimator,
        *,
        feature_names=None,
        layout="circular",
        max_edges=50,
        ax=None,
    ):
        """Draw the couplings of a fitted model.

        Parameters
        ----------
        estimator : IsingModel
            Fitted.
        feature_names : array-like of str of shape (n_features,), default=None
            Names of the columns. None takes those of the data frame that the estimator
            was fitted to, or ``x0``, ``x1`` and so on.
        layout : {'circular', 'spring'}, default='circular'
            Columns in their order, clockwise from the top, so that two pictures can
            be compared; or strongly coupled ones near each other, which shows groups.
        max_edges : int, default=50
            So many edges at the most, the strongest.
        ax : matplotlib axes, default=None
            None makes a new figure.

        Returns
        -------
        display : CouplingGraphDisplay
            With the axes and what is drawn in them as attributes.

        Raises
        ------
        ImportError
            Without matplotlib.
        TypeError
            For an estimator that has no couplings, and a number of edges that is not
            an integer.
        ValueError
            For another number of names than columns, an unknown layout, and fewer than
            one edge.
        """
        check_has(cls, estimator, "coupling_", "IsingModel")
        display = cls(
            coupling=estimator.coupling_,
            feature_names=features_of(estimator, feature_names),
            layout=layout,
            max_edges=max_edges,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw the graph.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            None makes a new figure.

        Returns
        -------
        display : CouplingGraphDisplay
            Itself.

        Raises
        ------
        ImportError
            Without matplotlib.
        TypeError
            For a number of edges that is not an integer.
        ValueError
            For an unknown layout, and fewer than one edge.
        """
        self._check_options()
        first, second, strengths, n_couplings = self._strongest()
        self.positions_ = self._places(first, second, strengths)
        (self.ax_,) = axes_for(self, ax)
        self.figure_ = self.ax_.figure
        names, radius, size = self._names_that_fit()
        lines = np.stack([self.positions_[first], self.positions_[second]], axis=1)
        largest = np.abs(strengths).max(initial=0.0) or 1.0
        widths = min(WIDEST, radius / 16.0) * np.abs(strengths) / largest
        self.positive_edges_, self.negative_edges_ = (
            self._draw_edges(lines[chosen], widths[chosen], style)
            for chosen, style in (
                (strengths > 0.0, {"color": LINE, "linestyle": "solid"}),
                (strengths < 0.0, {"color": RESULT, "linestyle": (0, (1.5, 0.8))}),
            )
        )
        node = node_size(radius)
        self.nodes_ = self.ax_.scatter(
            *self.positions_.T, s=node**2, c="white", edgecolors="black", zorder=4
        )
        by_number = names != [wrapped(name) for name in self.feature_names]
        self._explain(strengths, n_couplings, by_number)
        self._write_names(names, size, gap_beside(radius))
        return self

    def _check_options(self):
        """Refuse an unknown layout and what is no number of edges."""
        if self.layout not in LAYOUTS:
            raise ValueError(f"layout={self.layout!r} must be one of {LAYOUTS}.")
        if isinstance(self.max_edges, bool) or not isinstance(self.max_edges, Integral):
            raise TypeError(f"max_edges={self.max_edges!r} must be an integer.")
        if self.max_edges < 1:
            raise ValueError(f"max_edges={self.max_edges} must be at least 1.")

    def _strongest(self):
        """Find ends and couplings of the edges to draw, and how many there are."""
        first, second = np.triu_indices(len(self.coupling), 1)
        couplings = self.coupling[first, second].astype(np.float64)
        order = np.argsort(-np.abs(couplings), kind="stable")
        order = order[couplings[order] != 0.0]
        drawn = order[: self.max_edges]
        return first[drawn], second[drawn], couplings[drawn], len(order)

    def _places(self, first, second, couplings):
        """Places of the nodes, which of the edges only those drawn pull together."""
        n_nodes = len(self.coupling)
        if self.layout == "circular":
            return circle(n_nodes)
        strength = np.zeros((n_nodes, n_nodes))
        strength[first, second] = strength[second, first] = np.abs(couplings)
        return stress_layout(strength)

    def _draw_edges(self, lines, widths, style):
        """Draw edges of one sign, the strongest first."""
        from matplotlib.collections import LineCollection

        edges = LineCollection(lines, linewidths=widths, capstyle="butt", **style)
        return self.ax_.add_collection(edges)

    def _names_that_fit(self):
        """Choose the names or, where these would hide each other, numbers.

        Returns
        -------
        names : list of str
        radius, size : float
            Those of `_fit_names`.
        """
        names = [wrapped(name) for name in self.feature_names]
        radius, size = self._fit_names(names)
        if size > SMALLEST:
            return names, radius, size
        places, gap, sizes = (
            self._in_points(),
            gap_beside(radius),
            box_sizes(names, size),
        )
        directions = name_directions(places, sizes, gap)
        tolerated = TOLERATED * len(names) * np.prod(LETTER) * size**2
        if shared_area(places, sizes, gap, directions) <= tolerated:
            return names, radius, size
        numbers = [str(number) for number in range(len(names))]
        return numbers, *self._fit_names(numbers)

    def _fit_names(self, names):
        """Set the limits so that names have room beside the nodes.

        Returns
        -------
        radius : float
            Of the circle of the nodes, in points.
        size : float
            Of the letters, in points.
        """
        self.ax_.set_axis_off()
        letters = max(len(line) for name in names for line in name.split("\n"))
        height = 1 + max(name.count("\n") for name in names)
        half = points_across(self.ax_) / 2.0
        wanted = LEAST_RADIUS * half.min()
        size = (half[0] - wanted - NODE) / (LETTER[0] * letters)
        normal = 0.85 * self.ax_.xaxis.label.get_fontsize()
        size = max(SMALLEST, min(normal, half.min() / 10.0, size))
        room = np.multiply(LETTER, (letters, height)) * size + NODE
        low, high = self.positions_.min(axis=0), self.positions_.max(axis=0)
        extent = np.maximum((high - low) / 2.0, 0.1)
        radius = max(wanted, ((half - room) / extent).min())
        self.ax_.set_xlim(*(low - room / radius)[:1], *(high + room / radius)[:1])
        self.ax_.set_ylim(*(low - room / radius)[1:], *(high + room / radius)[1:])
        self.ax_.set_aspect("equal")
        return radius, size

    def _write_names(self, names, size, gap):
        """Write the names of the nodes, where they hide least of others."""
        from matplotlib.patheffects import withStroke

        directions = name_directions(self._in_points(), box_sizes(names, size), gap)
        self.labels_ = []
        for name, place, side in zip(names, self.positions_, directions, strict=True):
            across, up = np.sign(np.round(side, 6))
            text = self.ax_.annotate(
                name,
                place,
                gap * side,
                textcoords="offset points",
                ha={-1.0: "right", 0.0: "center", 1.0: "left"}[across],
                va={-1.0: "top", 0.0: "center", 1.0: "bottom"}[up],
                fontsize=size,
                linespacing=0.9,
                path_effects=[withStroke(linewidth=1.5, foreground="white")],
            )
            # Limits leave room for names; layout would take it again.
            text.set_in_layout(False)
            self.labels_.append(text)

    def _in_points(self):
        """Find where the nodes are on the figure, once that is laid out, in points."""
        figure = self.figure_.get_figure(root=True)
        if figure.get_layout_engine() is not None:
            figure.get_layout_engine().execute(figure)
        self.ax_.apply_aspect()
        return self.ax_.transData.transform(self.positions_) * 72.0 / figure.dpi

    def _explain(self, couplings, n_couplings, by_number):
        """Tell what lines and numbers mean, and how strong the widest are."""
        shown = [
            (edges, f"{what}, up to {couplings[np.argmax(sign * couplings)]:.2g}")
            for edges, what, sign in (
                (self.positive_edges_, "alike", 1.0),
                (self.negative_edges_, "opposed", -1.0),
            )
            if len(edges.get_segments())
        ]
        if not shown:
            return
        titles = []
        if len(couplings) < n_couplings:
            titles.append(f"{len(couplings)} strongest of {n_couplings} couplings")
        if by_number:
            titles.append("columns by number, from 0")
        add_legend(
            self.ax_,
            *zip(*shown, strict=True),
            title="\n".join(titles) or None,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=2,
            frameon=False,
        )


def node_size(radius):
    """Diameter of a node in points, of a circle of that radius."""
    return min(NODE, radius / 12.0)


def gap_beside(radius):
    """Points from a node to its name."""
    return node_size(radius) / 2.0 + 3.0


def box_sizes(names, size):
    """Width and height of names, about, in points, (n, 2)."""
    shapes = [
        (max(len(line) for line in name.split("\n")), 1 + name.count("\n"))
        for name in names
    ]
    return np.multiply(LETTER, shapes) * size


def wrapped(name):
    """Name on lines of so many letters, cut at spaces, hyphens and underscores."""
    # Only spaces and hyphens are places to cut at.
    lines = textwrap.wrap(str(name).replace("_", "_\u200b "), WRAP) or [""]
    return on_picture("\n".join(lines).replace("\u200b ", "").replace("\u200b", ""))

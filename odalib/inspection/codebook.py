"""Codevectors and their cells in the plane, alone or growing along the path."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils import check_consistent_length, column_or_1d

from odalib.estimators._sklearn import validate_rows
from odalib.inspection._figures import (
    LINE,
    RESULT,
    axes_for,
    check_has,
    class_style,
    font_size,
    points_across,
)
from odalib.inspection._names import on_picture
from odalib.inspection._plane import CodebookPanel, Plane

__all__ = ["CodebookDisplay"]

# Panels of a path where nobody chose, panels in a line, and their size in inches.
MOST_PANELS, PANELS_ACROSS, PANEL = 6, 3, (2.6, 2.3)
FAINT = "#b0b0b0"


class CodebookDisplay:
    """Codevectors and their cells, in two features.

    Use `from_estimator` for one picture, and `from_path` for several in which
    codevectors multiply as the temperature falls. A mark is a codevector, the larger
    the more rows are in its cell; lines are the borders of the cells, in the
    divergence of the fit and down the tree of a fit with resolutions. Of a classifier,
    areas and marks tell the class: areas are what ``predict`` says, which need not end
    at the border of a cell, as codevectors vote, and in a metric of their own; and
    codevectors that have been polished need not be amid their rows.

    Of an estimator of more than two features the picture is a section: cells and
    areas are those where all other features have the mean of the codevectors, while
    codevectors and rows are shown wherever they are, so that some may lie outside of
    their cells.

    Parameters
    ----------
    plane : Plane
        The two features, and a grid in them.
    panels : list of CodebookPanel
        What each picture shows.
    rows : ndarray of shape (n_samples, 2) or None
        Rows to show as dots.
    row_classes : ndarray of int of shape (n_samples,) or None
        Their classes, by their place in ``classes``.
    classes : ndarray of shape (n_classes,) or None
        Of a classifier.

    Attributes
    ----------
    axes_ : ndarray of shape (n_panels,)
        One of matplotlib's axes for each panel.
    figure_ : matplotlib figure
        That holds them.
    codevectors_ : list of list of matplotlib collections
        Marks of each panel: one collection, or one per class.
    borders_ : list of list of matplotlib contour sets
        Of each panel, one for each cell that has a border.
    regions_ : list of list of matplotlib contour sets
        Of each panel, the areas of each class; empty without classes.
    rows_ : list of list of matplotlib collections
        Dots of each panel: none, one collection, or one per class.

    See Also
    --------
    AnnealingPathDisplay : Number of codevectors and distortion along the path.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from odalib import ODAClusterer
    >>> from odalib.inspection import CodebookDisplay
    >>> X = load_iris().data[:, 2:]
    >>> model = ODAClusterer(n_clusters=8, random_state=0).fit(X)
    >>> display = CodebookDisplay.from_estimator(model, X)
    >>> display.codevectors_[0][0].get_offsets().shape
    (8, 2)
    >>> growth = CodebookDisplay.from_path(model, X, n_codevectors=[1, 2, 4, 8])
    >>> [axes.get_title() for axes in growth.axes_]
    ['1 codevector', '2 codevectors', '4 codevectors', '8 codevectors']
    """

    def __init__(self, *, plane, panels, rows=None, row_classes=None, classes=None):
        self.plane = plane
        self.panels = panels
        self.rows = rows
        self.row_classes = row_classes
        self.classes = classes

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, features=None, ax=None):
        """Draw the codevectors of a fitted estimator and their cells.

        Parameters
        ----------
        estimator : ODAClusterer, ODAClassifier or ODARegressor
            Fitted.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows to show as dots. The picture spans them and the codevectors.
        y : array-like of shape (n_samples,), default=None
            Labels of the rows, for a classifier.
        features : pair of int or str, default=None
            The feature across and the one upwards, by column or by the name that the
            data frame of the fit has for it. None takes both of two.
        ax : matplotlib axes, default=None
            None makes a new figure.

        Returns
        -------
        display : CodebookDisplay
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
            For more than two features without ``features``; for rows of another number
            of features; for labels of what is no classifier, or that it does not know.
        """
        return cls._of([(estimator, None)], X, y, features).plot(ax=ax)

    @classmethod
    def from_path(
        cls,
        estimator,
        X=None,
        y=None,
        *,
        n_codevectors=None,
        temperatures=None,
        features=None,
        ax=None,
    ):
        """Draw codebooks along the path of a fitted estimator, a panel for each.

        They are those of ``estimator.at``, without a fit: codevectors of a classifier
        are where annealing left them, but for those of the estimator itself, which may
        have been polished.

        Parameters
        ----------
        estimator : ODAClusterer, ODAClassifier or ODARegressor
            Fitted.
        X, y : array-like, default=None
            Rows to show as dots and their labels, as for `from_estimator`.
        n_codevectors : list of int, default=None
            Number of codevectors of each panel. None takes up to six, from the least
            on the path to that of the estimator in about equal ratios.
        temperatures : list of float, default=None
            In place of numbers: the temperature of each panel, in units of the
            divergence.
        features : pair of int or str, default=None
            As for `from_estimator`.
        ax : array-like of matplotlib axes, default=None
            One for each panel; None makes a new figure.

        Returns
        -------
        display : CodebookDisplay
            With the axes and what is drawn as attributes.

        Raises
        ------
        ImportError, NotFittedError, TypeError
            As `from_estimator`.
        ValueError
            As `from_estimator`; for numbers and temperatures that are not on the path;
            for both of them; and for another number of axes than panels.
        """
        check_has(cls, estimator, "annealing_path_", "ODAClusterer")
        if n_codevectors is not None and temperatures is not None:
            raise ValueError(
                f"Give n_codevectors or temperatures, not both, got {n_codevectors!r} "
                f"and {temperatures!r}."
            )
        if temperatures is not None:
            levels = [(estimator.at(temperature=t), t) for t in temperatures]
        else:
            numbers = _spread(estimator) if n_codevectors is None else n_codevectors
            name = (
                "n_codevectors" if hasattr(estimator, "codevectors_") else "n_clusters"
            )
            levels = [(estimator.at(**{name: number}), None) for number in numbers]
        return cls._of(levels, X, y, features).plot(ax=ax)

    @classmethod
    def _of(cls, levels, X, y, features):
        """Display of fitted estimators and the temperatures asked for, or None."""
        if not levels:
            raise ValueError(
                "n_codevectors or temperatures is empty; give one level at least."
            )
        estimator = levels[0][0]
        check_has(cls, estimator, "tree_", "ODAClusterer")
        classes = estimator.classes_ if is_classifier(estimator) else None
        rows = None if X is None else _checked_rows(estimator, X)
        row_classes = None if y is None else _codes(y, rows, classes)
        plane = Plane.of(estimator, features, rows)
        return cls(
            plane=plane,
            panels=[CodebookPanel.of(*level, plane) for level in levels],
            rows=None if rows is None else rows[:, plane.columns],
            row_classes=row_classes,
            classes=classes,
        )

    def plot(self, *, ax=None):
        """Draw the codebooks.

        Parameters
        ----------
        ax : matplotlib axes, or array-like of them, default=None
            One for each panel; None makes a new figure.

        Returns
        -------
        display : CodebookDisplay
            Itself.

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            For another number of axes than panels.
        """
        self.axes_ = self._new_or_given(ax)
        self.figure_ = self.axes_[0].figure
        self.regions_, self.borders_, self.rows_, self.codevectors_ = [], [], [], []
        for axes, panel in zip(self.axes_, self.panels, strict=True):
            self.regions_.append(self._draw_regions(axes, panel))
            self.borders_.append(self._draw_borders(axes, panel))
            self.rows_.append(self._draw_rows(axes))
            self.codevectors_.append(self._draw_codevectors(axes, panel))
            axes.set_xlim(*self.plane.across[[0, -1]])
            axes.set_ylim(*self.plane.up[[0, -1]])
            axes.set_title(panel.title)
            axes.set_xlabel(on_picture(self.plane.names[0]))
            axes.set_ylabel(on_picture(self.plane.names[1]))
            if len(self.panels) > 1:
                axes.label_outer()
        if self.classes is not None:
            size = font_size(self.axes_[0], 20)
            self.axes_[0].legend(
                self.codevectors_[0],
                map(on_picture, self.classes),
                title="class",
                fontsize=size,
                title_fontsize=size,
            )
        return self

    def _new_or_given(self, ax):
        """Axes for the panels, as wide as they are many."""
        number = len(self.panels)
        if number == 1:
            return axes_for(self, ax)
        across = min(number, PANELS_ACROSS)
        size = PANEL[0] * across, PANEL[1] * -(-number // across)
        return axes_for(self, ax, number, across, figsize=size)

    def _draw_regions(self, axes, panel):
        """Draw areas in which the same class is the most probable."""
        areas = [
            axes.contourf(
                self.plane.across,
                self.plane.up,
                lead,
                levels=[0.0, np.inf],
                colors=[class_style(code).tint],
                hatches=[class_style(code).hatch],
                zorder=0,
            )
            for code, lead in enumerate(panel.regions)
            if lead.max() > 0.0
        ]
        for area in areas:
            # Of the hatches, which are to leave what is in front of them readable.
            area.set(edgecolor="white", linewidth=0.0)
        return areas

    def _draw_borders(self, axes, panel):
        """Draw the borders of cells, where a cell has any within the picture."""
        return [
            axes.contour(
                self.plane.across,
                self.plane.up,
                margins,
                levels=[0.0],
                colors=["0.25"],
                linewidths=0.9,
                zorder=1,
            )
            for margins in panel.margins
            if margins.min() < 0.0 < margins.max()
        ]

    def _draw_rows(self, axes):
        """Draw rows as dots, in the colours of their classes where these are known."""
        if self.rows is None:
            return []
        style = {"s": 9.0 * _scale(axes), "linewidths": 0, "zorder": 2}
        if self.row_classes is None:
            return [axes.scatter(*self.rows.T, color=FAINT, **style)]
        return [
            axes.scatter(
                *self.rows[self.row_classes == code].T,
                color=class_style(code).color,
                marker=class_style(code).marker,
                alpha=0.8,
                **style,
            )
            for code in np.unique(self.row_classes)
        ]

    def _draw_codevectors(self, axes, panel):
        """Draw marks whose areas tell weights."""
        sizes = 40.0 + 160.0 * panel.weights / panel.weights.sum()
        style = {"linewidths": 1.2 * np.sqrt(_scale(axes)), "zorder": 3}
        if self.classes is None:
            marks = axes.scatter(
                *panel.codevectors.T,
                s=sizes * _scale(axes),
                color=RESULT,
                edgecolors=LINE,
                **style,
            )
            return [marks]
        return [
            axes.scatter(
                *panel.codevectors[own].T,
                s=sizes[own] * _scale(axes),
                color=class_style(code).color,
                marker=class_style(code).marker,
                edgecolors="white",
                **style,
            )
            for code in range(len(self.classes))
            for own in [panel.classes == code]
        ]


def _scale(axes):
    """Factor of the areas of marks, which are for a picture of the usual height."""
    return np.clip(points_across(axes)[1] / 270.0, 0.4, 1.0)


def _spread(estimator):
    """Numbers of codevectors in about equal ratios."""
    least, most = estimator.annealing_path_.n_codevectors[0], estimator.tree_.n_leaves
    numbers = np.geomspace(min(least, most), most, MOST_PANELS).round().astype(int)
    return np.unique(numbers).tolist()


def _checked_rows(estimator, X):
    """Rows as the estimator takes them, dense."""
    rows = validate_rows(estimator, X, reset=False)
    return rows.toarray() if sp.issparse(rows) else rows


def _codes(y, rows, classes):
    """Labels of rows by their place among the classes."""
    if rows is None or classes is None:
        raise ValueError("y takes the labels of the rows in X, for a classifier.")
    check_consistent_length(rows, y)
    labels = column_or_1d(y)
    unknown = np.setdiff1d(labels, classes).tolist()
    if unknown:
        raise ValueError(
            f"y holds {unknown[0]!r}, which is none of the classes the classifier "
            f"knows, {classes.tolist()}; leave such rows out."
        )
    return np.searchsorted(classes, labels)

"""What the displays share: matplotlib on first use, a palette, axes to draw into."""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

__all__ = [
    "GREY",
    "LINE",
    "RESULT",
    "ClassStyle",
    "axes_for",
    "check_has",
    "class_style",
    "font_size",
    "lay_out",
    "points_across",
    "pyplot",
]

# Lightness, line and marker tell them apart as well, for print in grey.
LINE, GREY, RESULT = "#1b3a5c", "#8a8a8a", "#e0701a"

# Points of print.
SMALLEST, LARGEST = 5.5, 10.0


class ClassStyle(NamedTuple):
    """How a class is drawn: a colour, and what tells it apart in grey."""

    color: str
    tint: str
    hatch: str
    marker: str


# Tints get darker and lighter in turn, so that neighbours differ in grey as well.
_STYLES = [
    ClassStyle(LINE, "#c3d3e6", "", "o"),
    ClassStyle(RESULT, "#fdeadb", "///", "s"),
    ClassStyle("#2f8579", "#b4d9d3", "...", "^"),
    ClassStyle("#a8325e", "#f7e0e9", "\\\\\\", "D"),
    ClassStyle("#8a6d00", "#ddd09c", "xxx", "v"),
    ClassStyle("#5b4bc4", "#e8e5fa", "---", "P"),
    ClassStyle("#6b4423", "#d1bfae", "|||", "X"),
    ClassStyle("#2d8bc9", "#dff0fa", "+++", "<"),
    ClassStyle("#3d3d3d", "#c4c4c4", "ooo", ">"),
    ClassStyle("#5f8f1b", "#e9f4d6", "***", "p"),
]


def class_style(code):
    """Style of the class of a number; that of the first again after the tenth."""
    return _STYLES[code % len(_STYLES)]


def pyplot(display):
    """Return matplotlib's pyplot, imported when something is drawn.

    Parameters
    ----------
    display : object
        Whose class the error names.

    Raises
    ------
    ImportError
        Without matplotlib; it says what to install.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__} needs matplotlib, which is not installed; "
            "`pip install 'odalib[plot]'` adds it."
        ) from error
    return plt


def axes_for(display, ax, number=1, across=1, **options):
    """Return the axes given, or those of a new figure for None, as an array.

    Parameters
    ----------
    display : object
        What is drawn into them; messages name its class.
    ax : matplotlib axes, array-like of them, or None
    number : int, default=1
        Number of axes.
    across : int, default=1
        Axes in a line of a new figure.
    **options : dict
        Of ``matplotlib.pyplot.subplots``.

    Returns
    -------
    axes : ndarray of object of shape (number,)

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        For another number of axes.
    """
    if ax is None:
        options = {"figsize": (6.4, 4.8), "layout": "constrained", **options}
        grid = pyplot(display).subplots(-(-number // across), across, **options)[1]
        axes = np.ravel(np.asarray(grid, dtype=object))
        for unused in axes[number:]:
            unused.remove()
        return axes[:number]
    axes = np.ravel(np.asarray(ax, dtype=object))
    if len(axes) != number:
        raise ValueError(
            f"{type(display).__name__} draws into {number} axes, and ax holds "
            f"{len(axes)}."
        )
    return axes


def check_has(display, estimator, attribute, example):
    """Refuse what is not fitted, or is no estimator of the kind that is drawn.

    Parameters
    ----------
    display : type
        Messages name it.
    estimator : object
    attribute : str
        What an estimator of that kind has when it is fitted.
    example : str
        Name of such an estimator.

    Raises
    ------
    NotFittedError
    TypeError
        For an estimator without the attribute.
    """
    check_is_fitted(estimator)
    if not hasattr(estimator, attribute):
        raise TypeError(
            f"{display.__name__} needs an estimator with {attribute}, such as "
            f"{example}; {type(estimator).__name__} has none. Of a pipeline, give the "
            "last step."
        )


def font_size(axes, parts):
    """Points of a text that is to take one of so many parts of the height of axes.

    Small axes have small print, so that it does not hide what it explains.
    """
    return float(np.clip(points_across(axes)[1] / parts, SMALLEST, LARGEST))


def points_across(axes):
    """Width and height of axes in points, as they are at present."""
    extent = axes.get_window_extent()
    return np.array([extent.width, extent.height]) * 72.0 / axes.figure.dpi


def lay_out(axes):
    """Give axes the size that they will be drawn with, before texts are fitted."""
    axes.get_figure(root=True).draw_without_rendering()

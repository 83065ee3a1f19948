"""The annealing path as a picture."""

import numpy as np

from odalib.inspection._figures import (
    GREY,
    LINE,
    RESULT,
    axes_for,
    check_has,
    font_size,
    points_across,
)

__all__ = ["AnnealingPathDisplay"]

# Height of a tick in points, and their number at the most.
TICK, MOST_TICKS = 14.0, 100


class AnnealingPathDisplay:
    """Number of codevectors and distortion as the temperature falls.

    Use `from_estimator` to make one. The temperature falls from left to right. The
    upper panel shows the number of codevectors, with a dot wherever some have split
    and a diamond for the result. The lower panel shows the distortion and the free
    energy of the same levels.

    A fit grows beyond the number wanted and then merges down to it, which raises the
    distortion. From there on the number is held while the temperature falls further:
    where the panels are shaded, a long step says nothing about the data.

    Parameters
    ----------
    path : AnnealingPath
        As ``annealing_path_`` of a fitted estimator.
    n_codevectors : int
        Number of codevectors of the result.
    temperature : float
        Temperature of the result, in units of the divergence.

    Attributes
    ----------
    axes_ : ndarray of shape (2,)
        Upper and lower panel, as matplotlib axes.
    figure_ : matplotlib figure
        That holds them.
    number_line_, splits_, result_ : matplotlib lines
        Of the upper panel.
    distortion_line_, free_energy_line_ : matplotlib lines
        Of the lower panel.
    held_spans_ : list of matplotlib patches
        Shading where the number was held, one per panel; empty where it never was.

    See Also
    --------
    AnnealingPathDisplay.from_estimator : Draw the path of a fitted estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from odalib import ODAClusterer
    >>> from odalib.inspection import AnnealingPathDisplay
    >>> model = ODAClusterer(n_clusters=3, random_state=0).fit(load_iris().data)
    >>> display = AnnealingPathDisplay.from_estimator(model)
    >>> [axes.get_ylabel() for axes in display.axes_]
    ['codevectors', 'mean divergence']
    """

    def __init__(self, *, path, n_codevectors, temperature):
        self.path = path
        self.n_codevectors = n_codevectors
        self.temperature = temperature

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the path of a fitted estimator.

        Parameters
        ----------
        estimator : ODAClusterer, ODAClassifier or ODARegressor
            Fitted; what ``at`` returns has the path of the fit it comes from. With
            resolutions the path is that of the last.
        ax : pair of matplotlib axes, default=None
            Upper and lower panel; None makes a new figure.

        Returns
        -------
        display : AnnealingPathDisplay
            With the axes and lines as attributes.

        Raises
        ------
        ImportError
            Without matplotlib.
        NotFittedError
            Before a fit.
        TypeError
            For an estimator that has no path.
        ValueError
            For other than two axes.
        """
        check_has(cls, estimator, "annealing_path_", "ODAClusterer")
        display = cls(
            path=estimator.annealing_path_,
            n_codevectors=estimator.tree_.n_leaves,
            temperature=estimator.temperature_,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw the path.

        Parameters
        ----------
        ax : pair of matplotlib axes, default=None
            Upper and lower panel; None makes a new figure.

        Returns
        -------
        display : AnnealingPathDisplay
            Itself.

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            For other than two axes.
        """
        self.axes_ = axes_for(self, ax, 2, sharex=True, height_ratios=[3, 2])
        upper, lower = self.axes_
        self.figure_ = upper.figure
        self._draw_numbers(upper)
        self._draw_energies(lower)
        temperature, held = self.path.temperature, _held_from(self.path.n_codevectors)
        self.held_spans_ = []
        for axes in self.axes_:
            axes.set_xscale("log")
            axes.set_xlim(1.2 * temperature[0], temperature[-1] / 1.2)
            if held is not None:
                end = axes.get_xlim()[1]
                span = axes.axvspan(temperature[held], end, color="0.9", zorder=0)
                self.held_spans_.append(span)
        if held is not None:
            merged = f"merged to {len(self.path.weights[held])}, then held"
            self.held_spans_[0].set_label(merged)
        # Above, as within there is no place that is free on every path.
        upper.legend(
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=3,
            frameon=False,
            columnspacing=1.0,
            handlelength=1.2,
            fontsize=font_size(upper, 18),
        )
        lower.legend(loc="best", fontsize=font_size(lower, 12))
        for axes in self.axes_:
            axes.yaxis.label.set_size(font_size(axes, 9))
        return self

    def _draw_numbers(self, axes):
        """Draw steps: a level lasts until the next colder one."""
        temperature, number = self.path.temperature, self.path.n_codevectors
        split = 1 + np.flatnonzero(np.diff(number) > 0)
        (self.number_line_,) = axes.step(temperature, number, where="post", color=LINE)
        (self.splits_,) = axes.plot(
            temperature[split],
            number[split],
            "o",
            color=LINE,
            markersize=4,
            label="split",
        )
        (self.result_,) = axes.plot(
            self.temperature,
            self.n_codevectors,
            "D",
            color=RESULT,
            markersize=7,
            label=f"result: {self.n_codevectors}",
        )
        _use_count_ticks(axes)
        axes.set_ylabel("codevectors")

    def _draw_energies(self, axes):
        """Draw distortion and free energy, in the units of the divergence."""
        path = self.path
        (self.distortion_line_,) = axes.plot(
            path.temperature, path.distortion, ".-", color=LINE, label="distortion"
        )
        (self.free_energy_line_,) = axes.plot(
            path.temperature, path.free_energy, "--", color=GREY, label="free energy"
        )
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel("temperature, falling")
        axes.set_ylabel("mean divergence")


def _held_from(number):
    """Level from which the number was held, or None.

    It is that of the last change, where that was a fall: growth is over once
    codevectors have been merged down to the number wanted.
    """
    changes = 1 + np.flatnonzero(np.diff(number))
    if len(changes) and number[changes[-1]] < number[changes[-1] - 1]:
        return int(changes[-1])
    return None


def _use_count_ticks(axes):
    """Whole numbers on a logarithmic axis, as many in a decade as there is room for."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axes.set_yscale("log")
    decades = np.ptp(np.log10(axes.get_ylim()))
    room = points_across(axes)[1] / TICK / decades
    steps = [(1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)]
    fitting = [step for step in steps if len(step) <= room]
    # Explicit, as the automatic number of ticks of small axes may be none.
    locator = LogLocator(subs=(fitting or steps)[0], numticks=MOST_TICKS)
    axes.yaxis.set_major_locator(locator)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))

"""The posterior of the weights of a linear classifier as a picture."""

from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from odalib.inspection._figures import LINE, axes_for, points_across
from odalib.inspection._intervals import half_width
from odalib.inspection._names import columns_of, features_of, on_picture
from odalib.inspection._problems import chosen_problems, sides_of_problems

__all__ = ["PosteriorDisplay"]


class PosteriorDisplay:
    """Weights of a Bayesian linear classifier with their credible intervals.

    Use `from_estimator` to make one. A row of the picture is a feature, a panel is a
    problem of two classes: a positive weight speaks for the class to the right. Dots
    are filled where the interval leaves zero out, and hollow where the sign of the
    weight is not settled. The intercept is not drawn.

    Weights of features in different units cannot be compared: standardise these.
    Intervals are those of single weights; weights of features that go together are
    uncertain together, so that none may be settled where their sum is.

    Parameters
    ----------
    mean : ndarray of shape (n_problems, n_drawn)
        Posterior means of the weights, from top to bottom.
    standard_deviation : ndarray of shape (n_problems, n_drawn)
        Posterior standard deviations.
    feature_names : list of str of length n_drawn
        Names of the features, from top to bottom.
    sides : list of (str, str) of length n_problems
        Classes for which negative and positive weights speak.
    level : float, default=0.95
        Posterior probability of an interval, central.

    Attributes
    ----------
    axes_ : ndarray of shape (n_problems,)
        Panels, as matplotlib axes.
    figure_ : matplotlib figure
        That holds them.
    points_ : list of matplotlib path collections
        Dots at the means, per panel.
    intervals_ : list of matplotlib line collections
        Intervals, per panel.

    See Also
    --------
    PosteriorDisplay.from_estimator : Draw the weights of a fitted classifier.
    EvidenceDisplay : What the data say of the prior variance.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from odalib import EPProbitClassifier
    >>> from odalib.inspection import PosteriorDisplay
    >>> data = load_breast_cancer()
    >>> model = EPProbitClassifier("evidence").fit(scale(data.data), data.target)
    >>> display = PosteriorDisplay.from_estimator(
    ...     model, feature_names=data.feature_names, max_features=3
    ... )
    >>> display.feature_names
    ['worst texture', 'radius error', 'worst symmetry']
    """

    def __init__(self, *, mean, standard_deviation, feature_names, sides, level=0.95):
        self.mean = mean
        self.standard_deviation = standard_deviation
        self.feature_names = feature_names
        self.sides = sides
        self.level = level

    @classmethod
    def from_estimator(
        cls,
        estimator,
        *,
        features=None,
        feature_names=None,
        problems=None,
        max_features=20,
        level=0.95,
        ax=None,
    ):
        """Draw the weights of a fitted classifier.

        Parameters
        ----------
        estimator : EPProbitClassifier or ADFProbitClassifier
            Fitted.
        features : array-like of int or str, default=None
            Columns or names of the features to draw, from top to bottom. None draws
            those that are surest not to be zero, the surest on top: by the largest
            ratio of mean to standard deviation in any of the problems.
        feature_names : array-like of str of shape (n_features,), default=None
            Names of the columns of X. None takes those of the data frame that the
            estimator was fitted to, or ``x0``, ``x1`` and so on.
        problems : array-like of int, default=None
            Of more than two classes, the rows of ``coef_`` to draw; None for all, up
            to ten.
        max_features : int, default=20
            So many features at the most, where ``features`` names none.
        level : float, default=0.95
            Posterior probability of an interval, between 0 and 1.
        ax : matplotlib axes or sequence of n_problems of them, default=None
            None makes a new figure.

        Returns
        -------
        display : PosteriorDisplay
            With the axes and what is drawn in them as attributes.

        Raises
        ------
        ImportError
            Without matplotlib.
        TypeError
            For an estimator that has no posterior of weights.
        ValueError
            For unknown features or problems, and numbers out of range.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "_beliefs_of_problems"):
            raise TypeError(
                "PosteriorDisplay needs a posterior of weights, such as that of "
                f"EPProbitClassifier; {type(estimator).__name__} has none. Of a "
                "pipeline, give the last step."
            )
        if isinstance(max_features, bool) or not isinstance(max_features, Integral):
            raise TypeError(f"max_features={max_features!r} must be an integer.")
        if max_features < 1:
            raise ValueError(f"max_features={max_features} must be at least 1.")
        names = features_of(estimator, feature_names)
        problems = chosen_problems(estimator, problems)
        mean = estimator.coef_[problems]
        deviation = _standard_deviations(estimator)[problems]
        if features is None:
            surest = np.max(np.abs(mean) / deviation, axis=0)
            columns = np.argsort(-surest, kind="stable")[:max_features]
        else:
            columns = columns_of(features, names)
        sides = sides_of_problems(estimator)
        display = cls(
            mean=mean[:, columns],
            standard_deviation=deviation[:, columns],
            feature_names=[names[column] for column in columns],
            sides=[sides[problem] for problem in problems],
            level=level,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw the weights.

        Parameters
        ----------
        ax : matplotlib axes or sequence of n_problems of them, default=None
            None makes a new figure.

        Returns
        -------
        display : PosteriorDisplay
            Itself.

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            For another number of axes than problems, and a level out of range.
        """
        half_widths = half_width(self.level) * self.standard_deviation
        n_panels, n_rows = self.mean.shape
        self.axes_ = axes_for(
            self,
            ax,
            n_panels,
            n_panels,
            sharey=True,
            figsize=(max(6.4, 1.6 + 1.6 * n_panels), max(4.8, 0.8 + 0.2 * n_rows)),
        )
        self.figure_ = self.axes_[0].figure
        self.points_, self.intervals_ = [], []
        for axes, mean, half in zip(self.axes_, self.mean, half_widths, strict=True):
            self._draw_problem(axes, mean, half)
            self._name_features(axes)
        _name_sides(self.axes_, self.sides)
        self.axes_[n_panels // 2].set_xlabel(f"weight, {self.level:.0%} interval")
        return self

    def _draw_problem(self, axes, mean, half_width):
        """Draw dots and intervals of a panel, and keep them."""
        rows = np.arange(len(mean))
        axes.axvline(0.0, color="0.7", linewidth=0.8, zorder=0)
        self.intervals_.append(
            axes.hlines(rows, mean - half_width, mean + half_width, color=LINE)
        )
        is_settled = np.abs(mean) > half_width
        self.points_.append(
            axes.scatter(
                mean,
                rows,
                s=22,
                c=np.where(is_settled, LINE, "white"),
                edgecolors=LINE,
                zorder=3,
            )
        )
        axes.set_ylim(len(rows) - 0.5, -0.5)

    def _name_features(self, axes):
        """Name the rows of a panel, in letters that are no higher than these."""
        n_rows = len(self.feature_names)
        names = [on_picture(name) for name in self.feature_names]
        axes.set_yticks(range(n_rows), names)
        height = points_across(axes)[1] / n_rows
        size = axes.yaxis.label.get_fontsize()
        axes.tick_params(axis="y", labelsize=min(size, 0.9 * height))


def _name_sides(panels, sides):
    """Name the classes above panels, in less room where these are narrow."""
    arrows = [
        (
            f"\N{LEFTWARDS ARROW} {on_picture(left)}",
            f"{on_picture(right)} \N{RIGHTWARDS ARROW}",
        )
        for left, right in sides
    ]
    normal = panels[0].xaxis.label.get_fontsize()
    # A letter is about half as wide as it is high, and titles keep their distance.
    letters = points_across(panels[0])[0] / (0.7 * normal)
    longest = max(len(text) for pair in arrows for text in pair)
    for axes, (left, right) in zip(panels, arrows, strict=True):
        if 2 * longest + 4 <= letters:
            axes.set_title(f"{left}    {right}", fontsize=normal)
        else:
            size = normal * min(1.0, letters / longest)
            axes.set_title(f"{right}\n{left}", fontsize=size)
            axes.tick_params(axis="x", labelsize=size)


def _standard_deviations(estimator):
    """Of all weights but the intercept, (n_problems, n_features)."""
    if hasattr(estimator, "posterior_covariance"):
        # Where features outnumber rows their covariances would not fit into memory.
        beliefs = estimator._beliefs_of_problems()
        variances = np.array([belief.marginals() for belief in beliefs])
    else:
        variances = estimator.covariance_
        if variances.ndim == 3:
            variances = np.diagonal(variances, axis1=1, axis2=2)
    return np.sqrt(variances[:, : estimator.n_features_in_])

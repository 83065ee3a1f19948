"""Predictive probabilities with their uncertainty as a picture."""

import numpy as np
from scipy.special import ndtr
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from odalib.estimators._labels import encode, read_labels
from odalib.inspection._figures import LINE, axes_for
from odalib.inspection._intervals import half_width
from odalib.inspection._names import columns_of, features_of, on_picture
from odalib.inspection._problems import check_problem, sides_of_problems
from odalib.inspection._series import add_legend

__all__ = ["PredictiveProbabilityDisplay"]

# Points along one feature, and along each of two.
N_POINTS = {1: 201, 2: 61}
# Beyond the rows, where probabilities should become less sure, in their range.
MARGIN = 0.15
# Of the shading, so light that lines and rows stand out on it, and of the lines.
SHADES, LIGHT, DARK = np.linspace(0.0, 1.0, 11), "#ffffff", "#7ba6d0"
WIDTHS = (0.2, 0.5, 0.8)


class PredictiveProbabilityDisplay:
    """Predictive probability of a class over one or two features, and how sure it is.

    Use `from_estimator` to make one. Over one feature it is a curve, with the band in
    which the probability lies by the posterior of the latent value. Over two features
    it is shaded, with a thick line at one half, and dashed lines tell how wide that
    band is: at 0.2 little is open, at 0.8 next to nothing is known. The other features
    are held.

    The curve is what `predict_proba` says, the mean over the band. A probability near
    one half can mean two things that only the band tells apart: that the classes mix
    there, or that there were no rows to learn from.

    Parameters
    ----------
    grid : list of one or two ndarrays
        Values of each feature, increasing.
    mean, variance : ndarray of shape (n,) or (n_second, n_first)
        Of the latent value at those, without the noise of the probit.
    feature_names : list of one or two str
        Names of the features.
    sides : (str, str)
        Negative and positive class; the probability is that of the second.
    rows : ndarray of shape (n_samples, n_drawn_features), default=None
        Rows to draw.
    is_positive : ndarray of bool of shape (n_samples,), default=None
        Their classes.
    level : float, default=0.95
        Posterior probability of the band, central.

    Attributes
    ----------
    probability, lower, upper : ndarray of the shape of mean
        Predictive probability, and ends of the band.
    ax_ : matplotlib axes
    figure_ : matplotlib figure
        That holds them.
    line_ : matplotlib line
        The curve; only over one feature, as is ``band_``, a poly collection.
    surface_ : matplotlib contour set
        The shading; only over two features, as are the next.
    boundary_, uncertainty_ : matplotlib contour set or None
        Line at one half, and lines of equal width; None where there are none.
    rows_ : list of matplotlib lines
        Of the negative and of the positive class; empty without rows.

    See Also
    --------
    PredictiveProbabilityDisplay.from_estimator : Draw those of a fitted classifier.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from odalib import EPGaussianProcessClassifier
    >>> from odalib.inspection import PredictiveProbabilityDisplay
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = EPGaussianProcessClassifier(4.0 * RBF(0.7), optimizer=None).fit(X, y)
    >>> display = PredictiveProbabilityDisplay.from_estimator(model, X, y)
    >>> width = display.upper - display.lower
    >>> float(width.min().round(2)), float(width.max().round(2))
    (0.07, 1.0)
    """

    def __init__(
        self,
        *,
        grid,
        mean,
        variance,
        feature_names,
        sides,
        rows=None,
        is_positive=None,
        level=0.95,
    ):
        self.grid = grid
        self.mean = mean
        self.variance = variance
        self.feature_names = feature_names
        self.sides = sides
        self.rows = rows
        self.is_positive = is_positive
        self.level = level

    @property
    def probability(self):
        """Predictive probability of the positive class."""
        return ndtr(self.mean / np.sqrt(1.0 + self.variance))

    @property
    def lower(self):
        """Lower end of the band."""
        return ndtr(self.mean - half_width(self.level) * np.sqrt(self.variance))

    @property
    def upper(self):
        """Upper end of the band."""
        return ndtr(self.mean + half_width(self.level) * np.sqrt(self.variance))

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y=None,
        *,
        features=None,
        problem=None,
        level=0.95,
        ax=None,
    ):
        """Draw the predictive probability of a fitted classifier.

        Parameters
        ----------
        estimator : EPGaussianProcessClassifier, EPProbitClassifier, \
ADFProbitClassifier or Pipeline
            Fitted; a pipeline that ends with one of them is asked through its steps.
        X : array-like of shape (n_samples, n_features)
            Rows that tell which values to draw, and those at which other features are
            held: their medians.
        y : array-like of shape (n_samples,), default=None
            Classes of the rows, which are then drawn too. Over one feature at the top
            and the bottom of the picture.
        features : int, str, or list of one or two of them, default=None
            Columns or names of the features; None where X has one or two.
        problem : int, default=None
            Of more than two classes, the row of ``coef_``, or column of
            `latent_mean_and_variance`: the probability is then that of one of two
            classes given that it is one of these, or of one against the rest, before
            they are coupled or normalised.
        level : float, default=0.95
            Posterior probability of the band, between 0 and 1.
        ax : matplotlib axes, default=None
            None makes a new figure.

        Returns
        -------
        display : PredictiveProbabilityDisplay
            With the axes and what is drawn in them as attributes.

        Raises
        ------
        ImportError
            Without matplotlib.
        TypeError
            For an estimator without latent values.
        ValueError
            For unknown features, none named where X has more than two, or more than
            two named; without a problem where there are more than two classes.
        """
        check_is_fitted(estimator)
        classifier = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        if not hasattr(classifier, "latent_mean_and_variance"):
            raise TypeError(
                "PredictiveProbabilityDisplay needs latent values, such as those of "
                f"EPGaussianProcessClassifier; {type(classifier).__name__} has none."
            )
        names = features_of(estimator)
        values = check_array(X, dtype=np.float64)
        if values.shape[1] != len(names):
            raise ValueError(
                f"X has {values.shape[1]} features, and the estimator was fitted to "
                f"{len(names)}."
            )
        columns = _chosen_columns(features, names)
        number = _chosen_problem(classifier, problem)
        sides = sides_of_problems(classifier)
        grid = [_span(values[:, column], len(columns)) for column in columns]
        points = _points(grid, columns, np.median(values, axis=0))
        mean, variance = _latent(estimator, classifier, _like(X, points))
        shape = tuple(len(along) for along in reversed(grid))
        rows, is_positive = _rows_of_problem(classifier, number, values, y)
        display = cls(
            grid=grid,
            mean=mean.reshape(*shape, -1)[..., number],
            variance=variance.reshape(*shape, -1)[..., number],
            feature_names=[names[column] for column in columns],
            sides=sides[number],
            rows=None if rows is None else rows[:, columns],
            is_positive=is_positive,
            level=level,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw the probability and its uncertainty.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            None makes a new figure.

        Returns
        -------
        display : PredictiveProbabilityDisplay
            Itself.

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            For a level that is not between 0 and 1.
        """
        half_width(self.level)
        (self.ax_,) = axes_for(self, ax)
        self.figure_ = self.ax_.figure
        self.rows_ = []
        negative, positive = (on_picture(side) for side in self.sides)
        says = f"probability of {positive}"
        self.ax_.set_xlabel(on_picture(self.feature_names[0]))
        if len(self.grid) == 1:
            self._draw_curve(says)
        else:
            self.ax_.set_ylabel(on_picture(self.feature_names[1]))
            self._draw_surface(says)
        if self.rows is not None:
            self._draw_rows(negative, positive)
        return self

    def _draw_curve(self, says):
        """Draw the curve with its band."""
        (values,) = self.grid
        self.ax_.axhline(0.5, color="0.7", linewidth=0.8, zorder=0)
        self.band_ = self.ax_.fill_between(
            values,
            self.lower,
            self.upper,
            color=LINE,
            alpha=0.2,
            linewidth=0,
            label=f"{self.level:.0%} interval",
        )
        (self.line_,) = self.ax_.plot(values, self.probability, color=LINE)
        self.ax_.set_xlim(values[0], values[-1])
        self.ax_.set_ylim(-0.05, 1.05)
        self.ax_.set_ylabel(says)
        add_legend(self.ax_)

    def _draw_surface(self, says):
        """Draw shading, the line at one half, and lines of equal uncertainty."""
        probability, width = self.probability, self.upper - self.lower
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.patheffects import withStroke

        shading = LinearSegmentedColormap.from_list("probability", [LIGHT, DARK])
        self.surface_ = self.ax_.contourf(
            *self.grid, probability, levels=SHADES, cmap=shading
        )
        self.figure_.colorbar(self.surface_, ax=self.ax_, label=says)
        self.boundary_ = self._contour(probability, [0.5], colors=LINE, linewidths=2.5)
        self.uncertainty_ = self._contour(
            width, WIDTHS, colors="black", linewidths=0.8, linestyles="--"
        )
        if self.uncertainty_ is not None:
            # Above the rows.
            labels = self.ax_.clabel(self.uncertainty_, fontsize="x-small", zorder=4)
            for label in labels:
                label.set_path_effects([withStroke(linewidth=2.0, foreground="white")])
            self.ax_.plot(
                [],
                "k--",
                linewidth=0.8,
                label=f"width of the {self.level:.0%} interval",
            )
            add_legend(self.ax_)

    def _contour(self, values, levels, **style):
        """Draw those lines that there are; None for none."""
        inside = [level for level in levels if values.min() < level < values.max()]
        if not inside:
            return None
        return self.ax_.contour(*self.grid, values, levels=inside, **style)

    def _draw_rows(self, negative, positive):
        """Draw rows of both classes: at 0 and 1, or where they are."""
        for is_of_class, label, height, face, marker in (
            (~self.is_positive, negative, 0.0, "white", "o"),
            (self.is_positive, positive, 1.0, LINE, "s"),
        ):
            points = self.rows[is_of_class].T
            if len(points) == 1:
                points = points[0], np.full(points.shape[1], height)
            self.rows_ += self.ax_.plot(
                *points,
                marker,
                markersize=4,
                markerfacecolor=face,
                markeredgecolor="black",
                markeredgewidth=0.6,
                label=label,
            )
        add_legend(self.ax_)


def _chosen_columns(features, names):
    """Columns to draw, one or two."""
    if features is None:
        if len(names) > 2:
            raise ValueError(
                f"X has {len(names)} features, and a picture shows one or two; name "
                "them by features, such as features=[0, 1]."
            )
        return list(range(len(names)))
    columns = columns_of(features, names)
    if len(columns) not in (1, 2) or len(set(columns)) < len(columns):
        raise ValueError(f"features={features!r} must be one or two different ones.")
    return columns


def _chosen_problem(classifier, problem):
    """Give the number of the problem to draw."""
    sides = sides_of_problems(classifier)
    if problem is None and len(sides) > 1:
        named = ", ".join(
            f"{number}: {positive} against {negative}"
            for number, (negative, positive) in enumerate(sides)
        )
        raise ValueError(
            f"There are {len(classifier.classes_)} classes; choose one of the problems "
            f"of two classes by problem: {named}."
        )
    if problem is not None:
        check_problem(problem, sides)
    return problem or 0


def _span(values, n_features):
    """Values to draw, of a feature of rows."""
    margin = MARGIN * (np.ptp(values) or 1.0)
    return np.linspace(
        values.min() - margin, values.max() + margin, N_POINTS[n_features]
    )


def _points(grid, columns, base):
    """Rows at all points of a grid, other features at a base."""
    along = [values.ravel() for values in np.meshgrid(*grid)]
    points = np.tile(base, (len(along[0]), 1))
    points[:, columns] = np.transpose(along)
    return points


def _like(X, points):
    """Points as a data frame, where X is one, or as they are."""
    if not hasattr(X, "columns"):
        return points
    return type(X)(dict(zip(X.columns, points.T, strict=True)))


def _latent(estimator, classifier, points):
    """Latent mean and variance, through the steps of a pipeline if it is one."""
    if estimator is not classifier:
        points = estimator[:-1].transform(points)
    return classifier.latent_mean_and_variance(points)


def _rows_of_problem(classifier, number, values, y):
    """Rows that take part in a problem, and which are of its positive class."""
    if y is None:
        return None, None
    labels = read_labels(classifier, y)
    check_consistent_length(values, labels)
    problem = classifier._decomposition.problems[number]
    taking_part, side = problem.rows(encode(labels, classifier.classes_))
    return values[taking_part], side > 0.0

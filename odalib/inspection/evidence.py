"""The evidence for the prior variance of a linear classifier as a picture."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from odalib.estimators import EPProbitClassifier
from odalib.inspection._figures import RESULT, axes_for
from odalib.inspection._names import on_picture
from odalib.inspection._problems import chosen_problems, sides_of_problems
from odalib.inspection._series import add_legend, series_style

__all__ = ["EvidenceDisplay"]

# Prior variances to try: by them a mean row has such latent variances, where the noise
# has one of 1; and so many times around the one that the estimator has.
LATENT, AROUND, N_VARIANCES = (1e-2, 1e3), 10.0, 15


class EvidenceDisplay:
    """Log evidence of a linear classifier against the prior variance of its weights.

    Use `from_estimator` to make one. A line is a problem of two classes. Its diamond
    is the best of the prior variances tried, its ring is what the parameters of the
    estimator give; with one prior variance per feature, as by ``'ard'``, that is a
    level line, since there is no single variance to draw it at.

    The log evidence is the log probability of the labels before any was seen: two
    priors whose log evidence differs by 3 nats are 20 times as probable one as the
    other. A flat top says that the data leave the choice open.

    Parameters
    ----------
    prior_variances : ndarray of shape (n_variances,)
        Those tried, increasing.
    log_evidence : ndarray of shape (n_problems, n_variances)
        In nats.
    own_prior_variance : ndarray of shape (n_problems,)
        That of the estimator; NaN where it has one per feature.
    own_log_evidence : ndarray of shape (n_problems,)
        Of the estimator, in nats.
    sides : list of (str, str) of length n_problems
        Negative and positive class.

    Attributes
    ----------
    ax_ : matplotlib axes
    figure_ : matplotlib figure
        That holds them.
    lines_ : list of matplotlib lines
        Log evidence, per problem.
    best_ : list of matplotlib lines
        The diamonds, per problem.
    own_ : list of matplotlib lines
        The rings or level lines, per problem.

    See Also
    --------
    EvidenceDisplay.from_estimator : Refit a classifier with several prior variances.
    PosteriorDisplay : Weights with their intervals.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from odalib import EPProbitClassifier
    >>> from odalib.inspection import EvidenceDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = EvidenceDisplay.from_estimator(
    ...     EPProbitClassifier(), scale(X), y, prior_variances=[0.01, 0.1, 1.0, 10.0]
    ... )
    >>> display.log_evidence.round(1)
    array([[-102.9,  -63.9,  -57.8,  -66.3]])
    """

    def __init__(
        self,
        *,
        prior_variances,
        log_evidence,
        own_prior_variance,
        own_log_evidence,
        sides,
    ):
        self.prior_variances = prior_variances
        self.log_evidence = log_evidence
        self.own_prior_variance = own_prior_variance
        self.own_log_evidence = own_log_evidence
        self.sides = sides

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, prior_variances=None, problems=None, ax=None
    ):
        """Refit a classifier with several prior variances, and draw the log evidence.

        Clones are fitted; the estimator stays as it is. Where it takes the intercept's
        variance by evidence too, clones have the one it finds, so that its ring is on
        the line.

        Parameters
        ----------
        estimator : EPProbitClassifier
            Fitted or not: what it has been taught is not asked for.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        prior_variances : array-like of float, default=None
            Those to try. None tries 15, by which the latent value of a mean row has a
            variance of 0.01 to 1000 (its noise has one of 1), and of a wider range
            where the estimator's own would be at an end.
        problems : array-like of int, default=None
            Of more than two classes, the rows of ``coef_`` to draw; None for all, up
            to ten.
        ax : matplotlib axes, default=None
            None makes a new figure.

        Returns
        -------
        display : EvidenceDisplay
            With the axes and lines as attributes.

        Raises
        ------
        ImportError
            Without matplotlib.
        TypeError
            For an estimator without evidence.
        ValueError
            For prior variances that are not positive, fewer than two of them, unknown
            problems, and whatever a fit refuses.
        """
        if not isinstance(estimator, EPProbitClassifier):
            raise TypeError(
                "EvidenceDisplay needs an EPProbitClassifier, which has a prior "
                f"variance and its evidence; {type(estimator).__name__} does not. Of a "
                "pipeline, give the last step, and X as it comes to that."
            )
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        y = column_or_1d(y)
        check_consistent_length(X, y)
        if prior_variances is not None:
            prior_variances = _checked(prior_variances)
        own = clone(estimator).fit(X, y)
        problems = chosen_problems(own, problems)
        sides = sides_of_problems(own)
        own_variance = _common_variance(own.prior_variance_[problems])
        if prior_variances is None:
            prior_variances = _default_variances(X, own_variance)
        display = cls(
            prior_variances=prior_variances,
            log_evidence=np.array(
                [_evidence(own, X, y, problem, prior_variances) for problem in problems]
            ),
            own_prior_variance=own_variance,
            own_log_evidence=own.log_evidence_[problems],
            sides=[sides[problem] for problem in problems],
        )
        return display.plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw the log evidence.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            None makes a new figure.

        Returns
        -------
        display : EvidenceDisplay
            Itself.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        (self.ax_,) = axes_for(self, ax)
        self.figure_ = self.ax_.figure
        self.lines_, self.best_, self.own_ = [], [], []
        self.ax_.set_xscale("log")
        for number in range(len(self.log_evidence)):
            self._draw_problem(number)
        self.ax_.set_xlabel("prior variance of the weights")
        self.ax_.set_ylabel("log evidence (nats)")
        handles = [*self.lines_, self.best_[0], self.own_[0]]
        add_legend(self.ax_, handles=handles[len(self.lines_) == 1 :])
        return self

    def _draw_problem(self, number):
        """Draw a line with its diamond and ring."""
        evidence = self.log_evidence[number]
        negative, positive = (on_picture(side) for side in self.sides[number])
        (line,) = self.ax_.plot(
            self.prior_variances,
            evidence,
            marker=".",
            **series_style(number),
            label=f"{positive} against {negative}",
        )
        best = int(np.argmax(evidence))
        (diamond,) = self.ax_.plot(
            self.prior_variances[best],
            evidence[best],
            "D",
            color=RESULT,
            markersize=6,
            label="best of those tried",
        )
        self.lines_.append(line)
        self.best_.append(diamond)
        self.own_.append(self._draw_own(number, line.get_color()))

    def _draw_own(self, number, color):
        """Draw what the estimator has, a ring or a level line."""
        variance = self.own_prior_variance[number]
        evidence = self.own_log_evidence[number]
        if np.isnan(variance):
            (level,) = self.ax_.plot(
                self.prior_variances[[0, -1]],
                [evidence, evidence],
                color=color,
                linestyle=(0, (1, 3)),
                label="the estimator's own, one per feature",
            )
            return level
        (ring,) = self.ax_.plot(
            variance,
            evidence,
            "o",
            color="black",
            fillstyle="none",
            markersize=11,
            label="the estimator's own",
        )
        return ring


def _checked(prior_variances):
    """Prior variances to try, increasing."""
    variances = np.unique(np.asarray(prior_variances, dtype=np.float64))
    if len(variances) < 2 or not (np.isfinite(variances) & (variances > 0.0)).all():
        raise ValueError(
            "prior_variances must be two numbers or more, positive and finite, got "
            f"{prior_variances!r}."
        )
    return variances


def _common_variance(variances):
    """Prior variance that all features have, (n_problems,); NaN where they differ."""
    first = variances[:, 0]
    return np.where((variances == first[:, None]).all(axis=1), first, np.nan)


def _default_variances(X, own):
    """Prior variances to try where none are given, increasing."""
    squares = X.power(2) if sp.issparse(X) else np.square(X, dtype=np.float64)
    mean_square = float(squares.sum()) / X.shape[0]
    if mean_square == 0.0:
        raise ValueError("X is zero everywhere, so that no prior variance matters.")
    least, largest = (latent / mean_square for latent in LATENT)
    own = own[~np.isnan(own)]
    least = min(least, own.min(initial=np.inf) / AROUND)
    largest = max(largest, own.max(initial=0.0) * AROUND)
    return np.geomspace(least, largest, N_VARIANCES)


def _evidence(own, X, y, problem, variances):
    """Log evidence of a problem with several prior variances, (n_variances,).

    Of rows of other classes a problem does not hear, and so it is fitted alone.
    """
    codes = np.searchsorted(own.classes_, y)
    rows, side = own._decomposition.problems[problem].rows(codes)
    model = clone(own)
    if own.fit_intercept:
        model.set_params(intercept_variance=float(own.intercept_variance_[problem]))
    return np.array(
        [
            model.set_params(prior_variance=float(variance))
            .fit(X[rows], side)
            .log_evidence_[0]
            for variance in variances
        ]
    )

"""Prequential scores along streams as a picture."""

from odalib.inspection._figures import axes_for
from odalib.inspection._names import on_picture
from odalib.inspection._series import add_legend, series_style

__all__ = ["PrequentialDisplay"]


class PrequentialDisplay:
    """Scores along streams, of predictions that were made before rows were learnt.

    Use `from_results` to make one. Of all rows so far, a curve settles; of a window
    of the last batches, it shows how a model is doing now, and falls where the stream
    drifts.

    Parameters
    ----------
    curves : list of Curve
        As `StreamResult.curve` gives them, each ``n_samples`` and ``score``.
    labels : list of str
        What tells the curves apart, one for each.
    score_name : str
        What they show.

    Attributes
    ----------
    ax_ : matplotlib axes
    figure_ : matplotlib figure
        That holds them.
    lines_ : list of matplotlib lines
        The curves, in order.

    See Also
    --------
    PrequentialDisplay.from_results : Draw what fits of streams have returned.
    odalib.streaming.fit_stream : Teach an estimator a stream, with scores.

    Examples
    --------
    >>> import numpy as np
    >>> from odalib import ADFProbitClassifier
    >>> from odalib.inspection import PrequentialDisplay
    >>> from odalib.streaming import fit_stream
    >>> X = np.random.default_rng(0).standard_normal((4000, 3))
    >>> y = np.where(np.arange(4000) < 3000, X[:, 0] > 0, X[:, 1] > 0)
    >>> results = [
    ...     fit_stream(
    ...         ADFProbitClassifier(forgetting=forgetting), X, target=y,
    ...         classes=[False, True], batch_size=100, scoring="accuracy",
    ...     )
    ...     for forgetting in (1.0, 0.99)
    ... ]
    >>> display = PrequentialDisplay.from_results(
    ...     results, labels=["remembers", "forgets"], window=5
    ... )
    >>> [round(float(curve.score[-1]), 2) for curve in display.curves]
    [0.77, 0.94]
    """

    def __init__(self, *, curves, labels, score_name):
        self.curves = curves
        self.labels = labels
        self.score_name = score_name

    @classmethod
    def from_results(cls, results, *, score=None, window=None, labels=None, ax=None):
        """Draw what fits of streams have returned.

        Parameters
        ----------
        results : StreamResult or list of them
            Fitted with ``scoring``.
        score : str, default=None
            Which score; None where there is one.
        window : int, default=None
            Score the last so many batches; None for all so far.
        labels : list of str, default=None
            What to call the results; None for the names of their estimators' classes,
            with a number where results share one.
        ax : matplotlib axes, default=None
            None makes a new figure.

        Returns
        -------
        display : PrequentialDisplay
            With the axes and lines as attributes.

        Raises
        ------
        ImportError
            Without matplotlib.
        TypeError
            For what is no result of a stream.
        ValueError
            For a result without scores, an unknown score, none named where there are
            several, a window of less than one batch, and another number of labels
            than results.
        """
        results = list(results) if isinstance(results, list | tuple) else [results]
        for result in results:
            if not hasattr(result, "curve"):
                raise TypeError(
                    "PrequentialDisplay needs what odalib.streaming.fit_stream "
                    f"returns, got {type(result).__name__}."
                )
            if not result.scores:
                raise ValueError(
                    f"The fit of {type(result.estimator).__name__} has no scores: give "
                    "scoring to fit_stream, and more than the first batch."
                )
        if not results:
            raise ValueError("results is empty; there is nothing to draw.")
        if labels is None:
            labels = _class_names(results)
        if isinstance(labels, str) or len(labels) != len(results):
            raise ValueError(
                f"labels={labels!r} must be a list of one for each of the "
                f"{len(results)} results."
            )
        curves = [result.curve(score, window) for result in results]
        display = cls(
            curves=curves,
            labels=[str(label) for label in labels],
            score_name=next(iter(results[0].scores)) if score is None else score,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            None makes a new figure.

        Returns
        -------
        display : PrequentialDisplay
            Itself.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        (self.ax_,) = axes_for(self, ax)
        self.figure_ = self.ax_.figure
        self.lines_ = []
        for number, (curve, label) in enumerate(
            zip(self.curves, self.labels, strict=True)
        ):
            marker = "o" if len(curve.score) == 1 else None
            self.lines_ += self.ax_.plot(
                *curve, marker=marker, label=on_picture(label), **series_style(number)
            )
        self.ax_.set_xlabel("rows of the stream")
        self.ax_.set_ylabel(on_picture(self.score_name))
        add_legend(self.ax_)
        return self


def _class_names(results):
    """Names of the classes of estimators, numbered where several have the same."""
    names = [type(result.estimator).__name__ for result in results]
    return [
        f"{name} {names[: number + 1].count(name)}" if names.count(name) > 1 else name
        for number, name in enumerate(names)
    ]

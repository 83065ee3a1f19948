"""One fold of a search along the path, and the table of all folds."""

import warnings
from dataclasses import dataclass, replace
from numbers import Real
from time import perf_counter
from traceback import format_exc

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from odalib.estimators._sklearn import safe_split, select_params
from odalib.inference.annealing.model import NotOnPathError
from odalib.model_selection.levels import level_of, rows_of_fit, rows_of_levels

__all__ = [
    "Fold",
    "Outcome",
    "choose",
    "given",
    "held_by_all",
    "report_failures",
    "tabulate",
]


def given(X, y):
    """Arguments of a method that is called without y where there is none."""
    return (X,) if y is None else (X, y)


@dataclass(frozen=True)
class Outcome:
    """What a fold gave.

    Attributes
    ----------
    scores : array of shape (n_numbers,)
        On the held-out rows.
    fit_time : float
        Seconds of the one fit.
    score_times : array of shape (n_numbers,)
        Seconds.
    fit_error : str or None
        Traceback, where the fit failed.
    score_errors : dict of int to str
        Tracebacks of the numbers that could not be scored.
    missing : frozenset of int
        Numbers that the path does not hold, and need not.
    """

    scores: np.ndarray
    fit_time: float
    score_times: np.ndarray
    fit_error: str | None
    score_errors: dict
    missing: frozenset = frozenset()


@dataclass(frozen=True)
class Fold:
    """What to do in every fold: fit once, then score all numbers.

    Attributes
    ----------
    estimator : estimator
        Unfitted, set to the largest number.
    name : str
        Argument of its method ``at``.
    numbers : list of int
    all_wanted : bool
        Whether a number that the path does not hold is an error.
    scorer : callable
    fit_params, score_params : dict
        For all rows; each fold takes its own.
    error_score : 'raise' or float
    verbose : int
    """

    estimator: object
    name: str
    numbers: list
    all_wanted: bool
    scorer: object
    fit_params: dict
    score_params: dict
    error_score: object
    verbose: int

    def run(self, X, y, train, test):
        """Fit on the rows of `train` and score on those of `test`.

        Returns
        -------
        Outcome
        """
        estimator = clone(self.estimator)
        train_rows = given(*safe_split(estimator, X, y, train))
        test_rows = given(*safe_split(estimator, X, y, test, train))
        fit_params = select_params(X, self.fit_params, train)
        score_params = select_params(X, self.score_params, test)
        score_times = np.zeros(len(self.numbers))
        start = perf_counter()
        rows, fit_error = self._attempt(self._fit, estimator, train_rows, fit_params)
        fit_time = perf_counter() - start
        if fit_error is not None:
            scores = np.full(len(self.numbers), self.error_score)
            return Outcome(scores, fit_time, score_times, fit_error, {})
        scores, errors, missing = np.empty(len(self.numbers)), {}, set()
        for index, number in enumerate(self.numbers):
            start = perf_counter()
            score, error = self._attempt(
                self._score, estimator, number, rows, test_rows, score_params
            )
            score_times[index] = perf_counter() - start
            scores[index] = np.nan if score is None else score
            if score is None:
                missing.add(number)
            if error is not None:
                errors[number] = error
        if self.verbose:
            print(
                f"[PathSearchCV] {len(train)} rows fitted in {fit_time:.2f} s, "
                f"{len(self.numbers)} numbers scored on {len(test)} rows in "
                f"{score_times.sum():.2f} s"
            )
        return Outcome(scores, fit_time, score_times, None, errors, frozenset(missing))

    def _attempt(self, function, *args, **kwargs):
        """Return the result and None, or the error score and a traceback."""
        try:
            return function(*args, **kwargs), None
        except Exception:
            if self.error_score == "raise":
                raise
            return self.error_score, format_exc()

    def _fit(self, estimator, rows, params):
        """Fit, and return the rows that levels of the path learn from."""
        with rows_of_fit(estimator) as arguments:
            estimator.fit(*rows, **params)
        return rows_of_levels(estimator, arguments)

    def _score(self, estimator, number, learnt, rows, params):
        """Score of a number; None where the path lacks it, and may."""
        try:
            level = level_of(estimator, self.name, number, learnt)
        except NotOnPathError:
            if self.all_wanted:
                raise
            return None
        score = self.scorer(level, *rows, **params)
        if isinstance(score, np.ndarray) and score.ndim == 0:
            score = score[()]
        if not isinstance(score, Real):
            raise ValueError(f"scoring must return one number, not {score!r}.")
        return score


def held_by_all(numbers, outcomes):
    """Numbers that the paths of all folds hold, and the outcomes of these.

    All of them where there are none, for which there are errors to be reported.
    """
    missing = frozenset().union(*(outcome.missing for outcome in outcomes))
    held = [index for index, number in enumerate(numbers) if number not in missing]
    if not held or not missing:
        return numbers, outcomes
    cut = [
        replace(
            outcome,
            scores=outcome.scores[held],
            score_times=outcome.score_times[held],
            score_errors={
                number: error
                for number, error in outcome.score_errors.items()
                if number not in missing
            },
        )
        for outcome in outcomes
    ]
    return [numbers[index] for index in held], cut


def report_failures(outcomes, error_score):
    """Warn of fits and scores that failed.

    Raises
    ------
    ValueError
        Where every fit failed, or no number has a finite score in every fold.
    """
    fit_errors = [o.fit_error for o in outcomes if o.fit_error is not None]
    score_errors = {}
    for outcome in outcomes:
        score_errors = outcome.score_errors | score_errors
    first = [*fit_errors, *score_errors.values(), "The scorer gave no number."][0]
    scores = np.array([outcome.scores for outcome in outcomes])
    if len(fit_errors) == len(outcomes) or not np.isfinite(scores).all(axis=0).any():
        raise ValueError(
            "No number of codevectors has a finite score in every fold, so there is "
            f"none to choose. The first error was:\n{first}"
        )
    if fit_errors:
        warnings.warn(
            f"{len(fit_errors)} of {len(outcomes)} fits failed; their scores are set "
            f"to {error_score}. The first error was:\n{first}",
            FitFailedWarning,
            stacklevel=4,
        )
    if score_errors:
        warnings.warn(
            f"Scoring failed, in some folds or all, for {sorted(score_errors)} "
            f"codevectors; these scores are set to {error_score}. An error was:\n"
            f"{next(iter(score_errors.values()))}",
            UserWarning,
            stacklevel=4,
        )


def tabulate(parameter, numbers, outcomes):
    """Table of all folds, a row per number."""
    scores = np.array([outcome.scores for outcome in outcomes]).T
    n_folds = len(outcomes)
    finite = np.isfinite(scores).all(axis=1)
    mean, std = np.full((2, len(numbers)), np.nan)
    mean[finite], std[finite] = _moments(scores[finite])
    fit_times = np.array([outcome.fit_time for outcome in outcomes])
    score_times = np.array([outcome.score_times for outcome in outcomes])
    return {
        "mean_fit_time": np.full(len(numbers), fit_times.mean()),
        "std_fit_time": np.full(len(numbers), fit_times.std()),
        "mean_score_time": score_times.mean(axis=0),
        "std_score_time": score_times.std(axis=0),
        f"param_{parameter}": np.ma.array(numbers, mask=np.zeros(len(numbers), bool)),
        "params": [{parameter: number} for number in numbers],
        **{f"split{i}_test_score": scores[:, i] for i in range(n_folds)},
        "mean_test_score": mean,
        "std_test_score": std,
        "standard_error_test_score": (
            std / np.sqrt(n_folds - 1) if n_folds > 1 else np.full(len(numbers), np.nan)
        ),
        "rank_test_score": rankdata(
            -np.where(finite, mean, -np.inf), method="min"
        ).astype(np.int32),
    }


def _moments(scores):
    """Mean and standard deviation of every row, of scores too large to square, too."""
    exponents = np.frexp(np.abs(scores).max(axis=1))[1]
    # A power of two changes no digit.
    scaled = np.ldexp(scores, -exponents[:, None])
    return np.ldexp([scaled.mean(axis=1), scaled.std(axis=1)], exponents)


def choose(results, rule):
    """Row of the best mean score, or of the smallest number that is as good."""
    mean = results["mean_test_score"]
    best = int(np.nanargmax(mean))
    if rule == "best":
        return best
    margin = results["standard_error_test_score"][best]
    return int(np.flatnonzero(mean >= mean[best] - margin)[0])

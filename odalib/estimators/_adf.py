"""Beliefs about all problems of two classes that rows of many classes pose."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from odalib.estimators._decomposition import Decomposition
from odalib.estimators._multiclass import stack_moments
from odalib.estimators._narrowing import narrowed
from odalib.inference.ep.adf import Belief, Prior, begin, with_forgetting
from odalib.inference.ep.orderings import average
from odalib.inference.saving import SavesFields

__all__ = ["Beliefs"]


@dataclass(frozen=True)
class Beliefs(SavesFields):
    """What rows have taught so far.

    Attributes
    ----------
    decomposition : Decomposition
    of_problems : tuple of Belief
    fit_intercept : bool
    dtype : type of float
        Of what is published.
    n_seen : float
        Weight of the rows.
    """

    decomposition: Decomposition
    of_problems: tuple[Belief, ...]
    fit_intercept: bool
    dtype: type[np.floating]
    n_seen: float = 0.0

    @classmethod
    def begin(cls, decomposition, variances, covariance, fit_intercept, dtype):
        """Believe the prior.

        Parameters
        ----------
        decomposition : Decomposition
        variances : array of shape (n_weights,)
            Of the prior, whose mean is zero.
        covariance : {'full', 'diagonal'}
        fit_intercept : bool
            Whether the last weight is one.
        dtype : type of float

        Returns
        -------
        Beliefs
        """
        prior = Prior(np.zeros_like(variances), variances)
        belief = begin(prior, covariance, has_intercept=fit_intercept)
        of_problems = (belief,) * len(decomposition.problems)
        return cls(decomposition, of_problems, fit_intercept, dtype)

    @property
    def prior_variances(self):
        """Prior variances of the weights, shape (n_weights,)."""
        return self.of_problems[0].prior.variance

    @property
    def means(self):
        """Posterior means of the weights of every problem."""
        return [belief.mean for belief in self.of_problems]

    @cached_property
    def moments(self):
        """Means, and covariances or variances, of the weights of all problems."""
        parts = zip(*(belief.moments for belief in self.of_problems), strict=True)
        what = "Posterior moments of weights"
        return tuple(
            narrowed(np.array(part), self.dtype, what, AttributeError) for part in parts
        )

    def forgetting(self, share):
        """Return the same beliefs, to forget at another pace from here on."""
        of_problems = (with_forgetting(belief, share) for belief in self.of_problems)
        return replace(self, of_problems=tuple(of_problems))

    def learn(self, X, codes, weights, visits=None):
        """Beliefs after some more rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        codes : array of int of shape (n,)
            Classes of the rows.
        weights : array of shape (m,)
            Of the visits.
        visits : array of int of shape (m,), default=None
            Rows in the order in which they are learnt; None for all, as they stand.

        Returns
        -------
        Beliefs
        """
        of_problems = []
        for problem, belief in zip(
            self.decomposition.problems, self.of_problems, strict=True
        ):
            members, y = problem.rows(codes if visits is None else codes[visits])
            order, powers = visits, weights
            if len(members) < len(weights):
                order = members if visits is None else visits[members]
                powers = weights[members]
            of_problems.append(belief.learn(X, y, powers, order))
        n_seen = in_order(self.n_seen, weights)
        return replace(self, of_problems=tuple(of_problems), n_seen=n_seen)

    def latent(self, X):
        """Means and variances of the latent values of rows, (n, n_problems) each."""
        # In float32, squares of entries may overflow.
        rows = X.astype(np.float64, copy=False)
        return stack_moments(belief.latent(rows) for belief in self.of_problems)

    @staticmethod
    def average(several):
        """Average of beliefs that differ by the order of the rows; see `average`."""
        by_problem = zip(*(beliefs.of_problems for beliefs in several), strict=True)
        averages = tuple(average(of_one) for of_one in by_problem)
        return replace(several[0], of_problems=averages)


def in_order(total, weights):
    """Add weights to a total one after the other, so that no cut of them matters."""
    if (weights == np.rint(weights)).all():
        # Whole numbers add up to the same in any order.
        return float(total + weights.sum())
    return float(np.cumsum(np.append(total, weights))[-1])

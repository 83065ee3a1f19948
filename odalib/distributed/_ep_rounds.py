"""Problems of two classes, whose sites live with their rows on Dask workers."""

from dataclasses import replace

import numpy as np

from odalib.distributed._ep_blocks import (
    add_pairs,
    carry_out,
    combine_answers,
    encoded,
    extremes,
    moments_at,
    relate,
    take_up,
    tell,
    widest,
)
from odalib.inference.ep.evidence import search_variances
from odalib.inference.ep.gaussians.rows import squares_at_most
from odalib.inference.ep.left_out_rounds import find_influential, weights_without
from odalib.inference.ep.solvers.rounds import infer_in_rounds

__all__ = ["Problems"]

# Numbers in the d x d matrices that the problems of a round send each way: 32 MB.
ROUND_ELEMENTS = 2**22
# A row takes part in about so many of the problems that are solved together, and keeps
# some fifty numbers for each.
TOGETHER = 2


class Problems:
    """Problems of two classes, and the rounds in which they are solved.

    Parameters
    ----------
    blocks : Blocks
        Without rows of no weight.
    estimator : odalib.EPProbitClassifier
        Its parameters, and its name for messages.
    classes : array of shape (n_classes,)
    decomposition : Decomposition
    """

    def __init__(self, blocks, estimator, classes, decomposition):
        self._blocks, self._estimator = blocks, estimator
        self._decomposition = decomposition
        self._instead = [[] for _ in decomposition.problems]
        n_weights = blocks.n_features + estimator.fit_intercept
        self._per_round = max(ROUND_ELEMENTS // n_weights**2, 1)
        places = blocks.client.map(int, range(len(blocks.futures)), pure=False)
        self._states = blocks.map(encoded, estimator, classes, states=places)

    def infer(self, variances):
        """Solve all problems, some of them together.

        Parameters
        ----------
        variances : list of array of shape (d,)
            Prior variances of the weights, per problem.

        Returns
        -------
        list of Outcome
        """
        n_problems = len(variances)
        share = 2 / self._decomposition.n_classes if self._is_in_pairs else 1.0
        size = min(max(int(TOGETHER / share), 1), self._per_round)
        outcomes = []
        for start in range(0, n_problems, size):
            group = range(start, min(start + size, n_problems))
            self._take_up(group)
            tol = self._estimator.tol
            rounds = {(k, 0): self._rounds(variances[k], tol) for k in group}
            found = self._run(rounds)
            self._look_again({k: found[k, 0] for k in group})
            outcomes += found.values()
        return outcomes

    def search(self):
        """Solve all problems with the prior variances of largest evidence.

        One problem after the other, since each searches for itself.

        Returns
        -------
        outcomes : list of Outcome
        variances : list of array of shape (d,)
        """
        found = []
        for k in range(len(self._decomposition.problems)):
            self._take_up([k])
            found.append(self._search(k))
            self._look_again({k: found[k].inference})
        return [one.inference for one in found], [one.variances for one in found]

    def sharpened(self, outcomes):
        """Learn from rows left out how sure coupled probabilities may be.

        Parameters
        ----------
        outcomes : list of Outcome
            Of all problems; the blocks hold their sites.

        Returns
        -------
        Decomposition
        """
        decomposition = self._decomposition
        if not decomposition.is_coupled:
            return decomposition
        self._take_up([])
        related = self._blocks.map(
            relate,
            [outcome.posterior.belief for outcome in outcomes],
            self._instead,
            decomposition,
            self._estimator.fit_intercept,
            states=self._states,
        )

        def moments(log_power):
            return self._blocks.reduce(
                moments_at, log_power, combine=add_pairs, states=related
            )

        sharpness = decomposition.sharpness.learn_from(moments)
        return replace(decomposition, sharpness=sharpness)

    @property
    def _is_in_pairs(self):
        return all(one.negative is not None for one in self._decomposition.problems)

    def _rounds(self, variances, tol, warm=False):
        max_iter = self._estimator.max_iter
        return infer_in_rounds(variances, tol=tol, max_iter=max_iter, warm=warm)

    def _search(self, problem):
        """Search the prior variances of one problem."""
        blocks, fit_intercept = self._blocks, self._estimator.fit_intercept
        groups = np.arange(blocks.n_features + fit_intercept)
        if self._estimator.prior_variance == "evidence":
            groups = (groups == blocks.n_features).astype(int)
        highest, lowest = blocks.reduce(
            extremes, problem, fit_intercept, combine=widest, states=self._states
        )
        key, warm = (problem, 0), False

        def infer_with(variances, tol):
            nonlocal warm
            rounds = self._rounds(variances, tol, warm)
            warm = True
            return self._run({key: rounds})[key]

        squares = squares_at_most(highest, lowest)
        return search_variances(infer_with, squares, groups, tol=self._estimator.tol)

    def _look_again(self, outcomes):
        """Leave out influential rows of problems that have just been solved."""
        if not self._decomposition.is_coupled:
            return
        found = self._run({(k, 0): find_influential() for k in outcomes})
        copies = [
            ((k, copy), site)
            for (k, _), sites in found.items()
            for copy, site in enumerate(sites, start=1)
        ]
        states = self._states
        for start in range(0, len(copies), self._per_round):
            some = copies[start : start + self._per_round]
            again = self._run(
                {key: weights_without(outcomes[key[0]], site) for key, site in some}
            )
            for (k, _), one in again.items():
                self._instead[k].append(one)
            # The copies have done their work.
            self._states = states

    def _take_up(self, numbers):
        """Turn to some problems, and keep of those before only their sites."""
        problems = {k: self._decomposition.problems[k] for k in numbers}
        self._states = self._blocks.map(take_up, problems, states=self._states)

    def _run(self, generators):
        """Run generators of orders to their ends, all orders of a round together.

        Parameters
        ----------
        generators : dict of (int, int) to generator
            By problem and copy, as `BlockState` has them.

        Returns
        -------
        dict of (int, int) to object
            What the generators return.
        """
        results, told = {}, dict.fromkeys(generators)
        while told:
            orders = {}
            for key, answer in told.items():
                try:
                    orders[key] = generators[key].send(answer)
                except StopIteration as end:
                    results[key] = end.value
            told = self._round(orders) if orders else {}
        return {key: results[key] for key in generators}

    def _round(self, orders):
        blocks, fit_intercept = self._blocks, self._estimator.fit_intercept
        self._states = blocks.map(carry_out, orders, fit_intercept, states=self._states)
        return blocks.reduce(tell, combine=combine_answers, states=self._states)

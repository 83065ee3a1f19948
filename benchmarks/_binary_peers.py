"""Densities of binary data that IsingModel is set beside."""

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from scipy.special import logsumexp, xlogy
from sklearn.neural_network import BernoulliRBM

from benchmarks._annealed_importance import rbm_log_masses, rbm_log_partition

# Rows of each kind that are added to counts, so that no probability is zero.
ADDED = 0.5
# Up to so many columns a partition function is a sum over all rows there are.
MOST_ENUMERATED = 17
# Rows of a batch of the machines: more where there are many rows.
FEW_ROWS, SMALL_BATCH, LARGE_BATCH = 2000, 10, 100


def log_bernoulli(X, p):
    """Log probabilities of rows (n, d) of independent columns of means p (d,)."""
    return X @ np.log(p) + (1.0 - X) @ np.log1p(-p)


class Independent:
    """Columns that know nothing of each other."""

    def fit(self, X):
        """Count ones."""
        self.means = (X.sum(axis=0) + ADDED) / (len(X) + 2 * ADDED)
        return self

    def score_samples(self, X):
        """Return log probabilities of rows."""
        return log_bernoulli(X, self.means)


class ChowLiuTree:
    """The best tree: of the largest sum of mutual informations of its edges."""

    def fit(self, X):
        """Find the tree, and the probabilities of columns given their parents."""
        n_rows = len(X) + 4 * ADDED
        both = X.T @ X + ADDED
        ones = X.sum(axis=0) + 2 * ADDED
        pairs = np.stack(
            [
                np.stack([n_rows - ones[:, None] - ones + both, ones - both]),
                np.stack([ones[:, None] - both, both]),
            ]
        )
        pairs = pairs / n_rows
        first, second = pairs.sum(axis=1)[:, None], pairs.sum(axis=0)[None]
        information = (xlogy(pairs, pairs) - xlogy(pairs, first * second)).sum((0, 1))
        np.fill_diagonal(information, 0.0)
        # A spanning tree keeps edges that are not zero.
        weights = information.max() + 1.0 - information
        np.fill_diagonal(weights, 0.0)
        tree = minimum_spanning_tree(weights)
        self.order, self.parents = breadth_first_order(tree, 0, directed=False)
        self.given = pairs / pairs.sum(axis=0)
        self.root = ones[0] / n_rows
        return self

    def score_samples(self, X):
        """Return log probabilities of rows."""
        X = X.astype(int)
        found = log_bernoulli(X[:, :1], np.array([self.root]))
        for column in self.order[1:]:
            parent = self.parents[column]
            given = self.given[:, :, column, parent]
            found += np.log(given[X[:, column], X[:, parent]])
        return found


class BernoulliMixture:
    """Groups of rows with independent columns, by expectation-maximisation."""

    def __init__(self, n_components, n_iter=200, random_state=0):
        self.n_components = n_components
        self.n_iter = n_iter
        self.random_state = random_state

    def fit(self, X):
        """Begin with groups that are drawn, and improve them."""
        random = np.random.default_rng(self.random_state)
        shares = random.dirichlet(np.ones(self.n_components), len(X))
        for _ in range(self.n_iter):
            counts = shares.sum(axis=0)
            self.log_weights = np.log((counts + ADDED) / (counts + ADDED).sum())
            self.means = (shares.T @ X + ADDED) / (counts[:, None] + 2 * ADDED)
            joint = self._joint(X)
            shares = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        return self

    def score_samples(self, X):
        """Return log probabilities of rows."""
        return logsumexp(self._joint(X), axis=1)

    def _joint(self, X):
        return (
            self.log_weights
            + X @ np.log(self.means).T
            + (1.0 - X) @ np.log1p(-self.means).T
        )


class Machine:
    """BernoulliRBM with its partition function, exact or by importance sampling."""

    def __init__(self, n_components, learning_rate, n_updates):
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.n_updates = n_updates

    def fit(self, X):
        """Train the machine, and find its partition function."""
        batch_size = SMALL_BATCH if len(X) < FEW_ROWS else LARGE_BATCH
        self.rbm = BernoulliRBM(
            self.n_components,
            learning_rate=self.learning_rate,
            batch_size=batch_size,
            n_iter=-(-self.n_updates * batch_size // len(X)),
            random_state=0,
        ).fit(X)
        n = X.shape[1]
        if n <= MOST_ENUMERATED:
            states = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(float)
            self.log_partition = logsumexp(rbm_log_masses(self.rbm, states))
            self.standard_error = 0.0
        else:
            found = rbm_log_partition(self.rbm, X, n_chains=200, n_steps=1000)
            self.log_partition = found.value
            self.standard_error = found.standard_error
        return self

    def score_samples(self, X):
        """Return log probabilities of rows."""
        return rbm_log_masses(self.rbm, X) - self.log_partition

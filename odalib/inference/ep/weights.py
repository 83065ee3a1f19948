"""Row weights as copies of sites, and as powers of likelihoods."""

import numpy as np

__all__ = ["split_weights"]


def split_weights(row_weights):
    """Copies of each site, and the power of its likelihood.

    A weight of at least one is so many copies of a site in the posterior, of which
    the cavity leaves one out. A smaller one would leave an improper cavity, and is
    one site for the likelihood to that power instead.

    Parameters
    ----------
    row_weights : array of shape (n,)
        Positive.

    Returns
    -------
    counts, powers : array of shape (n,)
        ``row_weights = counts * powers``, counts at least and powers at most one.
    """
    return np.maximum(row_weights, 1.0), np.minimum(row_weights, 1.0)

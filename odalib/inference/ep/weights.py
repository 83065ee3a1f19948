"""Weights of observations, in the form that expectation propagation takes them."""

import numpy as np

__all__ = ["split_weights"]


def split_weights(weights):
    """Split weights into copies of sites and powers of likelihoods.

    A weight of at least one is so many copies of one site, of which the cavity leaves
    out one: an integer weight equals repeated rows. With a smaller weight that cavity
    would be improper; it is the power of the likelihood that one site stands for.

    Parameters
    ----------
    weights : array of shape (n,)
        Positive.

    Returns
    -------
    counts : array of shape (n,)
        At least one.
    powers : array of shape (n,)
        At most one; their product with the counts is the weights.
    """
    return np.maximum(weights, 1.0), np.minimum(weights, 1.0)

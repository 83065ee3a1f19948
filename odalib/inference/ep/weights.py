"""Weights of observations, in the form that expectation propagation takes them."""

import numpy as np

__all__ = ["split_weights"]

# Beside more of them, what the prior says of a latent value is rounding.
MOST_COPIES = 1e15


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

    Raises
    ------
    ValueError
        For so many copies that a prior has no digits beside them.
    """
    largest = float(np.max(weights, initial=0.0))
    if largest > MOST_COPIES:
        raise ValueError(
            f"sample_weight goes up to {largest:.3g}, and a unit of weight is a copy "
            f"of its row; divide sample_weight, to at most {MOST_COPIES:.0e}."
        )
    return np.maximum(weights, 1.0), np.minimum(weights, 1.0)

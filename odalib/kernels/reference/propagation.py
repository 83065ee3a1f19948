"""Sequential expectation propagation within a block of probit sites.

The sites see each other through the covariance of the block alone: what the others
learn of it follows at its end.
"""

import numpy as np

from odalib.kernels.reference.probit import probit_site

__all__ = ["match_block"]


def match_block(mean, covariance, y, noise_variance, precision, shift):
    """Match the sites of a block one after the other, in place.

    A site ``exp(-precision f^2 / 2 + shift f)`` is taken out of the marginal of its
    latent value and put back as the one that matches the observation. Where no
    normalised Gaussian is left without it, it stays as it is.

    Parameters
    ----------
    mean : array of shape (b,)
    covariance : array of shape (b, b)
        In Fortran order. Of these two, what comes out is of no use.
    y : array of shape (b,)
        -1.0 or 1.0.
    noise_variance : array of shape (b,)
        Positive.
    precision, shift : array of shape (b,)

    Returns
    -------
    n_improper : int
        Sites that stay as they are; -1 where a site loses more precision than its
        latent value has.
    """
    n_improper = 0
    for i in range(len(y)):
        variance = covariance[i, i]
        share = 1.0 - precision[i] * variance
        if not (share > 0.0 and variance >= 0.0):
            n_improper += 1
            continue
        matched = probit_site(
            y[i],
            (mean[i] - variance * shift[i]) / share,
            variance / share,
            noise_variance[i],
        )
        sharpened, moved = matched[0] - precision[i], matched[1] - shift[i]
        precision[i], shift[i] = matched
        left = 1.0 + variance * sharpened
        if not left > 0.0:
            return -1
        later = slice(i + 1, None)
        column = covariance[later, i].copy()
        mean[later] += column * ((moved - sharpened * mean[i]) / left)
        covariance[later, later] -= sharpened / left * np.outer(column, column)
    return n_improper

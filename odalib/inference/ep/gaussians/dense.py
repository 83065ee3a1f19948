"""A posterior that holds the covariance of all latent values, and moves it."""

import numpy as np
from scipy.linalg.blas import dgemm, dger

from odalib.inference.ep.gaussians.model import LostDefiniteness, MovingPosterior

__all__ = ["DenseMoving"]


class DenseMoving(MovingPosterior):
    """Mean and covariance of the latent values, updated by blocks of sites.

    Parameters
    ----------
    mean : array of shape (n,)
    covariance : array of shape (n, n)
        Symmetric; taken over, so hand in a copy.
    """

    def __init__(self, mean, covariance):
        self.mean = mean.copy()
        # The layout that the products below update in place.
        self._covariance = np.asfortranarray(covariance)

    def block(self, sites):
        return self.mean[sites], self._covariance[sites, sites]

    def dense(self):
        return self.mean, self._covariance

    def local(self, sites):
        mean, covariance = self.block(sites)
        return DenseMoving(mean, covariance.copy(order="F"))

    def update(self, sites, precision, shift):
        # With S the covariance of the block, E = (I + S dT)^-1 and c the columns of
        # the block, the covariance loses c dT E c', and the mean gains
        # c E' (dN - dT m).
        mean, covariance = self.block(sites)
        columns = self._covariance[:, sites].copy(order="F")
        if len(precision) == 1:
            left = 1.0 + covariance[0, 0] * precision[0]
            if not left > 0:
                raise LostDefiniteness(
                    "A site loses more precision than its latent value has."
                )
            gain = 1.0 / left
            column = columns[:, 0]
            self.mean += column * (gain * (shift[0] - precision[0] * mean[0]))
            dger(
                -precision[0] * gain, column, column, a=self._covariance, overwrite_a=1
            )
            return
        try:
            gain = np.linalg.inv(np.eye(len(precision)) + covariance * precision)
        except np.linalg.LinAlgError as error:
            raise LostDefiniteness(
                "The covariance of a block of latent values is singular to rounding."
            ) from error
        self.mean += columns @ (gain.T @ (shift - precision * mean))
        dgemm(
            -1.0,
            columns @ (precision[:, np.newaxis] * gain),
            columns,
            1.0,
            self._covariance,
            trans_b=True,
            overwrite_c=True,
        )

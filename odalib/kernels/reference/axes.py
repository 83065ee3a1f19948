"""Axes of codevectors from sums over their rows, one step of a power iteration."""

import numpy as np

__all__ = ["scaled_means", "unit_axes"]


def scaled_means(sums, weight):
    """Means of the rows of a table, each over its largest entry.

    Parameters
    ----------
    sums : array of shape (K, d)
    weight : array of shape (K,)
        The sums of zero weight are left as they are.

    Returns
    -------
    vectors : array of shape (K, d)
    scale : array of shape (K,)
        Sizes of the largest entries of the means.
    """
    vectors = sums / np.where(weight > 0, weight, 1.0)[:, np.newaxis]
    scale = np.abs(vectors).max(axis=1)
    vectors /= np.where(scale > 0, scale, 1.0)[:, np.newaxis]
    return vectors, scale


def unit_axes(vectors, curvature, scale):
    """Vectors of unit length in the metric of a Hessian.

    Parameters
    ----------
    vectors : array of shape (K, d)
    curvature : array of shape (K, d)
        The Hessian times the vectors.
    scale : array of shape (K,)
        What the vectors were divided by.

    Returns
    -------
    directions : array of shape (K, d)
        Zero where the length is.
    length : array of shape (K,)
        Before the vectors were divided.
    """
    length = np.sqrt(np.einsum("ij,ij->i", vectors, curvature))[:, np.newaxis]
    directions = np.divide(
        vectors, length, out=np.zeros_like(vectors), where=length > 0
    )
    return directions, scale * length[:, 0]

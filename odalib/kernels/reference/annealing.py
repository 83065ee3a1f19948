"""Annealing kernels in NumPy: one block of rows in, sums over the block out.

Every Bregman divergence is affine in the row,
``d(x, mu_i) = phi(x) + offset_i - <gradient_i, x>`` (`tangent_planes`), so a
codebook enters these kernels as its tangent planes and no kernel knows which
divergence it serves. Arrays over codevectors and rows are laid out
``(n_codevectors, n_rows)``: reductions over codevectors then run along
contiguous memory. Rows are a dense float64 array or a CSR matrix.
"""

import numpy as np
import scipy.sparse as sp

from odalib.kernels.reference.hashes import entry_owners

__all__ = [
    "cell_axis_sums",
    "cell_sums",
    "differs_from_own",
    "follow",
    "gibbs_association",
    "gibbs_sums",
    "log_weights",
    "moved",
    "nearest",
    "nearest_cells",
    "negative_divergence",
    "own_products",
    "tangent_planes",
    "weighted_sums",
]


# Of the largest association of a row: a step of one row moves nothing that has less.
FAINT = 1e-12


def tangent_planes(divergence, points, mean):
    """Gradients (K, d) and offsets (K,) of the affine form of the divergence.

    ``d(x, mu_i) = phi(x) + offset_i - <gradient_i, x>``. The mean of the data tells
    how far inside its domain a codevector on the boundary is taken.
    """
    inside = divergence.interior(points, mean)
    gradients = divergence.gradient(inside)
    offsets = np.einsum("ij,ij->i", gradients, inside) - divergence.phi(inside)
    return gradients, offsets


def log_weights(weights):
    """``log rho_i``; minus infinity where no row is associated at all."""
    return np.log(weights, out=np.full(len(weights), -np.inf), where=weights > 0)


def negative_divergence(rows, gradients, offsets):
    """``phi(x) - d(x, mu_i)`` for every codevector and row, shape (K, n)."""
    if isinstance(rows, np.ndarray):
        values = gradients @ rows.T
    else:
        values = np.ascontiguousarray((rows @ gradients.T).T)
    values -= offsets[:, np.newaxis]
    return values


def weighted_sums(coefficients, rows):
    """``sum_n coefficients[i, n] x_n`` for every i, shape (K, d)."""
    if isinstance(rows, np.ndarray):
        return coefficients @ rows
    return np.ascontiguousarray((rows.T @ coefficients.T).T)


def gibbs_association(
    rows, gradients, offsets, log_weights, inverse_temperature, *, log=False
):
    """Gibbs association of a block of rows with the codevectors.

    ``p_i(x)`` proportional to ``rho_i exp(-beta d(x, mu_i))``, by log-sum-exp.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    gradients : array of shape (K, d)
    offsets : array of shape (K,)
    log_weights : array of shape (K,)
        ``log rho_i``.
    inverse_temperature : float
        ``beta``; in units of one over the divergence.
    log : bool, default=False
        Return the logarithm of the association.

    Returns
    -------
    association : array of shape (K, n)
        Every column sums to one.
    log_normaliser : array of shape (n,)
        ``log sum_i rho_i exp(-beta (d(x, mu_i) - phi(x)))``.
    """
    beta = inverse_temperature
    logits = negative_divergence(rows, beta * gradients, beta * offsets - log_weights)
    largest = logits.max(axis=0)
    logits -= largest
    if log:
        log_sum = np.log(np.exp(logits).sum(axis=0))
        logits -= log_sum
        return logits, largest + log_sum
    np.exp(logits, out=logits)
    total = logits.sum(axis=0)
    logits /= total
    return logits, largest + np.log(total)


def gibbs_sums(
    rows,
    row_weights,
    gradients,
    offsets,
    log_weights,
    inverse_temperature,
    codevectors,
    multipliers=None,
):
    """Sum over a block under the Gibbs association.

    Where few codevectors are near a row, compiled kernels count associations below
    exp(-40) of the row's largest as zero.

    Parameters are those of `gibbs_association`, the codevectors, shape (K, d), and

    multipliers : array of shape (n,) or (K, d), default=None
        A number ``m(x)`` per row, or a covector ``u_i`` per codevector, which
        stands for ``m_i(x) = <u_i, x - mu_i>``.

    Returns
    -------
    weight : array of shape (K,)
        ``sum_x w p_i(x)``.
    total : array of shape (K, d)
        ``sum_x w p_i(x) x``.
    log_normaliser : float
        ``sum_x w log sum_i rho_i exp(-beta (d(x, mu_i) - phi(x)))``.
    axis : array of shape (K, d)
        ``sum_x w p_i(x) m_i(x) (x - mu_i)``: with covectors, one power-iteration
        pass over the covariances of all codevectors; zeros without multipliers.
    """
    association, log_normaliser = gibbs_association(
        rows, gradients, offsets, log_weights, inverse_temperature
    )
    association *= row_weights
    weight, total, axis = _sums_under(association, rows, codevectors, multipliers)
    return weight, total, float(log_normaliser @ row_weights), axis


def _sums_under(association, rows, codevectors, multipliers):
    """Weight, total and axis of `gibbs_sums` under weighted associations, (K, n)."""
    weight = association.sum(axis=1)
    total = weighted_sums(association, rows)
    if multipliers is None:
        return weight, total, np.zeros_like(total)
    if multipliers.ndim == 1:
        association *= multipliers
    else:
        centre = np.einsum("ij,ij->i", multipliers, codevectors)
        association *= negative_divergence(rows, multipliers, centre)
    mass = association.sum(axis=1)
    axis = weighted_sums(association, rows) - mass[:, np.newaxis] * codevectors
    return weight, total, axis


def follow(
    rows,
    row_weights,
    starts,
    steps,
    points,
    weights,
    divergence,
    inverse_temperature,
    multipliers,
    axis,
    mass,
    shift=None,
    *,
    sums=gibbs_sums,
):
    """Let a codebook follow batches of rows, one step of `moved` for each.

    A step of one row leaves alone what it is associated with by less than `FAINT` of
    the largest association.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    row_weights : array of shape (n,)
    starts : array of int64 of shape (m,)
        Where batches begin, ascending from zero on.
    steps : array of shape (m,)
        Share that each batch has in the means.
    points : array of shape (K, d)
    weights : array of shape (K,)
        ``rho_i``.
    divergence : BregmanDivergence
        Its ``formula`` tells compiled kernels which it is.
    inverse_temperature : float
    multipliers : array of shape (n,) or (K, d), or None
        As for `gibbs_sums`.
    axis, mass : arrays of shape (K, d) and (K,)
        Sums so far.
    shift : array of shape (d,), default=None
        Subtracted from dense rows.
    sums : callable, default=gibbs_sums
        What serves as `gibbs_sums`.

    Returns
    -------
    points : array of shape (K, d)
    weights : array of shape (K,)
    axis : array of shape (K, d)
        With the sums of `gibbs_sums`, each batch about the codebook that it met.
    mass : array of shape (K,)
        With ``sum_x w p_i(x)``.
    """
    rows = rows if shift is None else rows - shift
    by_row = multipliers is not None and multipliers.ndim == 1
    stops = [*starts[1:], rows.shape[0]]
    for start, stop, step in zip(starts, stops, steps, strict=True):
        gradients, offsets = tangent_planes(divergence, points, weights @ points)
        batch = (
            rows[start:stop],
            row_weights[start:stop],
            gradients,
            offsets,
            log_weights(weights),
            inverse_temperature,
            points,
            multipliers[start:stop] if by_row else multipliers,
        )
        weight, total, _, along = (
            _row_sums(*batch) if stop - start == 1 else sums(*batch)
        )
        mass, axis = mass + weight, axis + along
        batch_weight = row_weights[start:stop].sum()
        points, weights = moved(points, weights, step, batch_weight, weight, total)
    return points, weights, axis, mass


def moved(points, weights, step, batch_weight, weight, total):
    """Points and weights after a step towards the means of a batch.

    ``rho' = (1 - a) rho + a p`` and ``sigma' = (1 - a) sigma + a p x`` for a step a,
    written for ``mu = sigma / rho`` so that codevectors that the batch does not touch
    keep their bits. Weight and total are sums as of `gibbs_sums`.
    """
    after = weights + step * (weight / batch_weight - weights)
    touched = (after > 0) & (weight > 0)
    share = np.divide(
        step / batch_weight, after, out=np.zeros_like(after), where=touched
    )
    pull = total - weight[:, np.newaxis] * points
    return points + share[:, np.newaxis] * pull, after / after.sum()


def _row_sums(
    row,
    row_weight,
    gradients,
    offsets,
    log_weights,
    inverse_temperature,
    codevectors,
    multipliers,
):
    """As `gibbs_sums` of one row, associations below `FAINT` left out."""
    association, log_normaliser = gibbs_association(
        row, gradients, offsets, log_weights, inverse_temperature
    )
    association[association < FAINT * association.max()] = 0.0
    association *= row_weight / association.sum()
    weight, total, axis = _sums_under(association, row, codevectors, multipliers)
    return weight, total, float(log_normaliser @ row_weight), axis


def cell_axis_sums(rows, row_weights, labels, codevectors, multipliers):
    """Sum as ``axis`` of `gibbs_sums`, over the cells of a partition, (K, d)."""
    if multipliers.ndim == 1:
        factors = multipliers
    else:
        centre = np.einsum("ij,ij->i", multipliers, codevectors)
        factors = own_products(rows, multipliers, labels) - centre[labels]
    weight, total = cell_sums(rows, row_weights * factors, labels, len(codevectors))
    return total - weight[:, np.newaxis] * codevectors


def nearest(rows, gradients, offsets, shift=None):
    """Codevector of least divergence for every row.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    gradients : array of shape (K, d)
    offsets : array of shape (K,)
    shift : array of shape (d,), default=None
        Subtracted from dense rows.

    Returns
    -------
    labels : array of shape (n,)
        The first of several.
    value : array of shape (n,)
        ``phi(x) - d(x, mu_label)``.
    """
    # Rows first: the search along a row of values then runs over contiguous memory.
    values = (rows if shift is None else rows - shift) @ gradients.T
    values -= offsets
    labels = values.argmax(axis=1)
    return labels, values[np.arange(len(labels)), labels]


def nearest_cells(rows, row_weights, gradients, offsets):
    """As `nearest`, and as `cell_sums` of the cells that they make."""
    labels, value = nearest(rows, gradients, offsets)
    return labels, value, *cell_sums(rows, row_weights, labels, len(offsets))


def own_products(rows, vectors, labels):
    """``<v_label, x>`` of every row with the vector of its cell, shape (n,)."""
    if isinstance(rows, np.ndarray):
        return np.einsum("ij,ij->i", rows, vectors[labels])
    owner = entry_owners(rows)
    products = rows.data * vectors[labels[owner], rows.indices]
    return np.bincount(owner, products, minlength=rows.shape[0])


def differs_from_own(rows, points, labels, tolerance):
    """Whether a row differs from the point of its cell, entry by entry, shape (n,).

    By more than ``tolerance`` of the larger of the two entries.
    """
    if isinstance(rows, np.ndarray):
        own = points[labels]
        scale = np.maximum(np.abs(rows), np.abs(own))
        return (np.abs(rows - own) > tolerance * scale).any(axis=1)
    owner, n_rows = entry_owners(rows), rows.shape[0]
    own = points[labels[owner], rows.indices]
    scale = np.maximum(np.abs(rows.data), np.abs(own))
    apart = np.bincount(
        owner, np.abs(rows.data - own) > tolerance * scale, minlength=n_rows
    )
    # Where the point has entries that the row does not store, they differ too.
    shared = np.bincount(owner, own != 0, minlength=n_rows)
    return (apart > 0) | (shared < np.count_nonzero(points, axis=1)[labels])


def cell_sums(rows, row_weights, labels, n_codevectors):
    """Weight and weighted sum of the rows of every cell: (K,) and (K, d)."""
    n_rows = rows.shape[0]
    bad = np.flatnonzero((labels < 0) | (labels >= n_codevectors))
    if bad.size:
        raise ValueError(
            f"Row {bad[0]} is of cell {labels[bad[0]]}, and there are {n_codevectors}."
        )
    indicator = sp.csc_array(
        (row_weights, labels, np.arange(n_rows + 1)), shape=(n_codevectors, n_rows)
    )
    total = indicator @ rows
    if sp.issparse(total):
        total = total.toarray()
    return np.bincount(labels, row_weights, minlength=n_codevectors), total

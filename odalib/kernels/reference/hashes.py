"""Hashes of rows: 64 bits that depend on what a row holds and on nothing else."""

import numpy as np
import scipy.sparse as sp

__all__ = ["entry_owners", "mix", "row_hashes", "uniforms"]

# Rows that are hashed at a time.
SPAN = 4096


def row_hashes(rows, starts, salts):
    """Sum over the entries of every row of a hash of each, shape (n,).

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    starts : array of int64 of shape (m,)
        Where batches of rows begin, ascending from zero on. Of a batch, the entries
        are first scaled by the power of two that takes the largest below one, so that
        units do not count.
    salts : array of uint64 of shape (d,)
        Added to the bits of the entries of every column.
    """
    n_rows = rows.shape[0]
    exponents = np.empty(n_rows, dtype=np.int64)
    hashes = np.empty(n_rows, dtype=np.uint64)
    for start, stop in zip(starts, [*starts[1:], n_rows], strict=True):
        exponents[start:stop] = -np.frexp(_largest(rows[start:stop]))[1]
    for start in range(0, n_rows, SPAN):
        span = slice(start, start + SPAN)
        hashes[span] = _hashes(rows[span], exponents[span], salts)
    return hashes


def uniforms(hashes, salt):
    """Uniform numbers in (0, 1] from hashes; another salt gives independent ones."""
    bits = mix(hashes + np.uint64(salt))
    return ((bits >> np.uint64(11)) + np.uint64(1)) * 2.0**-53


def mix(bits):
    """Finaliser of the splitmix64 generator: every input bit moves every output."""
    with np.errstate(over="ignore"):
        bits = bits + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def entry_owners(rows):
    """Row of every stored entry of a CSR matrix."""
    return np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))


def _largest(rows):
    values = rows.data if sp.issparse(rows) else rows
    spans = (values[start : start + SPAN] for start in range(0, len(values), SPAN))
    return max((float(np.abs(span).max(initial=0)) for span in spans), default=0.0)


def _hashes(rows, exponents, salts):
    if not sp.issparse(rows):
        entries = _hash_entries(rows, salts, exponents[:, np.newaxis])
        return entries.sum(axis=1, dtype=np.uint64)
    owners = entry_owners(rows)
    entries = _hash_entries(rows.data, salts[rows.indices], exponents[owners])
    sums = np.zeros(rows.shape[0], dtype=np.uint64)
    np.add.at(sums, owners, entries)
    return sums


def _hash_entries(values, salts, exponents):
    """Hash of entries; zero hashes to zero, so that sparse and dense agree."""
    scaled = np.ldexp(values.astype(np.float64), exponents)
    entries = mix(scaled.view(np.uint64) + salts)
    return np.where(scaled == 0, np.uint64(0), entries)

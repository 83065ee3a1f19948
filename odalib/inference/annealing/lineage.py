"""Which codevectors of a codebook came from which of the one before.

A lineage is a sparse matrix of shape (K_new, K_old): what a codevector passes on is in
its column, and sums over rows are inherited as ``lineage @ sums``. One that splits
leaves half to each part; those that merge leave all to the one they become.
"""

import numpy as np
import scipy.sparse as sp

__all__ = ["halves", "joined_by", "merged_into", "selected", "split_of"]


def selected(kept):
    """Lineage of the codevectors in the mask ``kept``."""
    return sp.identity(len(kept), format="csr")[np.flatnonzero(kept)]


def merged_into(groups, n_new=None):
    """Lineage of merging, given which codevector each one went into.

    Of ``n_new`` codevectors, some of which none went into; None for all that one did.
    """
    size = len(groups)
    shape = (int(groups.max()) + 1 if n_new is None else n_new, size)
    return sp.csr_matrix((np.ones(size), (groups, np.arange(size))), shape)


def split_of(chosen):
    """Lineage of `split`: the others, all first parts, all second parts."""
    stays, parts = np.flatnonzero(~chosen), np.flatnonzero(chosen)
    origins = np.concatenate([stays, parts, parts])
    shares = np.repeat([1.0, 0.5], [len(stays), 2 * len(parts)])
    places = np.arange(len(origins))
    return sp.csr_matrix((shares, (places, origins)), (len(origins), len(chosen)))


def joined_by(n_old, n_new):
    """Lineage of codevectors that some others join."""
    return sp.eye(n_old + n_new, n_old, format="csr")


def halves(lineage):
    """Whether each codevector is a half of one before, shape (K_new,)."""
    share = np.ones(lineage.shape[0])
    owner = np.repeat(np.arange(len(share)), np.diff(lineage.indptr))
    np.minimum.at(share, owner, lineage.data)
    return share < 1.0

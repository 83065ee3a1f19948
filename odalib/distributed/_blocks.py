"""Rows that live on Dask workers, block by block, and rounds of passes over them."""

from dataclasses import dataclass, field, replace
from operator import add
from typing import Any

import numpy as np

from odalib.distributed._extra import cloudpickle, dask
from odalib.distributed._intake import (
    check_reports,
    collection_blocks,
    report,
    running_client,
)
from odalib.estimators._threads import single_threaded_blas

__all__ = ["Blocks"]

# What is broadcast travels in tasks of no more bytes than this.
PIECE_BYTES = 2**22


@dataclass
class Tally:
    """What the rounds of a fit cost.

    Attributes
    ----------
    rounds : int
    bytes_moved : int
    """

    rounds: int = 0
    bytes_moved: int = 0


@dataclass(frozen=True)
class Blocks:
    """Blocks of rows that stay where they are, on workers.

    A round sends something small to all blocks, and adds up what each makes of it in
    pairs, in an order that the number of the blocks alone decides: the result is the
    same bits wherever they are. Nothing rests on data that only a worker holds: what
    one took with it when it died is computed anew from the graphs that the scheduler
    keeps, what was broadcast included.

    Attributes
    ----------
    futures : list of Future
        One per block: a tuple of the rows, an array of shape (n, d); the targets,
        an array of n, or None; and the weights, float64 of shape (n,).
    reports : list of Report
        What was found of every block.
    n_features : int
    dtype : dtype
        Of the rows, float32 or float64.
    feature_names : array of str of shape (d,) or None
    client : distributed.Client
    tally : Tally
        Of these blocks and of all that are made of them.
    """

    futures: list
    reports: list
    n_features: int
    dtype: np.dtype
    feature_names: Any
    client: Any
    tally: Tally = field(default_factory=Tally)

    @classmethod
    def of(cls, X, y=None, sample_weight=None, client=None):
        """Blocks of collections, computed, held by the workers and checked there.

        Parameters
        ----------
        X : dask array or data frame of shape (n, d)
            Chunk sizes may be unknown, and blocks may be empty.
        y : dask array, series or data frame, default=None
            Cut into blocks as X is.
        sample_weight : dask array or series, default=None
            Cut into blocks as X is; None for weights of one.
        client : distributed.Client, default=None
            None for the current one.

        Returns
        -------
        Blocks

        Raises
        ------
        TypeError
            For anything but dense Dask collections.
        ValueError
            For no client or a closed one, blocks that differ from those of X or cut
            across columns, entries that are no finite numbers, negative weights, and
            no rows at all; the message names the block.
        """
        client = running_client(client)
        delayed, dtype, names = collection_blocks(X, y, sample_weight)
        blocks = cls(client.compute(delayed), [], 0, dtype, names, client)._reported()
        check_reports(blocks.reports)
        return blocks

    def _reported(self):
        """Blocks with what is found of them; one round."""
        reports = self.reduce(report, combine=add)
        return replace(self, reports=reports, n_features=reports[0].n_features)

    @property
    def rounds(self):
        """Results that the client has waited for."""
        return self.tally.rounds

    @property
    def bytes_moved(self):
        """Bytes that rounds moved at the most.

        What was broadcast, once for every worker, and what blocks and pairs of them
        made of it, once each. Rows are not among it.
        """
        return self.tally.bytes_moved

    @property
    def lengths(self):
        """Rows of every block; some may have none."""
        return [one.n_rows for one in self.reports]

    @property
    def n_rows(self):
        """Number of rows of all blocks."""
        return sum(self.lengths)

    @property
    def total_weight(self):
        """Sum of the weights of all rows."""
        return sum(one.total_weight for one in self.reports)

    @property
    def weights_at_the_ends(self):
        """Weights of the least and the sum of all that the rows have, shape (2 n,).

        Of every block the least weight above zero, and the sum of its others.
        """
        least = np.array([one.least_weight for one in self.reports])
        total = np.array([one.total_weight for one in self.reports])
        return np.concatenate([least, total - least])

    @property
    def largest(self):
        """Largest absolute value of an entry of the rows."""
        return max(one.largest for one in self.reports)

    @property
    def largest_target(self):
        """Largest absolute value of the targets that are numbers."""
        return max(one.largest_target for one in self.reports)

    def usable(self):
        """Blocks that have rows, and those of positive weight alone."""
        blocks = self
        if any(one.n_weightless for one in self.reports):
            blocks = self.remade(_of_weight)
        kept = [
            (future, one)
            for future, one in zip(blocks.futures, blocks.reports, strict=True)
            if one.n_rows
        ]
        futures, reports = map(list, zip(*kept, strict=True))
        return replace(blocks, futures=futures, reports=reports)

    def remade(self, function, *broadcast):
        """Blocks that a function makes of these, and what is found of them; a round."""
        return replace(self, futures=self.map(function, *broadcast))._reported()

    def map(self, function, *broadcast, states=None):
        """Futures of ``function(block, *broadcast)``, which stay on the workers.

        Parameters
        ----------
        function : callable
            Of a module, or one that cloudpickle can send.
        *broadcast : objects
            The same for every block, and small beside the rows. Those that a later
            state rests on are kept by the scheduler for as long as it is.
        states : list of Future, default=None
            One per block; ``function(block, state, *broadcast)`` is then called.

        Returns
        -------
        list of Future
        """
        leaves, n_bytes = self._leaves(function, broadcast, states)
        self._count_sent(n_bytes)
        return self.client.compute(leaves, optimize_graph=False)

    def reduce(self, function, *broadcast, combine, states=None):
        """Combine ``function(block, *broadcast)`` of all blocks; one round.

        Parameters
        ----------
        function : callable
            As for `map`.
        *broadcast : objects
        combine : callable
            ``combine(first, second)`` of results of neighbours, associative up to
            rounding. It returns a new object.
        states : list of Future, default=None
            As for `map`.

        Returns
        -------
        result : object
            On the client.
        """
        parts, n_bytes = self._leaves(function, broadcast, states)
        combined = dask.delayed(combine, pure=False)
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            odd = parts[len(parts) - len(parts) % 2 :]
            parts = [combined(*pair) for pair in pairs] + odd
        future = self.client.compute(parts[0], optimize_graph=False)
        try:
            result = future.result()
        finally:
            # The client keeps an error for as long as its future, and the error these
            # blocks, which its traceback tells of.
            future.release()
        self.tally.rounds += 1
        self._count_sent(n_bytes)
        n_results = 2 * len(self.futures) - 1
        self.tally.bytes_moved += len(cloudpickle.dumps(result)) * n_results
        return result

    def _count_sent(self, n_bytes):
        self.tally.bytes_moved += n_bytes * len(self.client.nthreads())

    def _leaves(self, function, broadcast, states):
        """Delayed results of all blocks, and the bytes of what is broadcast."""
        sent, n_bytes = self._sent(broadcast)
        call = dask.delayed(_call, pure=False)
        if states is None:
            leaves = [call(function, sent, block) for block in self.futures]
        else:
            pairs = zip(self.futures, states, strict=True)
            leaves = [call(function, sent, block, state) for block, state in pairs]
        return leaves, n_bytes

    def _sent(self, broadcast):
        """Objects in tasks that make them anew wherever they are lost; their bytes."""
        data = cloudpickle.dumps(broadcast)
        pieces = [
            self.client.submit(_piece, data[start : start + PIECE_BYTES], pure=False)
            for start in range(0, len(data), PIECE_BYTES)
        ]
        return dask.delayed(_loaded, pure=False)(*pieces), len(data)


def _piece(data):
    return data


def _loaded(*pieces):
    return cloudpickle.loads(b"".join(pieces))


def _call(function, broadcast, block, *state):
    with single_threaded_blas():
        return function(block, *state, *broadcast)


def _of_weight(block):
    """Block without rows of no weight."""
    rows, targets, weights = block
    kept = weights > 0.0
    if kept.all():
        return block
    return rows[kept], None if targets is None else targets[kept], weights[kept]

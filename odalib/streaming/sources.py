"""Where the chunks of a stream come from, and how those learnt already are skipped."""

from itertools import chain, islice
from numbers import Integral
from pathlib import PurePath

from odalib.streaming.chunks import as_chunk, is_arrow, is_frame, n_rows

__all__ = ["open_source"]

# Rows of a chunk where nothing else cuts them: a few MB of a hundred columns.
BATCH_SIZE = 10_000


def open_source(batches, target, sample_weight, batch_size):
    """Find out how to read a stream.

    Parameters
    ----------
    batches : iterable of chunks, array, sparse matrix, data frame or pyarrow object
    target, sample_weight : str, list of str, array-like or None
    batch_size : int or None

    Returns
    -------
    source
        Has ``chunks(n_batches, n_samples)``, which skips so many batches of so many
        rows and returns an iterator of the chunks that follow; ``n_samples``, a
        number or None; and ``named``, the columns of targets and of weights.
    """
    if isinstance(batches, str | bytes | PurePath):
        raise TypeError(
            f"batches is {batches!r}, not a stream: open it with pandas.read_csv("
            "chunksize=...), pyarrow.dataset.dataset(...) or numpy.load(mmap_mode='r')."
        )
    if batch_size is not None and (
        isinstance(batch_size, bool)
        or not isinstance(batch_size, Integral)
        or batch_size < 1
    ):
        raise ValueError(
            f"batch_size={batch_size!r} must be a number of rows, at least 1."
        )
    if _is_lazy(batches):
        _check_uncut(batches, batch_size)
        return DaskBlocks(batches, target, sample_weight)
    if not is_arrow(batches) and _is_sliceable(batches):
        return SlicedRows(batches, target, sample_weight, batch_size or BATCH_SIZE)
    if _holds_rows(target) or _holds_rows(sample_weight):
        raise ValueError(
            "target and sample_weight can hold rows only where batches is one array "
            "or data frame; other chunks bring theirs as tuples (X, y) or (X, y, "
            "sample_weight), or as columns that are named."
        )
    if is_arrow(batches) and not hasattr(batches, "__next__"):
        parts = arrow_parts(batches, batch_size or BATCH_SIZE)
        return Parts(parts, target, sample_weight)
    _check_uncut(batches, batch_size)
    if not hasattr(batches, "__iter__"):
        raise TypeError(
            f"batches has to be an iterable of chunks, not a {type(batches).__name__}."
        )
    return GivenChunks(batches, target, sample_weight)


class SlicedRows:
    """An array, a memory map, a sparse matrix or a data frame, cut by rows."""

    def __init__(self, X, target, sample_weight, batch_size):
        self.n_samples = int(X.shape[0])
        self._batch_size = batch_size
        self._whole = X
        self.named, self._beside = _sorted_out(target, sample_weight)
        for name, part in zip(("target", "sample_weight"), self._beside, strict=True):
            if part is not None and len(part) != self.n_samples:
                raise ValueError(
                    f"batches has {self.n_samples} rows, but {name} has {len(part)}."
                )

    def chunks(self, n_batches, n_samples):
        """Return the chunks from row ``n_samples`` on."""
        _check_reach(n_samples, self.n_samples)
        return self._from(n_samples)

    def _from(self, n_samples):
        for start in range(n_samples, self.n_samples, self._batch_size):
            rows = slice(start, start + self._batch_size)
            chunk = as_chunk(_rows_of(self._whole, rows), *self.named)
            yield chunk.beside(
                *(
                    None if part is None else _rows_of(part, rows)
                    for part in self._beside
                )
            )


class DaskBlocks:
    """An array or a data frame of Dask, computed block by block."""

    n_samples = None

    def __init__(self, X, target, sample_weight):
        self.named, self._beside = _sorted_out(target, sample_weight)
        self._whole = X
        for name, part in zip(("target", "sample_weight"), self._beside, strict=True):
            if part is None:
                continue
            found = _n_blocks(part) if _is_lazy(part) else "no"
            if found != _n_blocks(X):
                raise ValueError(
                    f"batches has {_n_blocks(X)} blocks of Dask, but {name} has "
                    f"{found}; both have to be cut alike."
                )

    def chunks(self, n_batches, n_samples):
        """Return the chunks after the first ``n_batches``, which are not computed."""
        n_blocks = _n_blocks(self._whole)
        if n_batches > n_blocks:
            raise ValueError(
                f"The checkpoint has learnt {n_batches} batches, but there are only "
                f"{n_blocks} blocks. Give the same stream, or remove the checkpoint."
            )
        return (self._block(place) for place in range(n_batches, n_blocks))

    def _block(self, place):
        from dask import compute

        parts = (self._whole, *self._beside)
        X, *beside = compute(
            *(None if part is None else part.partitions[place] for part in parts)
        )
        return as_chunk(X, *self.named).beside(*beside)


class Parts:
    """Data of pyarrow, in parts that know their number of rows without being read.

    Parameters
    ----------
    parts : list of (callable, callable)
        For every part, a function that counts its rows, and one that returns an
        iterator of record batches, none of which reaches into the next part.
    target, sample_weight : str, list of str or None
    """

    def __init__(self, parts, target, sample_weight):
        self._parts = parts
        self.named = [target, sample_weight]

    @property
    def n_samples(self):
        """Number of rows."""
        return sum(count() for count, _ in self._parts)

    def chunks(self, n_batches, n_samples):
        """Return the chunks from row ``n_samples`` on; no part before it is read."""
        parts, left = iter(self._parts), n_samples
        begun = iter(())
        while left:
            count, read = next(parts, (None, None))
            if count is None:
                _check_reach(left, 0)
            size = count()
            if size <= left:
                left -= size
                continue
            begun = iter(read())
            while left > 0:
                left -= next(begun).num_rows
            _check_boundary(left)
        rest = (batch for _, read in parts for batch in read())
        return (as_chunk(batch, *self.named) for batch in chain(begun, rest))


class GivenChunks:
    """Any iterable of chunks; those learnt already are read again and left out."""

    n_samples = None

    def __init__(self, batches, target, sample_weight):
        self._batches = batches
        self.named = [target, sample_weight]

    def chunks(self, n_batches, n_samples):
        """Return the chunks after the first ``n_batches``."""
        items = iter(self._batches)
        skipped = [
            n_rows(item[0] if isinstance(item, tuple) else item)
            for item in islice(items, n_batches)
        ]
        if len(skipped) < n_batches or sum(skipped) != n_samples:
            raise ValueError(
                f"The checkpoint has learnt {n_samples} rows in {n_batches} batches, "
                f"but the stream begins with {sum(skipped)} rows in {len(skipped)}. "
                "Give the same stream from its beginning, or remove the checkpoint."
            )
        return (as_chunk(item, *self.named) for item in items)


def arrow_parts(batches, batch_size):
    """Cut a Table, a ParquetFile or a Dataset of pyarrow into parts."""
    if hasattr(batches, "to_pandas") and hasattr(batches, "to_batches"):
        return [
            (
                lambda: batches.num_rows,
                lambda: batches.to_batches(max_chunksize=batch_size),
            )
        ]
    if hasattr(batches, "iter_batches"):
        return [
            _row_group(batches, place, batch_size)
            for place in range(batches.metadata.num_row_groups)
        ]
    if hasattr(batches, "get_fragments"):
        return [
            _piece(piece, batches.schema, batch_size)
            for fragment in batches.get_fragments()
            for piece in _row_groups(fragment)
        ]
    raise TypeError(
        f"A {type(batches).__name__} of pyarrow is no stream; give a Dataset, a "
        "ParquetFile, a Table, or an iterable of record batches."
    )


def _row_group(file, place, batch_size):
    return (
        lambda: file.metadata.row_group(place).num_rows,
        lambda: file.iter_batches(batch_size, row_groups=[place]),
    )


def _row_groups(fragment):
    if hasattr(fragment, "split_by_row_group"):
        return fragment.split_by_row_group()
    return [fragment]


def _piece(fragment, schema, batch_size):
    # Reading ahead is what makes memory grow: 16 batches and 4 files unless told.
    return (
        lambda: _rows_in(fragment),
        lambda: fragment.to_batches(
            schema, batch_size=batch_size, batch_readahead=1, fragment_readahead=1
        ),
    )


def _rows_in(fragment):
    if hasattr(fragment, "row_groups"):
        # count_rows counts those of the whole file.
        return sum(group.num_rows for group in fragment.row_groups)
    return fragment.count_rows()


def _is_lazy(part):
    """Whether an object is a collection of Dask, without importing it."""
    return hasattr(part, "__dask_graph__")


def _n_blocks(collection):
    # Those of an array are also cut by columns, which belong together here.
    if hasattr(collection, "numblocks"):
        return collection.numblocks[0]
    return collection.npartitions


def _check_uncut(batches, batch_size):
    if batch_size is not None:
        raise ValueError(
            "batch_size is for arrays, data frames and Parquet data, which are cut "
            f"here; a {type(batches).__name__} comes in chunks of its own."
        )


def _sorted_out(target, sample_weight):
    """Names of columns, and rows that stand beside those of X; None for the others."""
    parts = target, sample_weight
    named = [None if _holds_rows(part) else part for part in parts]
    return named, [part if _holds_rows(part) else None for part in parts]


def _is_sliceable(batches):
    if is_frame(batches):
        return True
    return len(getattr(batches, "shape", ())) == 2 and hasattr(batches, "__getitem__")


def _holds_rows(part):
    """Whether a target or weights are rows, and not the names of columns."""
    if part is None or isinstance(part, str):
        return False
    if not hasattr(part, "__len__"):
        raise TypeError(f"{part!r} is neither the name of a column nor an array.")
    return hasattr(part, "shape") or not all(isinstance(name, str) for name in part)


def _rows_of(part, rows):
    return part.iloc[rows] if hasattr(part, "iloc") else part[rows]


def _check_reach(learnt, n_samples):
    if learnt > n_samples:
        raise ValueError(
            f"The checkpoint has learnt {learnt - n_samples} rows more than the stream "
            "has. Give the same stream, or remove the checkpoint."
        )


def _check_boundary(left):
    if left < 0:
        raise ValueError(
            "The checkpoint ends within a batch of this stream. Give the same stream "
            "with the same batch_size, or remove the checkpoint."
        )

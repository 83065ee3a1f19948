"""Dask collections taken apart into blocks, and what is checked of them."""

from dataclasses import dataclass

import numpy as np

from odalib.distributed._extra import Delayed, dask, dask_array, distributed
from odalib.kernels.association import largest_size

__all__ = [
    "Report",
    "check_collection",
    "check_column_blocks",
    "check_reports",
    "collection_blocks",
    "dtype_and_names",
    "report",
    "running_client",
]


def running_client(client):
    """Client that was given, or the current one; it runs and waits for results.

    Raises
    ------
    ValueError
        For no client, one that was closed, and an asynchronous one.
    TypeError
        For what is no client.
    """
    if client is None:
        try:
            client = distributed.Client.current()
        except ValueError:
            raise ValueError(
                "There is no Dask client. Start one, such as distributed.Client("
                "n_workers=2, threads_per_worker=1), or pass client=."
            ) from None
    if not isinstance(client, distributed.Client):
        raise TypeError(
            f"client must be a distributed.Client or None, got {type(client).__name__}."
        )
    if client.asynchronous:
        raise ValueError(
            "The Dask client is asynchronous; pass one made without asynchronous=True."
        )
    if client.status != "running":
        raise ValueError(
            f"The Dask client is {client.status}; start another, or pass client=."
        )
    return client


def collection_blocks(X, y, sample_weight):
    """Delayed blocks ``(rows, targets, weights)`` of collections, and what X says.

    Returns
    -------
    blocks : list of Delayed
        Each a tuple of an array of shape (n, d), the targets or None, and the weights
        as float64 of shape (n,).
    dtype : dtype
        Of the rows: float32 where all of X is, else float64.
    names : array of str of shape (d,) or None
    """
    rows, sizes = _parts("X", X)
    dtype, names = dtype_and_names(X)
    columns = [rows]
    for name, other in (("y", y), ("sample_weight", sample_weight)):
        parts = [None] * len(rows)
        if other is not None:
            parts, own_sizes = _parts(name, other)
            _check_aligned(name, sizes, own_sizes)
        columns.append(parts)
    labels = None if names is None else names.tolist()
    block = dask.delayed(_block, pure=False)
    blocks = [block(*parts, dtype, labels) for parts in zip(*columns, strict=True)]
    return blocks, dtype, names


def _parts(name, collection):
    """Delayed partitions of a collection, and the chunk sizes along the rows."""
    if isinstance(collection, dask_array.Array):
        _check_array(name, collection)
        # As it stands: a key that two computations optimise differently confuses Dask.
        parts = collection.to_delayed(optimize_graph=False)
        # Of one column block, as rows are.
        return list(parts.ravel()), collection.chunks[0]
    check_collection(
        name,
        collection,
        "make one with dask.array.from_array, or give it to the estimators of odalib "
        "itself",
    )
    if name == "X" and collection.ndim != 2:
        raise ValueError("X must be of 2 dimensions, got a series; take a data frame.")
    return list(collection.to_delayed()), (np.nan,) * collection.npartitions


def check_collection(name, collection, remedy):
    """Raise TypeError for anything but a Dask array, series or data frame.

    Parameters
    ----------
    name : str
    collection : object
    remedy : str
        What to do with what is in memory.
    """
    is_array = isinstance(collection, dask_array.Array)
    # Attributes of delayed objects are whatever one asks for.
    if is_array or (
        dask.is_dask_collection(collection)
        and not isinstance(collection, Delayed)
        and hasattr(collection, "dtypes")
    ):
        return
    raise TypeError(
        f"{name} must be a Dask array or data frame, got {type(collection).__name__}; "
        f"{remedy} where it is in memory."
    )


def _check_array(name, array):
    if array.ndim != 2 and (name == "X" or array.ndim != 1):
        raise ValueError(
            f"{name} must be of {'2' if name == 'X' else '1 or 2'} dimensions, got "
            f"{array.ndim}; reshape it."
        )
    check_column_blocks(name, array)
    if not isinstance(array._meta, np.ndarray):
        raise TypeError(
            f"{name} is made of {type(array._meta).__name__} blocks; only dense NumPy "
            f"blocks are taken, such as {name}.map_blocks(lambda block: "
            "block.toarray()) makes of sparse ones."
        )


def check_column_blocks(name, array):
    """Raise ValueError for an array that is cut across its columns."""
    if array.ndim == 2 and array.numblocks[1] > 1:
        raise ValueError(
            f"{name} is cut into {array.numblocks[1]} blocks of columns, and rows must "
            f"be whole; call {name}.rechunk({{1: -1}}) first."
        )


def _check_aligned(name, sizes, own_sizes):
    """Raise where chunks of rows are known to differ."""
    is_same = len(sizes) == len(own_sizes) and all(
        own == size or np.isnan(own) or np.isnan(size)
        for size, own in zip(sizes, own_sizes, strict=True)
    )
    if not is_same:
        raise ValueError(
            f"X and {name} are cut into blocks of different rows, {_shown(sizes)} and "
            f"{_shown(own_sizes)}; {_remedy(name)}"
        )


def _remedy(name):
    return (
        f"cut them alike, as {name} = {name}.rechunk({{0: X.chunks[0]}}) does for "
        "arrays of known chunks, and taking both from one data frame for others."
    )


def _shown(sizes):
    if np.isnan(sizes).any():
        return f"{len(sizes)} of unknown sizes"
    few = ", ".join(str(size) for size in sizes[:4])
    return f"({few}{', ...' if len(sizes) > 4 else ''})"


def dtype_and_names(X):
    """Dtype that rows are kept in, and the names of the columns or None."""
    if isinstance(X, dask_array.Array):
        kinds, names = {"X": X.dtype}, None
    else:
        kinds, names = dict(X.dtypes.items()), _names_of(X.columns)
    others = [
        name
        for name, dtype in kinds.items()
        if getattr(dtype, "kind", "O") not in "fiub"
    ]
    if others:
        raise ValueError(
            f"X must hold numbers; {', '.join(map(str, others[:5]))} "
            f"{'has' if len(others) == 1 else 'have'} dtype {kinds[others[0]]}."
        )
    is_single = all(dtype == np.float32 for dtype in kinds.values())
    return np.dtype(np.float32 if is_single and kinds else np.float64), names


def _names_of(columns):
    """Names of the columns of a data frame as an array; None where they are no text."""
    twice = columns[columns.duplicated()]
    if len(twice):
        raise ValueError(f"X has several columns of the name {twice[0]!r}; rename one.")
    are_text = [isinstance(name, str) for name in columns]
    if any(are_text) and not all(are_text):
        raise TypeError(
            "Some columns of X have names that are text and some have others, such as "
            f"{columns[are_text.index(False)]!r}; make all of them text."
        )
    return np.asarray(columns, dtype=object) if all(are_text) else None


def _block(rows, targets, weights, dtype, names):
    """Block of the partitions of X, y and the weights; arrays are not copied."""
    if names is not None and list(rows.columns) != names:
        raise ValueError(
            f"A partition of X has the columns {list(rows.columns)}, and the data "
            f"frame announces {names}."
        )
    rows = _as_array(rows, dtype)
    weights = np.ones(len(rows)) if weights is None else _as_array(weights, np.float64)
    if targets is not None:
        targets = targets.to_numpy() if hasattr(targets, "to_numpy") else targets
    return rows, targets, weights


def _as_array(part, dtype):
    """Partition as a C-contiguous array."""
    if hasattr(part, "to_numpy"):
        part = part.to_numpy(dtype=dtype, na_value=np.nan)
    return np.ascontiguousarray(part, dtype=dtype)


@dataclass(frozen=True)
class Report:
    """What a block says of itself.

    Attributes
    ----------
    n_rows, n_features : int
    n_weightless : int
        Rows of weight zero.
    total_weight, least_weight : float
        Sum of the weights, and the least of those above zero.
    largest, largest_target : float
        Largest absolute value of an entry, and of a target that is a number.
    problems : tuple of str
        What is wrong with it.
    """

    n_rows: int
    n_features: int
    n_weightless: int = 0
    total_weight: float = 0.0
    least_weight: float = 0.0
    largest: float = 0.0
    largest_target: float = 0.0
    problems: tuple[str, ...] = ()


def report(block):
    """Report of a block, as a list of one."""
    rows, targets, weights = block
    n_features = rows.shape[1] if rows.ndim == 2 else 0
    problems = (
        *_shape_problems(rows, targets, weights),
        *_value_problems(rows, targets, weights),
    )
    if problems or rows.size == 0:
        return [Report(len(rows), n_features, problems=problems)]
    n_weightless = int(np.count_nonzero(weights == 0.0))
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    least = float(np.min(weights, where=weights > 0.0, initial=total))
    largest_target = 0.0
    if targets is not None and targets.dtype.kind in "fiu":
        largest_target = float(np.abs(targets.astype(np.float64)).max())
    largest = float(largest_size(rows))
    numbers = (n_weightless, total, least, largest, largest_target)
    return [Report(len(rows), n_features, *numbers)]


def _shape_problems(rows, targets, weights):
    if rows.ndim != 2:
        yield f"X must be of 2 dimensions, got {rows.ndim}."
    for name, other in (("y", targets), ("sample_weight", weights)):
        if other is not None and len(other) != len(rows):
            yield (
                f"X has {len(rows)} rows and {name} has {len(other)}; {_remedy(name)}"
            )
    if weights.ndim != 1:
        yield f"sample_weight must be of one dimension, got {weights.ndim}."


def _value_problems(rows, targets, weights):
    if not np.isfinite(rows).all():
        yield "X contains NaN or infinity; drop those rows or fill them in first."
    if targets is not None and not _has_values(targets):
        yield "y contains NaN or infinity; drop those rows first."
    if not np.isfinite(weights).all():
        yield "sample_weight contains NaN or infinity."
    elif (weights < 0.0).any():
        yield "sample_weight contains negative weights."


def _has_values(targets):
    """Whether no target is missing or infinite."""
    if targets.dtype.kind == "f":
        return bool(np.isfinite(targets).all())
    return targets.dtype.kind != "O" or all(map(_is_there, targets.ravel()))


def _is_there(value):
    """Whether an object is a value: None, NaN and pandas.NA are none."""
    is_same = value == value
    return value is not None and isinstance(is_same, bool | np.bool_) and bool(is_same)


def check_reports(reports):
    """Raise ValueError for what is wrong with any block.

    Parameters
    ----------
    reports : list of Report
        Of all blocks.
    """
    faulty = [place for place, one in enumerate(reports) if one.problems]
    if faulty:
        tail = (
            f" ({len(faulty) - 1} more blocks have problems.)"
            if len(faulty) > 1
            else ""
        )
        first = faulty[0]
        raise ValueError(f"Block {first}: {reports[first].problems[0]}{tail}")
    widths = sorted({one.n_features for one in reports})
    if len(widths) > 1:
        raise ValueError(f"Blocks of X have different numbers of columns, {widths}.")
    if widths[0] == 0:
        raise ValueError("X has no columns; give at least one feature.")
    if sum(one.n_rows for one in reports) == 0:
        raise ValueError("X has no rows; all of its blocks are empty.")
    total = sum(one.total_weight for one in reports)
    if not np.isfinite(total):
        raise ValueError("sample_weight sums to more than a float holds; divide it.")
    if total == 0.0:
        raise ValueError(
            "sample_weight is zero for every row of X; give at least one a positive "
            "weight."
        )

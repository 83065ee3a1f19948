"""Chunks of a stream: what the items of a source hold, as X, y and weights."""

from typing import NamedTuple

__all__ = ["Chunk", "Columns", "as_chunk", "is_arrow", "is_frame", "n_rows"]


class Chunk(NamedTuple):
    """Rows to learn from.

    Attributes
    ----------
    X : array-like of shape (n_samples, n_features)
        Or whatever else the first step of a pipeline takes, such as a list of texts.
    y : array-like of shape (n_samples,) or None
    sample_weight : array-like of shape (n_samples,) or None
    """

    X: object
    y: object = None
    sample_weight: object = None

    @property
    def n_samples(self):
        """Number of rows."""
        return n_rows(self.X)

    def beside(self, y, sample_weight):
        """Return the same rows with what is not None of targets and weights.

        Raises
        ------
        ValueError
            For other lengths.
        """
        found = {"y": y, "sample_weight": sample_weight}
        found = {name: part for name, part in found.items() if part is not None}
        for name, part in found.items():
            if n_rows(part) != self.n_samples:
                raise ValueError(
                    f"X has {self.n_samples} rows, but {name} has {n_rows(part)}."
                )
        return self._replace(**found)


def is_arrow(item):
    """Whether an object is one of pyarrow, without importing it."""
    return type(item).__module__.partition(".")[0] == "pyarrow"


def is_frame(item):
    """Whether an object is a data frame of pandas or polars."""
    # Columns last: a lazy frame, which is none, warns where it is asked for them.
    return (hasattr(item, "iloc") or hasattr(item, "get_column")) and hasattr(
        item, "columns"
    )


def as_chunk(item, target, sample_weight):
    """Take an item of a source apart.

    Parameters
    ----------
    item : tuple, data frame, record batch or array-like
        Tuples are ``(X, y)`` or ``(X, y, sample_weight)``.
    target : str, list of str or None
        Columns of a frame that are targets.
    sample_weight : str or None
        Column of a frame that holds weights.

    Returns
    -------
    Chunk

    Raises
    ------
    ValueError
        For a frame that lacks these columns, parts of other lengths, and columns
        named where a chunk has none.
    """
    if is_arrow(item):
        item = _to_pandas(item)
    if is_frame(item):
        return _of_frame(item, target, sample_weight)
    if target is not None or sample_weight is not None:
        raise ValueError(
            "target and sample_weight name columns, but the chunk is a "
            f"{type(item).__name__}; give data frames, or chunks that are tuples "
            "(X, y) or (X, y, sample_weight)."
        )
    if not isinstance(item, tuple):
        return Chunk(item)
    if len(item) not in (2, 3):
        raise ValueError(
            f"A chunk that is a tuple is (X, y) or (X, y, sample_weight), but one has "
            f"{len(item)} items."
        )
    X, y, sample_weight = (*item, None)[:3]
    return Chunk(_to_pandas(X) if is_arrow(X) else X).beside(y, sample_weight)


class Columns:
    """Columns of the first chunk, which every later chunk has to have.

    Attributes
    ----------
    known : list or int or None
        Names, or the number where there are none; None before the first chunk, and
        where chunks have neither.
    """

    def __init__(self, known=None):
        self.known = known

    def check(self, X, place):
        """Note the columns of the first chunk; refuse others later on.

        Parameters
        ----------
        X : array-like
            Rows of a chunk.
        place : int
            Of the chunk in the stream.

        Raises
        ------
        ValueError
            Naming the columns that are missing, new, or in another order.
        """
        found = _columns(X)
        if self.known is None:
            self.known = found
        if found != self.known:
            raise ValueError(
                f"Chunk {place} has other columns than the first: "
                f"{_difference(self.known, found)}."
            )


def _columns(X):
    if is_frame(X):
        return list(X.columns)
    shape = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) == 2 else None


def _difference(known, found):
    if not isinstance(known, list) or not isinstance(found, list):
        return f"{_described(found)}, where the first chunk had {_described(known)}"
    missing = [name for name in known if name not in found]
    new = [name for name in found if name not in known]
    if not missing and not new:
        return f"the same in another order, {found} for {known}"
    parts = [f"missing {missing}"] * bool(missing) + [f"new {new}"] * bool(new)
    return ", ".join(parts)


def _described(columns):
    if columns is None:
        return "no columns"
    if isinstance(columns, list):
        return f"columns {columns}"
    return f"{columns} columns without names"


def _of_frame(frame, target, sample_weight):
    taken = [target] if isinstance(target, str) else list(target or [])
    taken += [] if sample_weight is None else [sample_weight]
    missing = [name for name in taken if name not in frame.columns]
    if missing:
        raise ValueError(
            f"A chunk has no column {', '.join(map(repr, missing))} for target and "
            f"sample_weight; its columns are {list(frame.columns)}."
        )
    if not taken:
        return Chunk(frame)
    X = frame.drop(columns=taken) if hasattr(frame, "iloc") else frame.drop(taken)
    y = None if target is None else frame[target].to_numpy()
    weights = None if sample_weight is None else frame[sample_weight].to_numpy()
    return Chunk(X, y, weights)


def _to_pandas(item):
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Batches of pyarrow are handed to estimators as data frames of pandas, "
            'which is not installed: pip install "odalib[streaming]".'
        ) from error
    return item.to_pandas()


def n_rows(part):
    """Count the rows of what a chunk holds."""
    return int(part.shape[0]) if hasattr(part, "shape") else len(part)

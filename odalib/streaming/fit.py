"""Teach an estimator a stream of chunks."""

from contextlib import contextmanager
from numbers import Integral

import numpy as np

from odalib.streaming.checkpoint import (
    Checkpoint,
    CheckpointFile,
    describe,
    differences,
)
from odalib.streaming.chunks import Columns
from odalib.streaming.prequential import as_scores, by_name
from odalib.streaming.progress import progress_bar
from odalib.streaming.result import Records, StreamResult
from odalib.streaming.sources import open_source
from odalib.streaming.steps import is_fitted

__all__ = ["fit_stream"]


def fit_stream(
    estimator,
    batches,
    *,
    target=None,
    sample_weight=None,
    classes=None,
    batch_size=None,
    scoring=None,
    checkpoint=None,
    every=100,
    progress=False,
):
    """Teach an estimator a stream that need not fit into memory.

    Calls ``partial_fit`` for every chunk, in order. On the way it predicts each chunk
    before it is learnt (``scoring``), saves itself (``checkpoint``) and says how far
    it is (``progress``). One chunk is in memory at a time.

    Parameters
    ----------
    estimator : estimator
        With ``partial_fit``; for several steps, a `StreamingPipeline`. It is the one
        that learns, and goes on from what it has learnt before.
    batches : iterable of chunks, array, sparse matrix, data frame or Dataset
        Chunks are arrays or sparse matrices ``X``, tuples ``(X, y)`` or ``(X, y,
        sample_weight)``, data frames of pandas or polars, or record batches of
        pyarrow: what ``pandas.read_csv(..., chunksize=...)`` or a generator yields.
        Memory maps and other arrays, data frames, and of pyarrow a Dataset, a
        ParquetFile or a Table, are cut into chunks here. Record batches become data
        frames of pandas. Arrays and data frames of Dask are computed block by block.
    target : str, list of str or array-like, default=None
        Column of every chunk that holds the targets, or several; where ``batches`` is
        an array or a data frame, also an array of as many targets. None where chunks
        bring theirs, and where there are none. Beside a collection of Dask, one that
        is cut alike.
    sample_weight : str or array-like, default=None
        Weights of the rows, likewise.
    classes : array-like of shape (n_classes,), default=None
        All labels that may come, for classifiers that have to be told.
    batch_size : int, default=None
        Rows of a chunk, where they are cut here; None for 10,000. Chunks of Parquet
        data end with their row groups and may be smaller.
    scoring : str, callable, list of str or dict, default=None
        Scores by their names in scikit-learn, or ``scorer(estimator, X, y)``; of
        every chunk that is predicted before it is learnt, which the first is not
        unless the estimator comes fitted. 'accuracy', 'neg_log_loss', 'r2' and other
        means over rows are those of all rows together; others, such as 'roc_auc',
        are averaged over chunks.
    checkpoint : path-like, default=None
        File in which to keep the state, and to find it: where there is one, its state
        is loaded into the estimator, the chunks that it has learnt are skipped, and
        all goes on with the same bits as without the interruption. Give the same
        stream from its beginning. Arrays, Parquet data and blocks of Dask are skipped
        without being read, other chunks are read again. The one before is kept beside
        it, with ``.previous`` appended, and is used with a warning where the last is
        torn. Remove the files to begin anew. They are pickles: load none that you
        would not run.
    every : int, default=100
        Chunks between two checkpoints; there is one at the end as well. What a kill
        costs is at most the time of so many chunks.
    progress : bool, default=False
        Whether to show a bar of rows, of their number per second and of the latest
        scores, which takes tqdm: ``pip install "odalib[streaming]"``.

    Returns
    -------
    result : StreamResult
        The estimator, numbers of batches and rows, and the scores with their curves.

    Raises
    ------
    TypeError
        For an estimator without ``partial_fit``, and for what is no stream.
    ValueError
        For a stream without rows, chunks with other columns than the first, a
        checkpoint of another estimator, other parameters, another call (``target``,
        ``sample_weight``, ``classes``, ``batch_size``, ``scoring``) or another
        stream, and whatever the estimator refuses. The estimator keeps what it had
        learnt before that chunk, and the last checkpoint stays.
    ImportError
        Where tqdm or, for pyarrow, pandas is needed and not installed.

    Warns
    -----
    UserWarning
        Where the last checkpoint is torn, so that the one before it is used.

    See Also
    --------
    StreamingPipeline : Several steps that learn from a stream.
    StreamResult : What is returned.

    Examples
    --------
    >>> import numpy as np
    >>> from odalib import ADFProbitClassifier
    >>> from odalib.streaming import fit_stream
    >>> def chunks():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(50):
    ...         X = rng.standard_normal((100, 2))
    ...         yield X, X[:, 0] > 0
    >>> result = fit_stream(
    ...     ADFProbitClassifier(), chunks(), classes=[False, True], scoring="accuracy"
    ... )
    >>> result.n_samples, result.scores["accuracy"] > 0.98
    (5000, True)
    """
    if not hasattr(estimator, "partial_fit"):
        raise TypeError(
            f"{type(estimator).__name__} has no partial_fit, and so cannot learn from "
            "a stream. Steps that have it make a StreamingPipeline."
        )
    if not isinstance(every, Integral) or every < 1:
        raise ValueError(f"every={every!r} must be a number of chunks, at least 1.")
    source = open_source(batches, target, sample_weight, batch_size)
    scorers = by_name(scoring)
    run = StreamFit(estimator, classes, Records(as_scores(scorers)), checkpoint)
    run.note(
        columns=source.named,
        classes=None if classes is None else np.asarray(classes, dtype=object).tolist(),
        batch_size=None if batch_size is None else int(batch_size),
        scoring={
            name: scorer if isinstance(scorer, str) else type(scorer).__qualname__
            for name, scorer in scorers.items()
        },
    )
    chunks = run.resume(source)
    n_resumed = run.n_batches
    with progress_bar(progress, source, run.n_samples) as bar:
        for chunk in run.checked(chunks):
            run.learn(chunk)
            bar.advance(chunk.n_samples, run.records)
            if run.n_batches % every == 0:
                run.save()
    if run.n_samples == 0:
        raise ValueError(
            "The stream is empty: there is nothing to learn from it. A reader that was "
            "used is exhausted; open it anew."
        )
    if run.n_batches > n_resumed and run.n_batches % every:
        run.save()
    return StreamResult(
        estimator,
        run.n_batches,
        run.n_samples,
        n_resumed,
        run.records.total(),
        run.records,
    )


class StreamFit:
    """The state of a fit between two chunks.

    Parameters
    ----------
    estimator : estimator
    classes : array-like or None
    records : Records
    path : path-like or None
        Of the checkpoint.
    """

    def __init__(self, estimator, classes, records, path):
        self.estimator = estimator
        self.records = records
        self.n_batches = self.n_samples = 0
        self._columns = Columns()
        self._known = {} if classes is None else {"classes": classes}
        self._file = None if path is None else CheckpointFile(path)
        self._description = None if path is None else describe(estimator)

    def note(self, **words):
        """Note what the call was told, which a checkpoint has to agree with."""
        if self._file is not None:
            texts = {f"fit_stream({name})": repr(it) for name, it in words.items()}
            self._description |= {name: (it, it) for name, it in texts.items()}

    def resume(self, source):
        """Take over the checkpoint, where there is one; return the chunks after it."""
        kept = None if self._file is None else self._file.read()
        if kept is None:
            return source.chunks(0, 0)
        self._check_same(kept)
        # Before anything changes: it may be another stream.
        chunks = source.chunks(kept.n_batches, kept.n_samples)
        self.estimator.__dict__ = vars(kept.estimator)
        self.n_batches, self.n_samples = kept.n_batches, kept.n_samples
        self.records.n_samples = kept.n_scored
        self.records.figures = kept.figures
        self._columns = Columns(kept.columns)
        return chunks

    def checked(self, chunks):
        """Yield chunks whose columns are those of the first; errors name the chunk."""
        while True:
            with _named(self.n_batches):
                chunk = next(chunks, None)
                if chunk is None:
                    return
                self._columns.check(chunk.X, self.n_batches)
            yield chunk

    def learn(self, chunk):
        """Predict a chunk and score that, then learn it."""
        n_samples = self.n_samples + chunk.n_samples
        with _named(self.n_batches):
            if chunk.n_samples:
                if self._is_scored(chunk):
                    self.records.measure(self.estimator, chunk, n_samples)
                self._partial_fit(chunk)
        self.n_batches += 1
        self.n_samples = n_samples

    def save(self):
        """Write a checkpoint, where one is asked for."""
        if self._file is None:
            return
        self._file.write(
            Checkpoint(
                self._description,
                self.estimator,
                self.n_batches,
                self.n_samples,
                self._columns.known,
                self.records.n_samples,
                self.records.figures,
            )
        )

    def _is_scored(self, chunk):
        if not self.records.figures or not is_fitted(self.estimator):
            return False
        return chunk.sample_weight is None or np.any(chunk.sample_weight)

    def _partial_fit(self, chunk):
        options = dict(self._known)
        if chunk.sample_weight is not None:
            options["sample_weight"] = chunk.sample_weight
        targets = () if chunk.y is None else (chunk.y,)
        self.estimator.partial_fit(chunk.X, *targets, **options)

    def _check_same(self, kept):
        found = differences(kept.description, self._description)
        if found:
            raise ValueError(
                f"The checkpoint {self._file.path} does not belong to this fit: "
                f"{'; '.join(found)}. Give it the same, or name another file."
            )


@contextmanager
def _named(n_batches):
    """Add to an error which chunk it came with."""
    try:
        yield
    except Exception as error:
        error.add_note(
            f"It came with chunk {n_batches} of the stream, counted from 0; the "
            "estimator has learnt those before it."
        )
        raise

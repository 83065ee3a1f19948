"""How far a stream has come, as a bar on the terminal."""

from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(wanted, source, n_samples):
    """Give a bar of rows, which does nothing unless it is wanted.

    Parameters
    ----------
    wanted : bool
    source : source
        Says how many rows there are, or None.
    n_samples : int
        Rows that are learnt already.

    Yields
    ------
    bar
        Has ``advance(n_samples, records)``.
    """
    if not wanted:
        yield NoBar()
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            'progress=True draws with tqdm: pip install "odalib[streaming]".'
        ) from error
    with tqdm(
        total=source.n_samples, initial=n_samples, unit=" rows", unit_scale=True
    ) as bar:
        yield RowsBar(bar)


class NoBar:
    """Stands in where no bar is wanted."""

    def advance(self, n_samples, records):
        """Do nothing."""


class RowsBar:
    """Rows, and the scores of the latest batch beside them.

    Parameters
    ----------
    bar : tqdm
    """

    def __init__(self, bar):
        self._bar = bar

    def advance(self, n_samples, records):
        """Go on by so many rows."""
        if records.scored:
            self._bar.set_postfix(records.latest(), refresh=False)
        self._bar.update(n_samples)

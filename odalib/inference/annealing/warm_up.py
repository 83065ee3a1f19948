"""The beginning of a stream: rows kept until there are enough to anneal."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from odalib.inference.annealing.batch import Batch, appended, join
from odalib.inference.annealing.draws import distinct_rows
from odalib.inference.annealing.grown import fit_layers, refit_layers
from odalib.inference.annealing.model import Model
from odalib.inference.annealing.schedule import Settings
from odalib.inference.annealing.stochastic import running_sums
from odalib.inference.annealing.stream import Stream
from odalib.inference.saving import SavesFields

__all__ = ["WarmUp"]

# A stream is annealed in memory on its first rows: this many, or this many per
# codevector.
WARM_UP_ROWS, WARM_UP_RATIO = 2048, 16


@dataclass(frozen=True)
class WarmUp(SavesFields):
    """The first rows of a stream, kept until there are enough to begin.

    Attributes
    ----------
    settings : Settings
    dtype : type of float
        Of the published codevectors.
    pieces : tuple of Batch
    n_seen : float
        Weight of the rows.
    """

    settings: Settings
    dtype: type[np.floating]
    pieces: tuple[Batch, ...] = ()
    n_seen: float = 0.0

    def learn(self, batch):
        """As `Stream.learn`; the stream begins at a fixed number of rows."""
        waiting = self._n_rows
        number = self._number
        size = max(WARM_UP_ROWS, WARM_UP_RATIO * number)
        head = batch[: size - waiting]
        warm_up = replace(
            self,
            pieces=appended(self.pieces, head),
            n_seen=float(running_sums(self.n_seen, head.weights)[-1]),
        )
        if waiting + len(head) == size:
            rest = batch[size - waiting :]
            rows = join(warm_up.pieces)
            groups = warm_up._groups(rows)
            distinct, totals = distinct_rows(rows.rows, rows.weights, groups)
            if len(distinct) < number:
                # Too few to anneal: they wait as one row each for others to come.
                few = replace(rows[distinct], weights=totals)
                warm_up = replace(warm_up, pieces=(few,))
                return warm_up.learn(rest) if len(rest) else warm_up
            layers = fit_layers(rows, self.settings)
            stream = Stream(self.settings, self.dtype, layers, warm_up.n_seen)
            return stream.learn(rest)
        if warm_up._anchor_rows == self._anchor_rows and "_anchor" in self.__dict__:
            warm_up.__dict__["_anchor"] = self._anchor
        return warm_up

    def check(self, rows):
        """Refuse rows that a resolution cannot take."""
        self.settings.check(rows)

    def flushed(self):
        """Itself, as no row waits to be learnt."""
        return self

    def with_settings(self, settings):
        """Begin under other settings."""
        divergence = self.settings.divergence
        return replace(self, settings=replace(settings, divergence=divergence))

    @property
    def followed(self):
        """None, as the rows are annealed anew with every row."""
        return None

    @property
    def n_targets(self):
        """Number of values of a regression."""
        return self.pieces[0].targets.shape[1]

    @property
    def _n_rows(self):
        return sum(map(len, self.pieces))

    @property
    def _number(self):
        """Number of codevectors at the finest resolution."""
        return self.settings.chain[-1].schedule.n_codevectors

    def _groups(self, rows):
        """Classes of rows, or None."""
        return rows.targets if self.settings.local_models.by_class else None

    @cached_property
    def _anchor_rows(self):
        """Number of the first rows that are annealed: all but the last few.

        No fewer than it takes to meet every class.
        """
        local_models = self.settings.chain[-1].local_models
        n_rows = _anchor_size(self._n_rows, local_models.anchor_growth)
        if self.pieces and self.settings.local_models.by_class:
            _, first = np.unique(join(self.pieces).targets, return_index=True)
            n_rows = max(n_rows, int(first.max()) + 1)
        return n_rows

    @cached_property
    def _anchor(self):
        """Layers for the first rows."""
        return fit_layers(join(self.pieces)[: self._anchor_rows], self.settings)

    @cached_property
    def layers(self):
        """Layers for the rows so far.

        The anchor, finished on all rows by hard assignments: asking after every
        row does not anneal for every row.
        """
        if self._anchor_rows == self._n_rows:
            return self._anchor
        return refit_layers(join(self.pieces), self._anchor)

    @cached_property
    def model(self):
        """Model of the rows so far."""
        return Model.from_layers(self.layers, self.dtype, self.n_seen)


def _anchor_size(n_rows, growth):
    """Largest number of a nearly geometric series that is not larger."""
    size = 0
    while (larger := size + max(1, int(growth * size))) <= n_rows:
        size = larger
    return size

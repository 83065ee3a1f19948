"""Annealing of a stream: a state that takes rows and is never changed in place."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from odalib.inference.annealing.batch import Batch, appended, join
from odalib.inference.annealing.grown import learn_level
from odalib.inference.annealing.layer import Layer
from odalib.inference.annealing.model import Model
from odalib.inference.annealing.schedule import Settings
from odalib.inference.annealing.stochastic import running_sums
from odalib.inference.saving import SavesFields

__all__ = ["Stream", "restart"]

# Rows of one step at the most: larger batches are cut, since a step towards the
# means of very many rows forgets all before them.
STEP_ROWS = 256


@dataclass(frozen=True)
class Stream(SavesFields):
    """Where a stream stands.

    Attributes
    ----------
    settings : Settings
    dtype : type of float
        Of the published codevectors.
    layers : tuple of Layer
        Coarse to fine; one where there is one resolution.
    n_seen : float
        Weight of all rows, those in the queue included.
    queue : tuple of Batch
        Rows that wait until there are ``batch_size`` of them.
    """

    settings: Settings
    dtype: type[np.floating]
    layers: tuple[Layer, ...]
    n_seen: float
    queue: tuple[Batch, ...] = ()

    @property
    def codebook(self):
        """Codebook of the finest resolution."""
        return self.layers[-1].codebook

    @property
    def followed(self):
        """Codebook that has followed the rows; see `WarmUp.followed`."""
        return self.codebook

    @property
    def n_targets(self):
        """Number of values of a regression."""
        return self.layers[-1].cells.n_targets

    @property
    def n_steps(self):
        """Steps taken."""
        return self.layers[-1].n_steps

    @cached_property
    def model(self):
        """Model after all rows, those in the queue included."""
        return Model.from_layers(self.flushed().layers, self.dtype, self.n_seen)

    def learn(self, batch):
        """Stream after some more rows; how they are cut into calls has no effect.

        Parameters
        ----------
        batch : Batch

        Returns
        -------
        Stream
        """
        size = self.settings.stream_batch_size
        layers, queue, start = self.layers, self.queue, 0
        waiting = sum(map(len, queue))
        if waiting and waiting + len(batch) >= size:
            start = size - waiting
            due = join((*queue, batch[:start].kept()))
            layers, queue, waiting = self._taken(layers, due), (), 0
        if not waiting and len(batch) - start >= size:
            stop = start + (len(batch) - start) // size * size
            layers, start = self._taken(layers, batch[start:stop]), stop
        if start < len(batch):
            queue = appended(queue, batch[start:])
        n_seen = float(running_sums(self.n_seen, batch.weights)[-1])
        return replace(self, n_seen=n_seen, layers=layers, queue=queue)

    def check(self, rows):
        """Refuse rows that a resolution cannot take."""
        for layer in self.layers:
            if layer.settings.features is None:
                layer.settings.divergence.check_domain(rows)
            layer.settings.view(rows)

    def with_settings(self, settings):
        """Stream that goes on under other settings; what was chosen stays."""
        # A callback may have ended the fit before the last resolution.
        layers = tuple(
            layer.with_settings(level)
            for layer, level in zip(self.layers, settings.chain, strict=False)
        )
        settings = replace(settings, divergence=self.settings.divergence)
        return replace(self, settings=settings, layers=layers)

    def flushed(self):
        """Stream in which the queue has been learnt."""
        if not self.queue:
            return self
        layers = self._taken(self.layers, join(self.queue))
        return replace(self, layers=layers, queue=())

    def _taken(self, layers, batch):
        """Layers after some batches, in steps of bounded size."""
        starts = _step_starts(len(batch), self.settings.stream_batch_size)
        if len(layers) == 1 and layers[0].is_plain:
            return (layers[0].follow(batch, starts),)
        for start, stop in pairwise([*starts.tolist(), len(batch)]):
            layers = _step(layers, batch[start:stop])
        return layers


def _step_starts(n_rows, batch_size):
    """Where steps begin: each batch is cut into as few as `STEP_ROWS` allows, evenly.

    So that none is of a single row where others are not.
    """
    if batch_size <= STEP_ROWS:
        return np.arange(0, n_rows, batch_size)
    starts = [
        first + _even_parts(min(batch_size, n_rows - first))
        for first in range(0, n_rows, batch_size)
    ]
    return np.concatenate(starts)


def _even_parts(size):
    """Where the parts of a batch begin."""
    n_parts = -(-size // STEP_ROWS)
    return np.arange(n_parts) * size // n_parts


def _step(layers, batch):
    """Layers after a step, each row in a child of its cell at the layer above."""
    taken, cells = [], None
    for layer in layers:
        layer, cells = layer.take(batch, cells)
        taken.append(layer)
    return tuple(taken)


def restart(state, model, settings, batch=None, n_jobs=1):
    """Stream that goes on from a level of the path of a stream or its warm-up.

    Parameters
    ----------
    state : Stream or WarmUp
    model : Model
        Of the level.
    settings : Settings
    batch : Batch, default=None
        Rows that its local models learn; None leaves those of the model.
    n_jobs : int

    Returns
    -------
    Stream
    """
    *coarse, finest = state.flushed().layers
    level = model.tree.levels[-1]
    solution = replace(
        finest.solution,
        codebook=model.codebook,
        temperature=level.quantiser.temperature,
        hierarchy=model.hierarchy,
    )
    kept = finest.with_settings(settings.chain[-1]).settings
    if batch is None:
        cells, census, age = level.cells, level.census, state.n_seen
        codebook = solution.codebook
        finest = Layer(kept, solution, codebook, cells, census, finest.depth, age)
    else:
        above = model.tree.descend(batch.rows, n_jobs)[0][:-1]
        parents = above[-1] if above else None
        finest = learn_level(batch, kept, solution, parents, finest.depth, n_jobs)
    return Stream(settings, state.dtype, (*coarse, finest), state.n_seen)

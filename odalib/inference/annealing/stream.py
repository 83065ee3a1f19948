"""Annealing of a stream: a state that takes rows and is never changed in place."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from odalib.inference.annealing.bifurcation import covectors_of, normalise, split
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.draws import distinct_rows, row_uniforms
from odalib.inference.annealing.fit import Solution, finish_on, fit_rows
from odalib.inference.annealing.merging import merge_close, merge_down
from odalib.inference.annealing.model import Model
from odalib.inference.annealing.relocate import HALF_STEP, refill_and_exchange
from odalib.inference.annealing.schedule import Settings
from odalib.inference.annealing.stochastic import (
    INITIAL_AGE,
    step_size,
    stochastic_step,
)

__all__ = ["Stream", "WarmUp", "restart"]

# Rows of one step at the most: larger batches are cut, since a step towards the
# means of very many rows forgets all before them.
STEP_ROWS = 256
# Rows of one window; a level has one for the start and one for every pass of the
# power iteration.
WINDOW_ROWS, WINDOWS = 1024, 3
# A stream is annealed in memory on its first rows: this many, or this many per
# codevector.
WARM_UP_ROWS, WARM_UP_RATIO = 2048, 16
# Before that, what is asked for is annealed anew each time that the rows have grown by
# this share.
ANCHOR_GROWTH = 0.1

# Rows and their weights.
Piece = tuple[np.ndarray | sp.csr_matrix, np.ndarray]


@dataclass(frozen=True)
class Stream:
    """Where a stream stands.

    Attributes
    ----------
    settings : Settings
    dtype : numpy.dtype
        Of the published codevectors.
    solution : Solution
        Of the fit in memory that the stream began with: the divergence, the shift
        and the temperature stay.
    codebook : Codebook
        In shifted coordinates.
    age : float
        Weight of the rows that the codebook averages over.
    n_seen : float
        Weight of all rows, those in the queue included.
    level_rows : int
        Rows of the present level.
    axis_sums : array of shape (K, d)
    axis_weight : array of shape (K,)
        Sums for the present pass of the power iteration.
    covectors : array of shape (K, d) or None
        Multipliers of the present pass; None for random signs.
    queue : tuple of (rows, weights)
        Rows that wait until there are ``batch_size`` of them.
    n_steps : int
    """

    settings: Settings
    dtype: np.dtype
    solution: Solution
    codebook: Codebook
    age: float
    n_seen: float
    level_rows: int = 0
    axis_sums: np.ndarray | float = 0.0
    axis_weight: np.ndarray | float = 0.0
    covectors: np.ndarray | None = None
    queue: tuple[Piece, ...] = ()
    n_steps: int = 0

    @classmethod
    def begin(cls, settings, solution, n_seen, dtype):
        """Stream that goes on from a fit in memory to rows of weight ``n_seen``."""
        return cls(settings, dtype, solution, solution.codebook, n_seen, n_seen)

    @cached_property
    def model(self):
        """Model after all rows, those in the queue included."""
        stream = self.flushed()
        model = Model.from_solution(self.solution, self.dtype, self.n_seen)
        if stream.n_steps == 0:
            return model
        model = model.with_codebook(stream.codebook, self.solution.temperature)
        return replace(
            model,
            hierarchy=[stream.codebook],
            n_iter=model.n_iter + stream.n_steps,
        )

    @property
    def _wanted(self):
        """Number of codevectors to hold; a chosen one stays."""
        if self.settings.choose:
            return len(self.solution.codebook)
        return self.settings.schedule.n_codevectors

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k != "model"}

    def learn(self, X, row_weights):
        """Stream after some more rows; how they are cut into calls has no effect.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        row_weights : array of shape (n,)
            Positive.

        Returns
        -------
        Stream
        """
        stream = replace(self, n_seen=_running_sum(self.n_seen, row_weights))
        size = self.settings.stream_batch_size
        waiting, start = _n_rows(self.queue), 0
        while waiting + len(row_weights) - start >= size:
            stop = start + size - waiting
            piece = (_float64(X[start:stop]), row_weights[start:stop])
            rows, weights = _join((*stream.queue, piece))
            stream = replace(stream, queue=())._take(rows, weights)
            start, waiting = stop, 0
        if start < len(row_weights):
            queue = _appended(stream.queue, X[start:], row_weights[start:])
            stream = replace(stream, queue=queue)
        return stream

    def flushed(self):
        """Stream in which the queue has been learnt."""
        if not self.queue:
            return self
        return replace(self, queue=())._take(*_join(self.queue))

    def _take(self, rows, row_weights):
        """Stream after one batch, in steps of bounded size."""
        stream = self
        for start in range(0, len(row_weights), STEP_ROWS):
            span = slice(start, start + STEP_ROWS)
            stream = stream._step(rows[span], row_weights[span])
        return stream

    def _step(self, rows, row_weights):
        if self.solution.shift is not None:
            rows = (rows.toarray() if sp.issparse(rows) else rows) - self.solution.shift
        weight = float(row_weights.sum())
        multipliers = self.covectors
        if multipliers is None:
            multipliers = 2.0 * row_uniforms(rows, self.settings.seed) - 1.0
        codebook, moments = stochastic_step(
            rows,
            row_weights,
            self.solution.divergence,
            self.codebook,
            self.solution.temperature,
            step_size(weight, self.age, self.settings.memory),
            multipliers,
        )
        level_rows = self.level_rows + len(row_weights)
        stream = replace(
            self,
            codebook=codebook,
            age=self.age + weight,
            level_rows=level_rows,
            axis_sums=self.axis_sums + moments.axis,
            axis_weight=self.axis_weight + moments.weight,
            n_steps=self.n_steps + 1,
        )
        windows = level_rows // WINDOW_ROWS
        if windows == self.level_rows // WINDOW_ROWS:
            return stream
        divergence = self.solution.divergence
        axes = normalise(divergence, codebook, stream.axis_sums, stream.axis_weight)
        if windows < WINDOWS:
            covectors = covectors_of(divergence, codebook, axes)
            return replace(stream, covectors=covectors, axis_sums=0.0, axis_weight=0.0)
        return stream._end_level(axes)

    def _end_level(self, axes):
        """Stream at the start of a level, its codevectors split, merged and moved."""
        codebook = self.codebook
        kept = self.settings.schedule.not_idle(codebook.weights)
        codebook, axes = codebook.select(kept), axes.select(kept)
        before = codebook
        if not self.solution.hardened:
            codebook = self._bifurcate(codebook, axes)
        else:
            divergence = self.solution.divergence
            wanted = self._wanted
            if len(codebook) > wanted:
                codebook, _ = merge_down(codebook, divergence, wanted)
            else:
                codebook = refill_and_exchange(codebook, axes, divergence, wanted)
        changed = codebook is not before
        return replace(
            self,
            codebook=codebook,
            age=min(self.age, INITIAL_AGE) if changed else self.age,
            level_rows=0,
            axis_sums=0.0,
            axis_weight=0.0,
            covectors=None,
        )

    def _bifurcate(self, codebook, axes):
        """Merge what is nearer than the temperature, split what is past it."""
        chosen = axes.critical > self.solution.temperature
        room = self.settings.schedule.n_codevectors - len(codebook)
        if chosen.sum() > room:
            chosen[np.argsort(-axes.critical, kind="stable")[max(room, 0) :]] = False
        if chosen.any():
            steps = HALF_STEP * axes.critical
            divergence = self.solution.divergence
            return split(codebook, divergence, axes.directions, steps, chosen)
        threshold = self.settings.schedule.merge_tol * self.solution.temperature
        merged, groups = merge_close(codebook, self.solution.divergence, threshold)
        return merged if len(merged) < len(groups) else codebook


@dataclass(frozen=True)
class WarmUp:
    """The first rows of a stream, kept until there are enough to begin.

    Attributes
    ----------
    settings : Settings
    dtype : numpy.dtype
        Of the published codevectors.
    pieces : tuple of (rows, weights)
    n_seen : float
        Weight of the rows.
    """

    settings: Settings
    dtype: np.dtype
    pieces: tuple[Piece, ...] = ()
    n_seen: float = 0.0

    def learn(self, X, row_weights):
        """As `Stream.learn`; the stream begins at a fixed number of rows."""
        waiting = _n_rows(self.pieces)
        size = max(WARM_UP_ROWS, WARM_UP_RATIO * self.settings.schedule.n_codevectors)
        head = min(size - waiting, len(row_weights))
        warm_up = replace(
            self,
            pieces=_appended(self.pieces, X[:head], row_weights[:head]),
            n_seen=_running_sum(self.n_seen, row_weights[:head]),
        )
        if waiting + head == size:
            rows, weights = _join(warm_up.pieces)
            distinct, totals = distinct_rows(rows, weights)
            if len(distinct) < self.settings.schedule.n_codevectors:
                # Too few to anneal: they wait as one row each for others to come.
                pieces = ((rows[distinct], totals),)
                warm_up = replace(warm_up, pieces=pieces)
                if head == len(row_weights):
                    return warm_up
                return warm_up.learn(X[head:], row_weights[head:])
            solution = fit_rows(rows, weights, self.settings)
            stream = Stream.begin(self.settings, solution, warm_up.n_seen, self.dtype)
            return stream.learn(X[head:], row_weights[head:])
        if _anchor_size(waiting + head) == _anchor_size(waiting):
            warm_up.__dict__.update(self._kept_anchor)
        return warm_up

    @property
    def _kept_anchor(self):
        return {"_anchor": self._anchor} if "_anchor" in self.__dict__ else {}

    @cached_property
    def _anchor(self):
        """Solution for the first rows, all but the last few."""
        rows, weights = _join(self.pieces)
        n_first = _anchor_size(len(weights))
        return fit_rows(rows[:n_first], weights[:n_first], self.settings)

    @cached_property
    def solution(self):
        """Solution for the rows so far.

        The anchor, finished on all rows by hard assignments: asking after every
        row does not anneal for every row.
        """
        rows, weights = _join(self.pieces)
        if _anchor_size(len(weights)) == len(weights):
            return self._anchor
        return finish_on(rows, weights, self._anchor, self.settings)

    @cached_property
    def model(self):
        """Model of the rows so far."""
        return Model.from_solution(self.solution, self.dtype, self.n_seen)

    def __getstate__(self):
        cached = ("solution", "model", "_anchor")
        return {k: v for k, v in self.__dict__.items() if k not in cached}


def restart(state, model, settings):
    """Stream that goes on from a model of the rows of a stream or its warm-up."""
    quantiser = model.quantiser
    solution = replace(
        state.solution,
        codebook=quantiser.codebook,
        temperature=quantiser.temperature,
        hierarchy=model.hierarchy,
    )
    return Stream.begin(settings, solution, state.n_seen, state.dtype)


def _anchor_size(n_rows):
    """Largest number of a nearly geometric series that is not larger."""
    size = 0
    while (larger := size + max(1, int(ANCHOR_GROWTH * size))) <= n_rows:
        size = larger
    return size


def _running_sum(start, weights):
    """Sum in the order of the weights, which does not depend on how they are cut."""
    return float(np.cumsum(np.append(start, weights))[-1])


def _float64(rows):
    return rows.astype(np.float64, copy=False)


def _n_rows(pieces):
    return sum(len(weights) for _, weights in pieces)


def _appended(pieces, X, row_weights):
    """Pieces and a copy of some more rows.

    Pieces of no more rows than the new one are joined with it, so that their number
    stays logarithmic when rows come one by one.
    """
    new = (_float64(X).copy(), row_weights.copy())
    while pieces and len(pieces[-1][1]) <= len(new[1]):
        new, pieces = _join((pieces[-1], new)), pieces[:-1]
    return (*pieces, new)


def _join(pieces):
    """Rows and weights of several pieces as one."""
    rows, weights = zip(*pieces, strict=True)
    if len(rows) == 1:
        return rows[0], weights[0]
    if all(sp.issparse(piece) for piece in rows):
        joined = sp.vstack(rows, format="csr")
    else:
        joined = np.concatenate(
            [piece.toarray() if sp.issparse(piece) else piece for piece in rows]
        )
    return joined, np.concatenate(weights)

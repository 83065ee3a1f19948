"""Alternating runs of the subject and its peer, and the threads they ran with."""

import os
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter

from threadpoolctl import threadpool_limits


@dataclass
class Runs:
    """Results and wall-clock seconds of one contestant, one entry per seed."""

    results: list = field(default_factory=list)
    seconds: list = field(default_factory=list)

    def record(self, task, seed):
        """Run ``task(seed)`` and keep its result and its time."""
        start = perf_counter()
        result = task(seed)
        self.seconds.append(perf_counter() - start)
        self.results.append(result)

    @property
    def median_seconds(self):
        """Median time of a run: one disturbed run does not move it."""
        return median(self.seconds)


def alternate(subject, peer, seeds, n_threads=1):
    """Run subject and peer in turn for every seed.

    Who goes first changes from seed to seed, so that a drift of the machine's
    speed and warm caches favour neither. Both run with equally many threads, by
    default one: a pool that waits by spinning, as KMeans' does, takes up to fifty
    times as long when anything else runs, which would flatter the subject.

    Parameters
    ----------
    subject, peer : callable
        Called with the seed.
    seeds : iterable of int
        One turn of both for each.
    n_threads : int, default=1
        Limit of the thread pools of BLAS and OpenMP while either runs.

    Returns
    -------
    subject_runs, peer_runs : Runs
        In the order of ``seeds``.
    """
    subject_runs, peer_runs = Runs(), Runs()
    pairs = [(subject_runs, subject), (peer_runs, peer)]
    with threadpool_limits(n_threads):
        for seed in seeds:
            for runs, task in pairs:
                runs.record(task, seed)
            pairs.reverse()
    return subject_runs, peer_runs


def describe_threads(n_threads=1):
    """Return one line on the threads of both contestants and on the machine."""
    load = os.getloadavg()[0]
    return f"threads: {n_threads}, processors: {os.cpu_count()}, load: {load:.1f}"

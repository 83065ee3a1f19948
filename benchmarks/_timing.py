"""Alternating runs of the subject and its peer, and the threads they ran with."""

import os
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter

from threadpoolctl import threadpool_info


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


def alternate(subject, peer, seeds):
    """Run subject and peer in turn for every seed.

    Who goes first changes from seed to seed, so that a drift of the machine's
    speed and warm caches favour neither.

    Parameters
    ----------
    subject, peer : callable
        Called with the seed.
    seeds : iterable of int
        One turn of both for each.

    Returns
    -------
    subject_runs, peer_runs : Runs
        In the order of ``seeds``.
    """
    subject_runs, peer_runs = Runs(), Runs()
    pairs = [(subject_runs, subject), (peer_runs, peer)]
    for seed in seeds:
        for runs, task in pairs:
            runs.record(task, seed)
        pairs.reverse()
    return subject_runs, peer_runs


def describe_threads():
    """Return one line on the processors and thread pools of this process."""
    pools = {
        f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()
    }
    return f"{os.cpu_count()} processors; threads: {', '.join(sorted(pools))}"

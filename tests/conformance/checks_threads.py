"""Checks of estimators that several threads share."""

import copy
import sys
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from threading import Barrier, Event
from time import perf_counter

import numpy as np

from .checks_persistence import reload_mapped
from .comparing import answers, assert_same_bits, learnt, leaves, needs
from .interrupting import paused, points_of

KIND = "threads"

N_THREADS = 8


@contextmanager
def _switching_often():
    """Let threads take turns all the time."""
    held = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(held)


def _at_once(calls):
    """Results of calls that begin at the same time in as many threads."""
    barrier = Barrier(len(calls))

    def run(call):
        barrier.wait()
        return call()

    with _switching_often(), ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


@needs()
def check_threads_are_answered_alike(subject):
    """Eight threads have the bits that one has, also where they are first to ask."""
    X, y = subject.groups(96)
    parts = np.array_split(X, N_THREADS)
    models = {"memory-mapped": (subject.make().fit(X[:24], y[:24]), reload_mapped)}
    if subject.has("partial_fit"):
        stream = subject.feed(subject.make(), X[:24], y[:24])
        models["copied streaming"] = stream, copy.deepcopy
    for state, (model, renewed) in models.items():
        # In a copy nothing has been worked out when threads ask.
        shared = renewed(model)
        expected = [answers(model, part) for part in parts]
        attributes = learnt(model)
        calls = [
            lambda it=shared, part=part: (answers(it, part), learnt(it))
            for part in parts
        ]
        for (said, read), right in zip(_at_once(calls), expected, strict=True):
            what = f"of the {state} estimator to several threads"
            assert_same_bits(said, right, f"answers {what}")
            assert_same_bits(read, attributes, f"attributes {what}")


@needs("partial_fit")
def check_threads_that_teach_take_turns(subject):
    """Of two calls at the same time none is lost, and who asks meets no half of one."""
    (X, y), (Z, z) = subject.groups(24, seed=1), subject.groups(24, seed=2)
    start = subject.make().fit(*subject.groups(24, seed=0))
    said = meanwhile = answers(start, X)
    begun = perf_counter()
    in_turn = [copy.deepcopy(start) for _ in range(2)]
    for model, calls in zip(in_turn, ([(X, y), (Z, z)], [(Z, z), (X, y)]), strict=True):
        for rows, targets in calls:
            subject.feed(model, rows, targets)
    # What a call takes four times over, and it has not come between: it waits.
    patience = perf_counter() - begun
    counted = copy.deepcopy(start)
    computes = np.flatnonzero(points_of(lambda: subject.feed(counted, X, y), counted))
    shared = copy.deepcopy(start)
    reached, released = Event(), Event()

    def wait():
        reached.set()
        released.wait()

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(
            paused,
            lambda: subject.feed(shared, X, y),
            shared,
            computes[len(computes) // 2],
            wait,
        )
        first.add_done_callback(lambda _: reached.set())
        reached.wait()
        try:
            second = threads.submit(subject.feed, shared, Z, z)
            # It has time enough, where nothing keeps it from coming between.
            if wait_for([second], patience).not_done:
                meanwhile = answers(shared, X)
        finally:
            released.set()
        first.result(), second.result()
    assert_same_bits(meanwhile, said, "answers while it is taught")
    found = leaves(shared)
    assert any(found == leaves(model) for model in in_turn), (
        "two calls at the same time have not taught what they teach in turn"
    )

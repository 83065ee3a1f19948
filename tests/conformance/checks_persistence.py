"""Checks of copies, parameters and fitted attributes."""

import copy
import gc
import html
import inspect
import pickle
import sys
import tempfile
from functools import cache
from pathlib import Path

import cloudpickle
import joblib
import numpy as np
import skops.io
from sklearn.base import clone

from .comparing import (
    answers,
    assert_same_bits,
    assert_same_model,
    learnt,
    leaves,
    needs,
)

KIND = "clone and pickle"
SAVED = "persistence"


def reload_mapped(model):
    """Save and load as joblib does for its workers: arrays are read-only maps."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        joblib.dump(model, Path(folder) / "model")
        return joblib.load(Path(folder) / "model", mmap_mode="r")


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "joblib with memory maps": reload_mapped,
}


@needs()
def check_copies_answer_alike(subject):
    """A fitted estimator and its copies have the same bits."""
    X, y = subject.cloud()
    model = subject.make().fit(X, y)
    for name, duplicate in COPIES.items():
        assert_same_model(duplicate(model), model, X, f"a copy by {name}")


@needs("partial_fit")
def check_copies_in_mid_stream_go_on_alike(subject):
    """A copy taken in mid-stream learns what follows to the same bits."""
    X, y = subject.cloud(601)
    for beginning, make in subject.beginnings():
        model, copies = make(), {name: make() for name in COPIES}
        for rows in np.array_split(np.arange(601), 5):
            subject.feed(model, X[rows], y[rows])
            for name, copied in copies.items():
                copies[name] = COPIES[name](subject.feed(copied, X[rows], y[rows]))
        for name, copied in copies.items():
            assert_same_model(copied, model, X, f"{beginning}, copied by {name}")


def _learnt_states(subject):
    """Yield states in which an estimator may be saved once it has learnt, by name."""
    for state, model in _learnt_once(subject).items():
        yield state, copy.deepcopy(model)


@cache
def _learnt_once(subject):
    X, y = subject.cloud(60)
    if not subject.has("partial_fit"):
        return {"fitted": subject.make().fit(X, y)}
    return {name: subject.feed(make(), X, y) for name, make in subject.beginnings()}


@needs(kind=SAVED)
def check_every_way_to_pickle_saves_the_same(subject):
    """Pickles of all protocols, of cloudpickle and compressed ones hold the same."""
    for state, model in [("unfitted", subject.make()), *_learnt_states(subject)]:
        saved = {
            f"protocol {number}": pickle.dumps(model, number)
            for number in range(2, pickle.HIGHEST_PROTOCOL + 1)
        }
        saved["cloudpickle"] = cloudpickle.dumps(model)
        loaded = {name: pickle.loads(stored) for name, stored in saved.items()}
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            joblib.dump(model, Path(folder) / "model", compress=3)
            loaded["joblib"] = joblib.load(Path(folder) / "model")
        expected = leaves(vars(copy.deepcopy(model)))
        for name, copied in loaded.items():
            assert leaves(vars(copied)) == expected, f"{name} of the {state} estimator"


@needs(kind=SAVED)
def check_mapped_files_are_not_written_to(subject):
    """A model whose arrays are maps of a file, writable ones, leaves the file alone."""
    X, y = subject.cloud(60)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "model"
        for state, model in _learnt_states(subject):
            joblib.dump(model, path)
            before = path.read_bytes()
            mapped = joblib.load(path, mmap_mode="r+")
            answers(mapped, X)
            if subject.has("partial_fit"):
                subject.feed(mapped, X, y)
            assert path.read_bytes() == before, f"{state}: the model writes to it"
            del mapped


@needs(kind=SAVED)
def check_skops_asks_for_no_other_types(subject):
    """skops saves it, and trusts all but its package and what a user has put in."""
    X, y = subject.cloud(60)
    package = type(subject.estimator).__module__.partition(".")[0]
    given = _unknown_to_skops(skops.io.dumps(subject.make()))
    for state, model in _learnt_states(subject):
        saved = skops.io.dumps(model)
        unknown = _unknown_to_skops(saved)
        other = [t for t in unknown - given if t.partition(".")[0] != package]
        assert not other, f"{state}: skops does not trust {other}"
        copied = skops.io.loads(saved, trusted=sorted(unknown))
        if subject.has("partial_fit"):
            subject.feed(copied, X, y)
            subject.feed(model, X, y)
        assert_same_model(copied, model, X, f"{state}, by skops")


def _unknown_to_skops(saved):
    return set(skops.io.get_untrusted_types(data=saved))


@needs(kind=SAVED)
def check_answers_are_not_saved(subject):
    """What a model has been asked adds nothing to what is saved of it."""
    X, y = subject.cloud(60)
    model = subject.make().fit(X, y)
    before = len(pickle.dumps(model))
    answers(model, X)
    learnt(model)
    added = len(pickle.dumps(model)) - before
    assert added <= 0, f"once it has answered, saving it takes {added} bytes more"


@needs("partial_fit", kind=SAVED)
def check_what_is_saved_does_not_grow_with_the_rows(subject):
    """A stream that goes on after a fit keeps no number for every row."""
    X, y = subject.cloud(128)
    *_, (_, make) = subject.beginnings()
    model, sizes = make(), []
    for _ in range(12):
        subject.feed(model, X, y)
        sizes.append(len(pickle.dumps(model)))
    rows_between = 8 * len(X)
    grown = sizes[11] - sizes[3]
    assert grown < 4 * rows_between, f"{rows_between} rows make it {grown} bytes larger"


@needs("partial_fit")
def check_a_copy_is_independent(subject):
    """What a copy learns in mid-stream does not reach the original."""
    X, y = subject.cloud()
    model = subject.feed(subject.make(), X, y)
    copied = copy.deepcopy(model)
    before = leaves(vars(model))
    subject.feed(copied, *subject.groups())
    assert leaves(vars(model)) == before, "a deep copy shares state with its original"


@needs()
def check_a_clone_is_unfitted(subject):
    """A clone of a fitted estimator has its parameters and nothing learnt."""
    X, y = subject.groups()
    model = subject.make().fit(X, y)
    if subject.has("partial_fit"):
        subject.feed(model, X, y)
    copied = clone(model)
    assert set(vars(copied)) <= set(vars(subject.make())), "a clone has learnt"
    assert_same_bits(copied.get_params(), model.get_params(), "a clone's parameters")


@needs()
def check_only_parameters_before_fit(subject):
    """``__init__`` stores its arguments, as they are, and nothing that is learnt."""
    model = subject.make()
    defaults = inspect.signature(type(model)).parameters
    marked = [n for n in dir(model) if n.endswith("_") and not n.startswith("_")]
    present = [n for n in marked if hasattr(model, n)]
    assert not present, f"attributes of a fitted estimator before fit: {present}"
    assert set(model.get_params(deep=False)) == set(defaults), "unknown parameters"
    marker = object()
    for name in defaults:
        assert getattr(type(model)(**{name: marker}), name) is marker, (
            f"__init__ does not store {name} as it is"
        )


@needs()
def check_what_is_learnt_ends_in_an_underscore(subject):
    """After ``fit``, public attributes are parameters or end in an underscore."""
    X, y = subject.groups()
    model = subject.make().fit(X, y)
    known = set(vars(subject.make()))
    public = {name for name in set(vars(model)) - known if not name.startswith("_")}
    unmarked = sorted(name for name in public if not name.endswith("_"))
    assert not unmarked, f"fitted attributes without an underscore: {unmarked}"


@needs()
def check_parameters_are_not_written_to(subject):
    """No method replaces or alters a parameter."""
    X, y = subject.groups()
    model = subject.make()
    given = model.get_params()
    values = copy.deepcopy(given)
    model.fit(X, y)
    if subject.has("partial_fit"):
        subject.feed(model, X, y)
    answers(model, X)
    for name, value in model.get_params().items():
        assert value is given[name], f"the parameter {name} was replaced"
    assert_same_bits(model.get_params(), values, "a parameter was altered")


@needs()
def check_set_params_after_fit_waits_for_the_next_fit(subject):
    """Parameters round-trip, and a new seed does not touch a fitted model."""
    X, y = subject.groups()
    model = subject.make().fit(X, y)
    before = answers(model, X)
    model.set_params(**model.get_params())
    if subject.has("random_state"):
        model.set_params(random_state=123)
    assert_same_bits(answers(model, X), before, "set_params has changed the answers")


def _work_to_read(model, names):
    """Count the calls that the package of `model` makes to give these attributes."""
    package = type(model).__module__.partition(".")[0]
    made = 0

    def count(frame, event, _):
        nonlocal made
        caller = frame.f_back if event == "call" else frame
        own = caller.f_globals.get("__name__", "").partition(".")[0] == package
        made += own and event in ("call", "c_call")

    held = sys.getprofile()
    # A collection would call what has nothing to do with the attributes.
    gc.disable()
    sys.setprofile(count)
    try:
        for name in names:
            getattr(model, name)
    finally:
        sys.setprofile(held)
        gc.enable()
    return made


@needs()
def check_representations_work_and_compute_nothing(subject):
    """``repr`` and the HTML diagram work in every state and learn nothing anew.

    The diagram reads every attribute that ends in an underscore, so none of
    these may be costly once it has been read.
    """
    X, y = subject.cloud(601)
    states = {
        "unfitted": subject.make(),
        "fitted": subject.make().fit(X, y),
    }
    if subject.has("partial_fit"):
        states["streaming"] = subject.feed(subject.make(), X, y)
    for name, model in states.items():
        shown = repr(model), html.unescape(model._repr_html_())
        assert all(type(model).__name__ in text for text in shown), name
        # Before scikit-learn 1.9 the diagram reads none; what is kept once read is now.
        names = list(learnt(model))
        before = leaves(vars(model))
        work = _work_to_read(model, names)
        allowed = 20 * (1 + len(names))
        assert work <= allowed, f"{work} calls to show the {name} estimator"
        assert leaves(vars(model)) == before, f"showing changes the {name} estimator"

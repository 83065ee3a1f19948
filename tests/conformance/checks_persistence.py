"""Checks of copies, parameters and fitted attributes."""

import copy
import gc
import html
import inspect
import pickle
import sys
import tempfile
from pathlib import Path

import joblib
import numpy as np
from sklearn.base import clone

from .comparing import (
    answers,
    assert_same_bits,
    assert_same_model,
    learnt,
    leaves,
    needs,
)


def _reload_mapped(model):
    """Save and load as joblib does for its workers: arrays are read-only maps."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        joblib.dump(model, Path(folder) / "model")
        return joblib.load(Path(folder) / "model", mmap_mode="r")


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "joblib with memory maps": _reload_mapped,
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
        for name, duplicate in COPIES.items():
            model, copied = make(), make()
            for rows in np.array_split(np.arange(601), 5):
                subject.feed(model, X[rows], y[rows])
                subject.feed(copied, X[rows], y[rows])
                copied = duplicate(copied)
            assert_same_model(copied, model, X, f"{beginning}, copied by {name}")


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

"""distributed.EPProbitClassifier on Dask workers against EPProbitClassifier."""

import os
import pickle
import signal

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

import odalib
from odalib.distributed import EPProbitClassifier
from odalib.distributed._ep_rounds import Problems

from ..problems import noisy_plane

X, Y = noisy_plane(240, 4)
WEIGHTS = np.random.default_rng(0).integers(0, 3, size=240).astype(float)
# A narrow prior, which few rounds settle.
NARROW = {"prior_variance": 0.05}


@pytest.fixture
def client(threads):
    with threads.as_current():
        yield threads


def arrays(n_blocks, *columns):
    size = -(-len(X) // n_blocks)
    return [da.from_array(c, (size, *c.shape[1:])) for c in columns]


def assert_same(model, expected):
    assert type(model) is odalib.EPProbitClassifier
    np.testing.assert_array_equal(model.classes_, expected.classes_)
    for name in ("coef_", "intercept_", "covariance_", "log_evidence_"):
        value, other = getattr(model, name), getattr(expected, name)
        np.testing.assert_allclose(value, other, rtol=1e-8, atol=1e-8, err_msg=name)
    assert model.converged_
    assert model.get_params() == expected.get_params()


@pytest.mark.parametrize("n_blocks", [1, 3, 16])
def test_any_number_of_blocks_gives_what_memory_gives(client, n_blocks):
    rows, labels = arrays(n_blocks, X, Y)
    model = EPProbitClassifier(**NARROW).fit(rows, labels)
    assert_same(model, odalib.EPProbitClassifier(**NARROW).fit(X, Y))


def test_weights_are_repetitions_and_zero_leaves_out(client):
    rows, labels, weights = arrays(3, X, Y, WEIGHTS)
    model = EPProbitClassifier(**NARROW, tol=1e-10).fit(rows, labels, weights)
    repeated = np.repeat(np.arange(len(X)), WEIGHTS.astype(int))
    expected = odalib.EPProbitClassifier(**NARROW, tol=1e-10)
    assert_same(model, expected.fit(X[repeated], Y[repeated]))


def test_frame_of_unknown_and_empty_partitions_some_without_a_class(client):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        species=np.where(Y, "ursus", "canis")
    )
    frame = frame.sort_values("species", ignore_index=True)
    kept = frame["a"].abs() < 2.0
    # The second of four partitions keeps none of its rows.
    kept[60:120] = False
    collection = dd.from_pandas(frame.assign(kept=kept), npartitions=4)
    collection = collection[collection["kept"]]
    model = EPProbitClassifier(**NARROW).fit(
        collection[list("abcd")], collection["species"]
    )
    few = frame[kept]
    expected = odalib.EPProbitClassifier(**NARROW).fit(
        few[list("abcd")], few["species"]
    )
    assert_same(model, expected)
    np.testing.assert_array_equal(model.feature_names_in_, list("abcd"))
    np.testing.assert_array_equal(
        model.predict(few[list("abcd")]), expected.predict(few[list("abcd")])
    )


def test_bits_do_not_depend_on_the_number_of_workers(client):
    rows, labels = arrays(3, X, Y)
    model = EPProbitClassifier(**NARROW).fit(rows, labels)
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": ":0"}
    with Client(n_workers=1, set_as_default=False, **options) as single:
        other = EPProbitClassifier(**NARROW, client=single).fit(rows, labels)
    for name in ("coef_", "intercept_", "covariance_", "log_evidence_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name))
    assert model.residuals_ == other.residuals_


def test_what_is_fitted_is_arrays_alone(client):
    rows, labels = arrays(2, X.astype(np.float32), Y)
    model = EPProbitClassifier(**NARROW).fit(rows, labels)
    assert model.coef_.dtype == np.float32
    data = pickle.dumps(model)
    assert b"dask" not in data
    assert b"distributed" not in data
    loaded = pickle.loads(data)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_failure_to_converge_is_told_of_the_line_that_called(client):
    with pytest.warns(ConvergenceWarning, match="after 1 iterations") as caught:
        EPProbitClassifier(max_iter=1).fit(*arrays(2, X, Y))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("is_frame", [False, True])
def test_labels_of_one_column_are_warned_of_once(client, is_frame):
    rows, column = arrays(2, X, Y[:, np.newaxis])
    if is_frame:
        column = column.to_dask_dataframe(columns=["label"])
    estimator = EPProbitClassifier(**NARROW)
    with pytest.warns(DataConversionWarning) as caught:
        model = estimator.fit(rows, column)
    assert len(caught) == 1
    assert_same(model, odalib.EPProbitClassifier(**NARROW).fit(X, Y))
    assert estimator.n_rounds_ > 5
    # Three results of a round of two blocks, each of a Gaussian at the least.
    assert estimator.bytes_moved_ > 3 * 8 * 5 * 5 * model.n_iter_.max()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.ones(240), "all of one class, 1.0"),
        (np.linspace(0.1, 1.0, 240), "Unknown label type: continuous"),
        (np.array(["a", 1] * 120, dtype=object), "objects of type"),
        (np.array(["a", "b"] * 60 + [1, 2] * 60, dtype=object), "text in others"),
    ],
)
def test_labels_that_are_no_classes_are_refused(client, labels, message):
    with pytest.raises(ValueError, match=message):
        EPProbitClassifier().fit(*arrays(2, X, labels))


def test_values_whose_squares_overflow_are_refused(client):
    with pytest.raises(ValueError, match="scale X"):
        EPProbitClassifier().fit(*arrays(2, X * 1e200, Y))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "blocked"}, "solver='blocked' visits rows in turn"),
        ({"tol": 0.0}, "'tol' parameter of EPProbitClassifier"),
        ({"prior_variance": [1.0, 2.0]}, "one variance for every feature"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(client, parameters, message):
    with pytest.raises(ValueError, match=message):
        EPProbitClassifier(**parameters).fit(*arrays(2, X, Y))


def test_worker_killed_in_mid_fit_costs_no_correctness(client, processes, monkeypatch):
    rows, labels = arrays(4, X, Y)
    undisturbed = EPProbitClassifier(**NARROW).fit(rows, labels)
    plain, rounds = Problems._round, []

    def killing(self, orders):
        rounds.append(orders)
        if len(rounds) == 8:
            os.kill(min(processes.run(os.getpid).values()), signal.SIGKILL)
        return plain(self, orders)

    monkeypatch.setattr(Problems, "_round", killing)
    model = EPProbitClassifier(**NARROW, client=processes).fit(rows, labels)
    assert len(rounds) > 8
    np.testing.assert_array_equal(model.coef_, undisturbed.coef_)
    np.testing.assert_array_equal(model.log_evidence_, undisturbed.log_evidence_)
    processes.wait_for_workers(2, timeout=60)

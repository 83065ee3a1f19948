"""distributed.ODAClusterer against ODAClusterer on the same rows in memory."""

import os
import pickle
import signal

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import odalib
from odalib.distributed import ODAClusterer, predict
from odalib.distributed._blocks import Blocks
from odalib.inference.annealing.fit import SAMPLE_SIZE

N_ROWS = 10_200
RANDOM = np.random.default_rng(0)
CENTRES = 4.0 * RANDOM.standard_normal((12, 4))
ROWS = CENTRES[RANDOM.integers(12, size=N_ROWS)] + RANDOM.standard_normal((N_ROWS, 4))
WEIGHTS = RANDOM.integers(0, 3, size=N_ROWS).astype(float)
COARSE = np.round(ROWS)


def cut(values, n_blocks=3):
    size = -(-len(values) // n_blocks)
    return da.from_array(values, chunks=(size, *values.shape[1:]))


def assert_same(model, expected):
    """The same codevectors and path, up to rounding."""
    assert type(model) is odalib.ODAClusterer
    for name in ("cluster_centers_", "cluster_weights_", "temperature_"):
        value, other = getattr(model, name), getattr(expected, name)
        np.testing.assert_allclose(value, other, rtol=1e-8, atol=1e-8, err_msg=name)
    for name in ("n_clusters_", "n_iter_", "stop_reason_", "converged_"):
        assert getattr(model, name) == getattr(expected, name)
    assert model.n_samples_seen_ == expected.n_samples_seen_
    assert model.get_params() == expected.get_params()


CASES = {
    "number": {"n_clusters": 10},
    "number chosen": {},
    "more than there are": {"n_clusters": 40},
    "one": {"n_clusters": 1},
    "learnt metric": {"n_clusters": 8, "divergence": "mahalanobis"},
    "no hard end": {"n_clusters": 30, "min_temperature": 4.0},
}


@pytest.mark.parametrize("case", CASES)
def test_any_number_of_blocks_gives_what_memory_gives(threads, case):
    parameters = {"random_state": 0, **CASES[case]}
    expected = odalib.ODAClusterer(**parameters).fit(ROWS)
    for n_blocks in (1, 3, 16) if case == "number" else (3,):
        estimator = ODAClusterer(client=threads, **parameters)
        assert_same(estimator.fit(cut(ROWS, n_blocks)), expected)


def test_domain_other_than_the_reals(threads):
    positive = np.exp(0.3 * ROWS)
    parameters = {"divergence": "kullback_leibler", "random_state": 0}
    expected = odalib.ODAClusterer(6, **parameters).fit(positive)
    estimator = ODAClusterer(6, client=threads, **parameters)
    assert_same(estimator.fit(cut(positive)), expected)
    with pytest.raises(ValueError, match=r"Negative values in data.*x >= 0"):
        estimator.fit(cut(ROWS))


def test_weights_and_equal_rows_in_several_blocks(threads):
    expected = odalib.ODAClusterer(10, random_state=0).fit(COARSE, None, WEIGHTS)
    estimator = ODAClusterer(10, random_state=0, client=threads)
    model = estimator.fit(cut(COARSE, 5), None, cut(WEIGHTS, 5))
    # Rows of no weight leave fewer than are annealed in any case.
    assert_same(model, expected)
    doubled = np.concatenate([COARSE, COARSE])
    expected = odalib.ODAClusterer(10, random_state=0).fit(doubled)
    assert_same(estimator.fit(cut(doubled, 7)), expected)


def test_fewer_distinct_rows_than_codevectors(threads):
    rows = np.repeat(np.arange(5.0), N_ROWS // 5)[:, np.newaxis]
    with pytest.warns(ConvergenceWarning, match="5 distinct rows"):
        model = ODAClusterer(7, random_state=0, client=threads).fit(cut(rows))
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), np.arange(5.0))
    np.testing.assert_allclose(model.cluster_weights_, np.full(5, 0.2))


def test_unknown_chunks_frames_and_float32(threads):
    single = ROWS.astype(np.float32)
    expected = odalib.ODAClusterer(10, random_state=0).fit(single[single[:, 0] > -5])
    estimator = ODAClusterer(10, random_state=0, client=threads)
    array = cut(single, 5)
    model = estimator.fit(array[array[:, 0] > -5])
    assert model.cluster_centers_.dtype == np.float32
    np.testing.assert_allclose(
        model.cluster_centers_, expected.cluster_centers_, rtol=1e-6, atol=1e-6
    )
    frame = dd.from_pandas(pd.DataFrame(single, columns=list("abcd")), npartitions=4)
    framed = estimator.fit(frame[frame.a > -5])
    assert list(framed.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(
        framed.cluster_centers_, expected.cluster_centers_, rtol=1e-6, atol=1e-6
    )
    inside = pd.DataFrame(single, columns=list("abcd"))
    labels = predict(framed, frame).compute(scheduler="synchronous")
    np.testing.assert_array_equal(labels, framed.predict(inside))


def test_workers_do_not_change_a_bit(threads, processes):
    estimator = ODAClusterer(12, random_state=0, client=threads)
    rows = cut(ROWS, 6)
    two = estimator.fit(rows).cluster_centers_
    estimator.client = processes
    np.testing.assert_array_equal(estimator.fit(rows).cluster_centers_, two)
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        assert client.ncores()
        estimator.client = None
        np.testing.assert_array_equal(estimator.fit(rows).cluster_centers_, two)


def test_few_rows_are_fitted_in_memory(threads):
    few = ROWS[:900]
    model = ODAClusterer(5, random_state=0, client=threads).fit(cut(few))
    expected = odalib.ODAClusterer(5, random_state=0).fit(few)
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)


def test_a_worker_that_is_killed_in_mid_fit_changes_nothing(processes, monkeypatch):
    estimator = ODAClusterer(12, random_state=0, client=processes)
    rows = cut(ROWS, 6)
    expected = estimator.fit(rows).cluster_centers_
    compute, rounds, killed = type(processes).compute, [], []

    def compute_and_kill(client, *args, **kwargs):
        result = compute(client, *args, **kwargs)
        rounds.append(result)
        if len(rounds) == 6:
            # The round is on its way: its blocks and its broadcast die with one.
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)
        return result

    monkeypatch.setattr(type(processes), "compute", compute_and_kill)
    found = estimator.fit(rows).cluster_centers_
    assert len(killed) == 1
    assert len(rounds) > 7
    np.testing.assert_array_equal(found, expected)
    processes.wait_for_workers(2, timeout=60)


def test_rows_are_not_gathered(threads, monkeypatch):
    brought = []
    reduce = Blocks.reduce

    def watched(*args, **kwargs):
        brought.append(len(pickle.dumps(reduce(*args, **kwargs))))
        return reduce(*args, **kwargs)

    monkeypatch.setattr(Blocks, "reduce", watched)
    rows = np.concatenate([ROWS] * 4)
    rows += np.random.default_rng(1).standard_normal(rows.shape)
    ODAClusterer(10, random_state=0, client=threads).fit(cut(rows, 4))
    # Candidates for the sample, each with four numbers beside its own; then sums.
    most = sorted(brought)
    assert most[-1] < 1.01 * 2 * SAMPLE_SIZE * 8 * (4 + 4)
    assert most[-2] < 1.01 * 2 * SAMPLE_SIZE * 8
    assert most[-3] < 2_000


def test_what_is_returned_is_in_memory_and_goes_on(threads):
    estimator = ODAClusterer(10, random_state=0, client=threads)
    model = estimator.fit(cut(ROWS))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))
    assert b"distributed" not in pickle.dumps(model)
    with pytest.raises(AttributeError, match="call predict and score"):
        model.labels_  # noqa: B018
    assert model.at(n_clusters=4).cluster_centers_.shape == (4, 4)
    assert model.partial_fit(ROWS[:100]).n_samples_seen_ == N_ROWS + 100
    assert not hasattr(estimator.estimator, "n_features_in_")
    clone(model).fit(ROWS[:500])


def test_a_generator_goes_on_from_fit_to_fit(threads):
    generators = np.random.RandomState(0), np.random.RandomState(0)
    estimator = ODAClusterer(5, random_state=generators[0], client=threads)
    expected = odalib.ODAClusterer(5, random_state=generators[1])
    for _ in range(2):
        np.testing.assert_array_equal(
            estimator.fit(cut(ROWS[:300])).cluster_centers_,
            expected.fit(ROWS[:300]).cluster_centers_,
        )
    assert generators[0].randint(2**31) == generators[1].randint(2**31)


def test_bad_parameters_are_refused_before_rows_are_read(threads):
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_cluster'"):
        ODAClusterer(n_cluster=3)
    with pytest.raises(ValueError, match="The 'n_clusters' parameter"):
        ODAClusterer(0, client=threads).fit(None)
    with pytest.raises(ValueError, match="resolutions are annealed in memory only"):
        ODAClusterer(3, resolutions=[None], client=threads).fit(None)
    with pytest.raises(ValueError, match="whose squares overflow"):
        ODAClusterer(3, client=threads).fit(cut(1e200 * ROWS))
    assert repr(ODAClusterer(3)) == "odalib.distributed.ODAClusterer(n_clusters=3)"

"""What ODAClusterer does that no check of the conformance suite asks."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from odalib import ODAClusterer

IRIS = load_iris().data


def test_iris_in_three():
    """The least distortion known of iris in three clusters."""
    model = ODAClusterer(n_clusters=3, random_state=0).fit(IRIS)
    assert model.inertia_ == pytest.approx(78.851441426146, rel=1e-12)
    assert model.stop_reason_ == "n_clusters"
    assert model.converged_


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"min_temperature": 1.0}, "min_temperature"),
        ({"target_distortion": 1.5}, "target_distortion"),
    ],
)
def test_stopping_rules_end_annealing_before_the_number(parameters, reason):
    model = ODAClusterer(n_clusters=20, random_state=0, **parameters).fit(IRIS)
    assert model.stop_reason_ == reason
    assert model.n_clusters_ < 20
    path = model.annealing_path_
    if reason == "min_temperature":
        assert path.temperature[-1] >= 1.0
        assert 0.7 * path.temperature[-1] < 1.0
    else:
        assert path.distortion[-1] <= 1.5 < path.distortion[-2]


def test_max_iter_warns_and_says_so():
    model = ODAClusterer(n_clusters=20, max_iter=20, random_state=0)
    with pytest.warns(ConvergenceWarning, match="stop_reason_='max_iter'"):
        model.fit(IRIS)
    assert not model.converged_


@pytest.mark.parametrize("split", ["critical", "perturb"])
def test_dropping_idle_codevectors_leaves_the_heaviest(split):
    """With one left to harden, empty cells are filled up to the number."""
    model = ODAClusterer(5, idle_tol=0.9, split=split, random_state=0).fit(IRIS)
    assert model.annealing_path_.n_codevectors.max() <= 5
    assert model.n_clusters_ == 5


@pytest.mark.parametrize("factor", [1e-13, 1e13])
@pytest.mark.parametrize("split", ["critical", "perturb"])
def test_annealing_takes_as_many_levels_in_other_units(split, factor):
    levels = [
        len(ODAClusterer(3, split=split, random_state=0).fit(X).annealing_path_)
        for X in (IRIS, IRIS * factor)
    ]
    assert levels[0] == levels[1]


def test_a_path_that_starts_cold_has_every_number():
    model = ODAClusterer(5, max_temperature=0.5, random_state=0).fit(IRIS)
    assert model.annealing_path_.n_codevectors[0] > 1
    np.testing.assert_allclose(
        model.at(n_clusters=1).cluster_centers_, [IRIS.mean(axis=0)], rtol=1e-12
    )


@pytest.mark.parametrize(
    "X",
    [
        [[0.0, 1.0], [1.0, 0.0]],
        [[0.0], [1.0]],
        [[0.0, 0.0], [8.0, 8.0]],
    ],
)
@pytest.mark.parametrize("split", ["critical", "perturb"])
def test_rows_symmetric_about_their_mean_part(X, split):
    """Random sums over such rows can cancel, and no axis be found."""
    X = np.repeat(X, 10, axis=0)
    model = ODAClusterer(2, split=split, random_state=0).fit(X)
    assert model.inertia_ == 0.0
    assert ODAClusterer(split=split, random_state=0).fit(X).n_clusters_ == 2


def test_at_while_a_stream_warms_up():
    model = ODAClusterer(6, random_state=0).partial_fit(IRIS)
    three = model.at(n_clusters=3)
    assert three.n_clusters == three.n_clusters_ == 3
    assert three.partial_fit(IRIS).n_samples_seen_ == 300


@pytest.mark.parametrize("value", [2.5, True, "a", [2]])
def test_at_takes_integers(value):
    model = ODAClusterer(5, random_state=0).fit(IRIS)
    with pytest.raises(TypeError, match="n_clusters must be an integer"):
        model.at(n_clusters=value)


def test_at_names_a_parameter_that_was_set_to_what_is_none():
    model = ODAClusterer(4, random_state=0).fit(IRIS)
    for bad in ("many", 2.5, 0):
        model.set_params(n_clusters=bad)
        with pytest.raises(ValueError, match="'n_clusters' parameter"):
            model.at(temperature=2.0 * model.temperature_)
    assert model.at(n_clusters=3).n_clusters_ == 3


def test_at_takes_one_of_the_two():
    model = ODAClusterer(5, random_state=0).fit(IRIS)
    with pytest.raises(ValueError, match="exactly one of n_clusters and temperature"):
        model.at()
    with pytest.raises(TypeError, match="temperature must be a number"):
        model.at(temperature="hot")
    with pytest.raises(ValueError, match="below the last level"):
        model.at(temperature=1e-9)
    with pytest.raises(ValueError, match="holds 1 to 5 codevectors"):
        model.at(n_clusters=6)


def test_verbose_prints_a_line_per_level(capsys):
    model = ODAClusterer(3, verbose=1, random_state=0).fit(IRIS)
    lines = capsys.readouterr().out.splitlines()
    grown = model.annealing_path_.n_codevectors
    assert lines[0].startswith("[ODAClusterer] temperature 8.8")
    assert len(lines) >= (np.diff(grown) > 0).sum()


def test_wide_sparse_rows_stay_sparse():
    """Work arrays as wide as the rows would hold 800 MB here."""
    random = np.random.default_rng(0)
    columns = random.integers(50_000, size=(2000, 5))
    owner = np.repeat(np.arange(2000), 5)
    X = sp.csr_matrix((np.ones(10_000), (owner, columns.ravel())), shape=(2000, 50_000))
    tracemalloc.start()
    ODAClusterer(4, random_state=0).fit(X).predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200e6


def test_the_diagram_links_to_the_project():
    assert "https://example.org/odalib/" in ODAClusterer()._repr_html_()


def test_a_warning_that_is_an_error_leaves_the_estimator_as_it_was():
    model = ODAClusterer(3, random_state=0).fit(IRIS)
    model.set_params(n_clusters=20, max_iter=20)
    with pytest.raises(ConvergenceWarning):
        model.fit(IRIS[:, :3])
    assert model.n_features_in_ == 4
    assert model.n_clusters_ == 3

"""Models of other sizes and temperatures, and what a quantiser says of rows."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.grown import fit_layers
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.model import Model
from odalib.inference.annealing.path import Level
from odalib.inference.annealing.quantiser import Quantiser
from tests.oracles.divergences import CLOSED_FORMS, draw_rows

from .problems import make_settings, random_codebook
from .trees import SetVote, chain, grow_tree, labelled_rows

names = pytest.mark.parametrize("name", CLOSED_FORMS)


def fitted(name="squared_euclidean", n_codevectors=6, n_rows=200, **changes):
    x = draw_rows(name, n_rows, 2, 0) + (1e3 if name == "squared_euclidean" else 0.0)
    settings = make_settings(divergence=name, n_codevectors=n_codevectors, **changes)
    layers = fit_layers(Batch(x, np.ones(n_rows)), settings)
    return Model.from_layers(layers, np.dtype(float), float(n_rows)), x


@names
def test_every_size_up_to_that_of_the_fit(name):
    model, x = fitted(name)
    assert model.at_size(6) is model
    distortions = []
    for size in range(1, 7):
        smaller = model.at_size(size)
        assert (
            smaller.quantiser.n_codevectors
            == len(smaller.quantiser.codevectors)
            == size
        )
        assert smaller.quantiser.weights.sum() == pytest.approx(1.0, rel=1e-12)
        assert smaller.solution is model.solution
        distortions.append(smaller.quantiser.assign(x, 1)[1].mean())
    assert (np.diff(distortions) < 0.0).all()
    one = model.at_size(1).quantiser.codevectors
    np.testing.assert_allclose(one, x.mean(axis=0, keepdims=True), rtol=1e-12)


def test_sizes_between_those_of_the_hierarchy_are_merged_from_the_next_larger():
    model, x = fitted(n_codevectors=70, n_rows=400)
    held = [len(codebook) for codebook in model.hierarchy]
    assert held[:4] == [70, 67, 64, 63]
    distortions = [
        model.at_size(size).quantiser.assign(x, 1)[1].mean()
        for size in (67, 66, 65, 64)
    ]
    assert (np.diff(distortions) > 0.0).all()
    points = model.at_size(66).quantiser.codevectors
    larger = model.at_size(67).quantiser.codevectors
    assert (points[:, np.newaxis] == larger).all(axis=2).sum() == 65


@pytest.mark.parametrize("size", [0, -1, 7])
def test_sizes_that_are_not_on_the_path(size):
    model, _ = fitted()
    with pytest.raises(ValueError, match=f"n_clusters={size} is not .* holds 1 to 6"):
        model.at_size(size)


def with_sizes(model, sizes):
    """Model of a path that went through codebooks of these sizes."""
    levels = []
    for i, size in enumerate(sizes):
        codebook = Codebook(np.zeros((size, 2)), np.full(size, 1.0 / size))
        level = Level(
            temperature=8.0 - i,
            codebook=codebook,
            distortion=0.0,
            entropy=0.0,
            free_energy=0.0,
            n_passes=i,
            n_samples=0.0,
        )
        levels.append(level)
    return replace(model, solution=replace(model.solution, levels=levels))


@pytest.mark.parametrize(
    ("size", "temperature"), [(1, 7.0), (2, 6.0), (3, 5.0), (5, 2.0)]
)
def test_temperature_is_the_last_before_there_were_more(size, temperature):
    """Also where the number falls again, by merging or by the end of an overshoot."""
    model = with_sizes(fitted()[0], [1, 1, 2, 3, 4, 2, 5, 9, 6, 6])
    assert model.at_size(size).quantiser.temperature == temperature


def test_temperature_of_a_size_is_the_coldest_that_needs_no_more():
    model, _ = fitted()
    numbers, temperatures = model.path.n_codevectors, model.path.temperature
    for size in range(1, 6):
        first_grown = next(i for i, number in enumerate(numbers) if number > size)
        expected = temperatures[first_grown - 1]
        assert model.at_size(size).quantiser.temperature == expected


@names
def test_levels_by_temperature(name):
    model, _ = fitted(name)
    path = model.path
    assert (np.diff(path.temperature) < 0.0).all()
    for i, temperature in enumerate(path.temperature):
        between = np.sqrt(temperature * path.temperature[max(i - 1, 0)])
        for asked, level in [(temperature, i), (between, max(i - 1, 0))]:
            found = model.at_temperature(asked).quantiser
            np.testing.assert_allclose(
                found.codevectors, path.codebooks[level], rtol=1e-14
            )
            np.testing.assert_array_equal(found.weights, path.weights[level])
            assert found.temperature == path.temperature[level]
    hottest = model.at_temperature(1e9 * path.temperature[0]).quantiser
    assert hottest.temperature == path.temperature[0]


@pytest.mark.parametrize("factor", [0.999, 0.0, -1.0, np.nan])
def test_temperatures_below_the_path(factor):
    model, _ = fitted()
    with pytest.raises(ValueError, match="below the last level of the path"):
        model.at_temperature(factor * model.path.temperature[-1])


def test_a_path_goes_on_from_the_codebook_before_a_polish():
    """Which is published where it is asked for, and has no smaller ones of its own."""
    batch = labelled_rows()
    spec = SetVote(("bayes",), 0.0, True, n_passes=4)
    (layer,), model = grow_tree(batch, chain([(None, 8)], local_models=spec))
    annealed = layer.solution.codebook
    assert model.codebook is annealed
    published = model.quantiser.codebook.points
    np.testing.assert_allclose(published, layer.codebook.points, atol=1e-12)
    assert np.abs(published - annealed.points).max() > 0.01
    _, plain = grow_tree(
        batch, chain([(None, 8)], local_models=replace(spec, n_passes=0))
    )
    for size in (3, 6):
        one, other = (model.at_size(size).quantiser for model in (model, plain))
        np.testing.assert_array_equal(one.codevectors, other.codevectors)


def quantiser_of(name, shift=None, temperature=0.7):
    x = draw_rows(name, 30, 2, 0)
    codebook = random_codebook(x, 4)
    settings = make_settings(divergence=name)
    partition = Partition(settings.divergence, codebook, shift)
    quantiser = Quantiser.of(partition, temperature, np.dtype(float))
    rows = x if shift is None else x + shift
    d = np.array([[CLOSED_FORMS[name](a, b) for b in codebook.points] for a in x])
    return quantiser, rows, d, codebook.weights


CASES = [
    *((name, None) for name in CLOSED_FORMS),
    ("squared_euclidean", np.array([50.0, -9.0])),
]
cases = pytest.mark.parametrize(("name", "shift"), CASES, ids=lambda value: str(value))
layouts = pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])


@layouts
@cases
def test_nearest_and_divergences(name, shift, layout):
    quantiser, x, d, _ = quantiser_of(name, shift)
    labels, losses = quantiser.assign(layout(x), 1)
    np.testing.assert_array_equal(labels, d.argmin(axis=1))
    np.testing.assert_allclose(losses, d.min(axis=1), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(
        quantiser.divergences(layout(x), 1), d, rtol=1e-7, atol=1e-12
    )


@layouts
@cases
def test_association_and_density(name, shift, layout):
    quantiser, x, d, weights = quantiser_of(name, shift)
    mixture = weights * np.exp(-d / 0.7)
    expected = mixture / mixture.sum(axis=1, keepdims=True)
    association = quantiser.association(layout(x), 1)
    np.testing.assert_allclose(association, expected, rtol=1e-7)
    log_association = quantiser.association(layout(x), 1, log=True)
    np.testing.assert_allclose(log_association, np.log(expected), rtol=1e-7, atol=1e-12)
    # Two features: the Gaussian at variance T / 2 is exp(-d / T) / (pi T).
    constant = np.pi * 0.7 if name == "squared_euclidean" else 1.0
    density = np.exp(quantiser.log_density(layout(x), 1))
    np.testing.assert_allclose(density, mixture.sum(axis=1) / constant, rtol=1e-7)


def test_float32_rows_give_float32_answers_and_the_codevectors_keep_their_own():
    quantiser, x, d, _ = quantiser_of("squared_euclidean")
    single = x.astype(np.float32)
    for answer in (quantiser.divergences(single, 1), quantiser.association(single, 1)):
        assert answer.dtype == np.float32
    np.testing.assert_allclose(quantiser.divergences(single, 1), d, rtol=1e-4)
    partition = Partition(quantiser.divergence, quantiser.codebook, None)
    narrow = Quantiser.of(partition, 0.7, np.dtype(np.float32))
    assert narrow.codevectors.dtype == np.float32
    assert narrow.codebook.points.dtype == np.float64


def test_divergences_are_never_negative():
    """Rows so near a codevector that rounding of the affine form decides."""
    points = 1e6 + 10.0 * draw_rows("kullback_leibler", 3, 3, 0)
    x = points * (1.0 + 1e-10 * np.arange(-300, 300)[:, np.newaxis, np.newaxis])
    settings = make_settings(divergence="kullback_leibler")
    codebook = Codebook(points, np.full(3, 1.0 / 3.0))
    partition = Partition(settings.divergence, codebook, None)
    quantiser = Quantiser.of(partition, 1.0, np.dtype(float))
    assert quantiser.divergences(x.reshape(-1, 3), 1).min() == 0.0
    assert quantiser.assign(x.reshape(-1, 3), 1)[1].min() == 0.0

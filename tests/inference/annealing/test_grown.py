"""All resolutions in memory: children nest in cells, and cells may stay closed."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing import grown as module
from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.closing import classes_with_leaves
from odalib.inference.annealing.fit import fit_rows
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.grown import fit_layers
from odalib.inference.annealing.local.voting import class_log_probabilities
from tests.oracles.divergences import CLOSED_FORMS, draw_rows

from .problems import make_settings
from .trees import SetVote, chain, descend_slowly, grow_tree, labelled_rows

names = pytest.mark.parametrize("name", CLOSED_FORMS)
VOTE = SetVote(("bayes",), 0.0, False)


@pytest.mark.parametrize("classes", [False, True])
def test_one_resolution_is_a_plain_fit(classes, monkeypatch):
    """The same bits, and rows that are looked at no more often."""
    batch, looked, original = labelled_rows(), [], module.nearest_child

    def watched(*arguments):
        looked.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(module, "nearest_child", watched)
    settings = chain([(None, 6)], local_models=VOTE if classes else None)
    (layer,) = fit_layers(batch, settings)
    groups = batch.targets if classes else None
    solution = fit_rows(
        batch.rows, batch.weights, make_settings(n_codevectors=6), groups=groups
    )
    np.testing.assert_array_equal(layer.codebook.points, solution.codebook.points)
    np.testing.assert_array_equal(layer.codebook.weights, solution.codebook.weights)
    assert layer.solution.n_passes == solution.n_passes
    assert layer.age == pytest.approx(batch.weights.sum(), rel=1e-12)
    assert layer.depth == 0
    # Classes are counted once; nothing else is.
    assert len(looked) == (1 if classes else 0)


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["", "csr"])
@names
def test_leaves_are_means_of_the_rows_that_descend_to_them(name, layout, monkeypatch):
    """At every resolution, of its features; and so are the mean rows as they came."""
    monkeypatch.setattr("odalib.inference.annealing.fit.QUICK_STEPS", 200)
    monkeypatch.setattr("odalib.inference.annealing.fit.INNER_STEPS", 200)
    batch = labelled_rows(name)
    settings = chain([((2,), 3), ((0, 1), 7), (None, 12)], divergence=name, tol=0.0)
    _, model = grow_tree(replace(batch, rows=layout(batch.rows)), settings)
    x, weights, tree = batch.rows, batch.weights, model.tree
    labels = np.array([descend_slowly(tree, row, name)[0] for row in x]).T
    for level, own, places in zip(
        tree.levels, labels, [[2], [0, 1], [0, 1, 2]], strict=True
    ):
        assert set(own) == set(range(level.quantiser.n_codevectors))
        for i, point in enumerate(level.quantiser.codevectors):
            inside = own == i
            mean = np.average(x[inside], axis=0, weights=weights[inside])
            np.testing.assert_allclose(point, mean[places], rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(level.points[i], mean, rtol=1e-8, atol=1e-10)
            total = weights[inside].sum()
            share = level.quantiser.weights[i]
            assert share == pytest.approx(total / weights.sum(), rel=1e-8)
            assert level.n_samples(weights.sum())[i] == pytest.approx(total, rel=1e-8)
    # Children of a cell hold the rows of that cell and no others.
    for above, level, own in zip(labels, tree.levels[1:], labels[1:], strict=False):
        np.testing.assert_array_equal(level.parents[own], above)


@pytest.mark.parametrize("n_codevectors", [(3, 7, 12), (1, 5, 5), (4, 4, 30)])
def test_the_number_of_each_resolution_is_what_was_asked_for(n_codevectors):
    batch = labelled_rows()
    places = [(2,), (0, 1), None]
    settings = chain(list(zip(places, n_codevectors, strict=True)))
    layers = fit_layers(batch, settings)
    assert tuple(len(layer.codebook) for layer in layers) == n_codevectors
    assert [layer.depth for layer in layers] == [0, 1, 2]
    assert [layer.grows for layer in layers] == [False, False, True]
    for above, layer in pairwise(layers):
        cells = layer.codebook.groups // MAX_CLASSES
        assert set(cells) == set(range(len(above.codebook)))


@pytest.mark.parametrize(
    ("numbers", "classes", "found"),
    [
        ((0, 0, 27), False, [3, 9, 27]),
        ((0, 27), False, [3, 27]),
        ((0, 0, 27), True, [3, 9, 27]),
        ((0, 0, 48), True, [3, 12, 48]),
        ((8, 0, 9), False, [8, 8, 9]),
        ((2, 0, 27), False, [2, 9, 27]),
    ],
)
def test_open_numbers_are_of_a_geometric_series(numbers, classes, found):
    """From the cube root of the last, or three classes; and never fewer again."""
    settings = chain(
        [(None, number) for number in numbers], local_models=VOTE if classes else None
    )
    layers = fit_layers(labelled_rows(), settings)
    assert [layer.settings.schedule.n_codevectors for layer in layers] == found


def test_fits_of_a_tree_are_not_thorough():
    batch = labelled_rows()
    layers = fit_layers(batch, chain([((0,), 3), (None, 9)]))
    assert [layer.settings.thorough for layer in layers] == [False, False]
    (flat,) = fit_layers(batch, chain([(None, 9)]))
    assert flat.settings.thorough


def cells_by_hand(layers, batch):
    """Cell of every row at the first resolution, and class counts of each cell."""
    settings = layers[0].settings
    x = batch.rows if settings.features is None else settings.features(batch.rows)
    points = layers[0].codebook.points + layers[0].solution.shift
    cells = ((x[:, np.newaxis] - points) ** 2).sum(axis=2).argmin(axis=1)
    counts = np.zeros((len(points), batch.targets.max() + 1))
    np.add.at(counts, (cells, batch.targets), batch.weights)
    return cells, counts


@given(
    number=st.integers(8, 24),
    coarse=st.integers(3, 6),
    noise=st.sampled_from([0.0, 0.2, 0.5]),
    seed=st.integers(0, 99),
)
def test_leaves_are_where_classes_have_them(number, coarse, noise, seed):
    """Each open cell has a codevector for each of its classes, the others have one."""
    x, random = draw_rows("squared_euclidean", 70, 2, seed), np.random.default_rng(seed)
    classes = np.searchsorted(np.quantile(x[:, 0], [0.3, 0.6]), x[:, 0])
    classes = np.where(random.random(70) < noise, random.integers(3, size=70), classes)
    batch = Batch(x, random.uniform(0.5, 2.0, 70), classes)
    levels = chain([((0,), coarse), (None, number)], local_models=VOTE)
    layers = fit_layers(batch, levels)
    cells, counts = cells_by_hand(layers, batch)
    groups = layers[1].codebook.groups
    parents, of_class = groups // MAX_CLASSES, groups % MAX_CLASSES
    total = counts.sum(axis=1)
    with_leaves = classes_with_leaves(counts, number)
    expected = [MAX_CLASSES * cell + code for cell, code in np.argwhere(with_leaves)]
    assert set(groups) == set(expected)
    points = layers[1].codebook.points + layers[1].solution.shift
    for cell in np.flatnonzero(with_leaves.sum(axis=1) == 1):
        # One codevector: the mean of the rows of the class that most are of.
        (own,) = np.flatnonzero(parents == cell)
        inside = (cells == cell) & (classes == of_class[own])
        mean = np.average(x[inside], axis=0, weights=batch.weights[inside])
        np.testing.assert_allclose(points[own], mean, rtol=1e-9, atol=1e-12)
        share = total[cell] / total.sum()
        assert layers[1].codebook.weights[own] == pytest.approx(share, rel=1e-9)
    assert len(groups) <= max(number, np.count_nonzero(total))
    assert layers[1].codebook.weights.sum() == pytest.approx(1.0, rel=1e-12)


def test_a_class_that_is_few_of_every_cell_has_a_leaf():
    """One row in thirty, plain at the second resolution, is predicted."""
    random = np.random.default_rng(0)
    x = random.normal(size=(900, 2))
    y = np.where(np.arange(900) < 450, 1, 0)
    x[:450, 0] += 8.0
    x[:30, 1] += 6.0
    y[:30] = 2
    settings = chain([((0,), 3), (None, 12)], local_models=VOTE)
    _, model = grow_tree(Batch(x, np.ones(900), y), settings)
    assert set(model.quantiser.groups % MAX_CLASSES) == {0, 1, 2}
    found = class_log_probabilities(model.tree, x[:30], 3, 1).argmax(axis=1)
    assert (found == 2).mean() > 0.9


def test_where_every_cell_is_closed_each_has_one_child():
    """Classes that the first resolution tells apart."""
    y = np.repeat([0, 1, 2], 20)
    x = np.random.default_rng(0).normal(size=(60, 2)) + 30.0 * y[:, np.newaxis]
    batch = Batch(x, np.ones(60), y)
    settings = chain([((0,), 5), (None, 40)], local_models=VOTE)
    layers, model = grow_tree(batch, settings)
    assert len(layers[1].codebook) == len(layers[0].codebook) == 5
    cells, counts = cells_by_hand(layers, batch)
    for i, group in enumerate(layers[1].codebook.groups):
        cell, code = divmod(int(group), MAX_CLASSES)
        assert counts[cell].argmax() == code
        np.testing.assert_allclose(
            model.quantiser.codevectors[i], x[cells == cell].mean(axis=0), rtol=1e-10
        )


def test_levels_and_hierarchy_hold_the_closed_cells_too():
    batch = labelled_rows()
    settings = chain([((0,), 6), (None, 14)], local_models=VOTE)
    layer = fit_layers(batch, settings)[1]
    solution = layer.solution
    groups = set(solution.codebook.groups)
    assert len(groups) < 3 * 6
    for codebook in [
        *solution.hierarchy,
        *(level.codebook for level in solution.levels),
    ]:
        assert set(codebook.groups) == groups
        assert codebook.weights.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("classes", [False, True])
def test_neither_order_nor_repetition_of_rows_matters(classes):
    batch, copies = labelled_rows(n_rows=90), np.arange(90) % 3 + 1
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(90), copies))
    settings = chain([((0, 2), 3), (None, 9)], local_models=VOTE if classes else None)
    weighted = fit_layers(replace(batch, weights=1.0 * copies), settings)
    plain = fit_layers(replace(batch[order], weights=np.ones(len(order))), settings)
    for one, other in zip(weighted, plain, strict=True):
        np.testing.assert_allclose(
            one.codebook.points, other.codebook.points, rtol=1e-6, atol=1e-9
        )
        np.testing.assert_array_equal(one.codebook.groups, other.codebook.groups)
        np.testing.assert_allclose(one.codebook.weights, other.codebook.weights)


@pytest.mark.parametrize("stop_at", [1, 3])
def test_a_callback_sees_the_layers_so_far_and_may_stop(stop_at):
    """Stopped at some level of the second resolution of three."""
    depths = []

    def on_level(level, layers):
        found = layers()
        depths.append(len(found))
        assert found[-1].codebook is level.codebook
        return depths.count(2) == stop_at

    settings = chain([((0,), 3), ((1,), 6), (None, 9)])
    layers = fit_layers(labelled_rows(), settings, on_level=on_level)
    assert set(depths) == {1, 2}
    assert len(layers) == 2
    assert layers[0].solution.stop_reason == "n_clusters"
    assert layers[1].solution.stop_reason == "callback"
    assert len(layers[1].solution.levels) == stop_at


def test_features_are_bound_to_the_rows_once():
    """A map that learns: columns less their mean in the rows of the fit."""
    calls = []

    class Centred:
        name = "rows about their mean"

        def __init__(self, mean=None):
            self.mean = mean

        def bind(self, rows, weights):
            calls.append((len(rows), weights.sum()))
            return Centred(rows.mean(axis=0))

        def __call__(self, rows):
            return rows - self.mean

    batch = labelled_rows()
    settings = replace(chain([((0,), 3), (None, 9)]))
    settings = replace(settings, finer=replace(settings.finer, features=Centred()))
    _, model = grow_tree(batch, settings)
    assert calls == [(120, batch.weights.sum())]
    leaves = model.tree.finest
    mean = leaves.quantiser.weights @ leaves.quantiser.codevectors
    centre = (
        batch.weights @ (batch.rows - batch.rows.mean(axis=0)) / batch.weights.sum()
    )
    np.testing.assert_allclose(mean, centre, atol=1e-10)
    mean = leaves.quantiser.weights @ leaves.points
    np.testing.assert_allclose(mean, centre + batch.rows.mean(axis=0), atol=1e-10)


def test_features_outside_the_domain_are_refused():
    settings = chain([((0,), 3), ((1, 2), 9)], divergence="kullback_leibler")
    batch = labelled_rows("kullback_leibler")
    batch.rows[7, 2] = -1.0
    message = r"what a map gives in place of X: Negative values .* row 7, column 1"
    with pytest.raises(ValueError, match=message):
        fit_layers(batch, settings)

"""How cells regress is chosen by rows held out: against trying everything."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_friedman1

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.divergences import (
    KullbackLeibler,
    Mahalanobis,
    SquaredEuclidean,
)
from odalib.inference.annealing.fit import anneal
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.local import regression_choice as module
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.local.folds import folds_of
from odalib.inference.annealing.local.regression_choice import (
    choose_regression,
    open_number,
    target_scale,
)
from odalib.inference.annealing.merging import merge_down
from tests.oracles.divergences import CLOSED_FORMS
from tests.oracles.regressions import (
    blended,
    constants,
    global_line,
    local_lines,
    mean_of_nearest,
    slow_association,
)

from .regressions import curved_batch, regression_settings, spec_of

WARMTHS = (0.4, 0.8, 1.6, 3.2, 6.4, 12.8)
RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0)
GLOBAL_RIDGES = (0.0, 1.0, 10.0, 100.0, 1000.0)
OPEN = {"ridge": None, "global_ridge": 0.0, "warmth": 1.0}


def every_loss(
    batch, settings, warmths, ridges, global_ridge, number=None, parents=None
):
    """Squared errors of all rows held out for every warmth and ridge, and weights.

    With fewer codevectors for a number, those of the fit merged; in the cells of
    parents, where they are given.
    """
    d = CLOSED_FORMS["squared_euclidean"]
    errors, weights = {}, []
    for fold in folds_of(batch, None, settings.seed):
        learnt, unseen = fold.learnt, fold.held_out
        weights.append(unseen.weights)
        above, cells, groups = (None, None), None, None
        if parents is not None:
            above = parents[fold.learnt_places], parents[fold.places]
            groups = above[0] * MAX_CLASSES
        solution = anneal(learnt, replace(settings, thorough=False), groups=groups)
        codebook, shift = solution.codebook, solution.shift
        if number is not None:
            codebook, _ = merge_down(codebook, settings.divergence, number)
        x, new = learnt.rows - shift, unseen.rows - shift
        if parents is not None:
            cells = codebook.groups // MAX_CLASSES
        spread = mean_of_nearest(d, x, learnt.weights, codebook, above[0], cells)
        for warmth in warmths:
            temperature = None if warmth is None else warmth * spread
            share, own = (
                slow_association(d, rows, codebook, temperature, own_cells, cells)
                for rows, own_cells in zip((x, new), above, strict=True)
            )
            share = share * learnt.weights
            for ridge in ridges:
                if settings.local_models.slopes:
                    models = local_lines(x, learnt.targets, share, ridge, global_ridge)
                else:
                    intercepts = constants(learnt.targets, share, ridge)
                    models = np.zeros((*intercepts.shape[:1], 3, 2)), intercepts
                values = blended(new, *models, own)
                errors.setdefault((warmth, ridge), []).append(
                    np.square(values - unseen.targets)
                )
    errors = {key: np.concatenate(parts) for key, parts in errors.items()}
    return errors, np.concatenate(weights)


@pytest.mark.parametrize(
    ("slopes", "blend", "ridge", "seed"),
    [
        (True, True, None, 0),
        (True, True, None, 1),
        (False, True, None, 0),
        (True, False, None, 0),
        (True, True, 5.0, 0),
    ],
    ids=["linear", "other rows", "constant", "nearest", "given ridge"],
)
def test_what_predicts_rows_held_out_best_is_chosen(slopes, blend, ridge, seed):
    batch = curved_batch(n_rows=60, seed=seed)
    spec = spec_of(**(OPEN | {"slopes": slopes, "blend": blend, "ridge": ridge}))
    settings = regression_settings(spec, n_codevectors=4)
    chosen = choose_regression(spec, batch, settings, 1)
    found = chosen.local_models
    expected_ridge = best_global_ridge(batch, settings) if slopes else 0.0
    assert found.global_ridge == expected_ridge
    errors, weights = every_loss(
        batch,
        settings,
        WARMTHS if blend else (None,),
        RIDGES if ridge is None else (ridge,),
        expected_ridge,
    )
    # Targets count the same, whatever their units.
    variance = [
        np.average(
            (y - np.average(y, weights=batch.weights)) ** 2, weights=batch.weights
        )
        for y in batch.targets.T
    ]
    losses = {
        key: float(weights @ (values / variance).sum(axis=1))
        for key, values in errors.items()
    }
    best = min(losses, key=losses.get)
    assert (found.warmth if blend else None, found.ridge) == best
    # The choice is no matter of rounding.
    second = min((loss for key, loss in losses.items() if key != best), default=np.inf)
    assert second > 1.0001 * losses[best]
    np.testing.assert_allclose(
        found.held_out_error, np.average(errors[best], axis=0, weights=weights), 1e-5
    )
    # And with fewer codevectors, of half the number and half of that.
    assert found.by_size[0] == (4, found.warmth, found.ridge, found.held_out_error)
    for number, warmth, own_ridge, error in found.by_size[1:]:
        errors, _ = every_loss(
            batch,
            settings,
            WARMTHS if blend else (None,),
            RIDGES if ridge is None else (ridge,),
            expected_ridge,
            number,
        )
        losses = {
            key: float(weights @ (values / variance).sum(axis=1))
            for key, values in errors.items()
        }
        # Where several are equally good, any is.
        own = (warmth if blend else None, own_ridge)
        assert losses[own] == pytest.approx(min(losses.values()), rel=1e-6)
        expected = np.average(errors[own], axis=0, weights=weights)
        np.testing.assert_allclose(error, expected, 1e-5)
    assert [entry[0] for entry in found.by_size] == [4, 2, 1]
    # All else is as it was.
    assert replace(chosen, local_models=spec) == settings


def test_within_the_cells_of_a_tree_what_predicts_best_there_is_chosen():
    """Cells of a noise feature: the nearest leaf of all is much nearer."""
    batch = curved_batch(n_rows=60, seed=2)
    parents = np.random.default_rng(0).integers(3, size=60)
    spec = spec_of(**OPEN)
    settings = regression_settings(spec, n_codevectors=6)
    found = choose_regression(spec, batch, settings, 1, parents).local_models
    errors, weights = every_loss(
        batch, settings, WARMTHS, RIDGES, found.global_ridge, parents=parents
    )
    scale = target_scale(batch)
    losses = {
        key: float(weights @ (values / scale).sum(axis=1))
        for key, values in errors.items()
    }
    best = min(losses, key=losses.get)
    assert (found.warmth, found.ridge) == best
    np.testing.assert_allclose(
        found.held_out_error, np.average(errors[best], axis=0, weights=weights), 1e-5
    )


def test_an_open_number_is_one_for_each_cell_at_least():
    batch = curved_batch(n_rows=60)
    settings = replace(regression_settings(spec_of(), n_codevectors=50), choose=True)
    numbers = [
        open_number(batch, settings, parents).schedule.n_codevectors
        for parents in (None, np.arange(60) % 4, np.arange(60) % 20)
    ]
    assert numbers == [10, 10, 20]


def best_global_ridge(batch, settings):
    losses = dict.fromkeys(GLOBAL_RIDGES, 0.0)
    scale = target_scale(batch)
    for fold in folds_of(batch, None, settings.seed):
        learnt, unseen = fold.learnt, fold.held_out
        for ridge in losses:
            slope, intercept, _ = global_line(
                learnt.rows, learnt.targets, learnt.weights, ridge
            )
            wrong = unseen.rows @ slope + intercept - unseen.targets
            losses[ridge] += unseen.weights @ (wrong**2 / scale).sum(axis=1)
    return min(losses, key=losses.get)


@pytest.mark.parametrize("noise", [0.0, 3.0, 30.0])
def test_rows_that_draw_the_global_fit_to_the_mean(noise):
    """None for a line, many for noise; as trying them one by one says."""
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 3)) * [1.0, 20.0, 0.1] + [0.0, 500.0, 0.0]
    y = x @ np.array([[1.0, 1.0], [0.1, -0.2], [3.0, 0.0]])
    y = y + noise * random.normal(size=y.shape) * [1.0, 20.0]
    batch = Batch(x, random.uniform(0.5, 2.0, 60), y)
    spec = spec_of(**OPEN)
    settings = regression_settings(spec, n_codevectors=2)
    found = choose_regression(spec, batch, settings, 1).local_models.global_ridge
    assert found == best_global_ridge(batch, settings)
    assert (found == 0.0) == (noise == 0.0)
    assert (found >= 100.0) == (noise == 30.0)


def test_nothing_is_chosen_where_no_row_can_be_held_out():
    batch = curved_batch()[[0, 0, 0]]
    spec = spec_of(**OPEN)
    settings = regression_settings(spec, n_codevectors=4)
    found = choose_regression(spec, batch, settings, 1)
    assert found == settings
    cells = found.local_models.begin(batch, partition_of_one(batch), None, 1)
    assert cells.ridge == 1.0
    values, _ = cells.predict(batch.rows, partition_of_one(batch), None)
    np.testing.assert_allclose(values, batch.targets, rtol=1e-9)


def partition_of_one(batch):
    solution = anneal(batch, regression_settings(spec_of(), n_codevectors=1))
    return Partition.of(solution.divergence, solution.codebook, None)


def test_an_open_number_is_one_for_six_distinct_rows():
    settings = regression_settings(spec_of(), n_codevectors=50, choose=True)
    for n_rows, number in ((3, 1), (60, 10), (65, 10), (320, 50)):
        batch = curved_batch(n_rows=n_rows)
        for rows in (batch, batch[np.repeat(np.arange(n_rows), 3)]):
            found = open_number(rows, settings)
            assert (found.schedule.n_codevectors, found.choose) == (number, False)
    given = replace(settings, choose=False)
    assert open_number(curved_batch(), given) is given


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_targets_are_taken_in_units_of_their_spread(seed):
    batch = curved_batch(n_rows=50, seed=seed)
    y, weights = batch.targets, batch.weights
    mean = np.average(y, axis=0, weights=weights)
    expected = np.average((y - mean) ** 2, axis=0, weights=weights)
    np.testing.assert_allclose(target_scale(batch), expected, rtol=1e-12)
    constant = replace(batch, targets=np.full((50, 1), 4.0))
    np.testing.assert_array_equal(target_scale(constant), [1.0])
    # A unit of one target changes no choice.
    spec = spec_of(**OPEN)
    settings = regression_settings(spec, n_codevectors=4)
    units = np.array([1024.0, 2.0**-10])
    found = [
        choose_regression(spec, replace(batch, targets=y * unit), settings, 1)
        for unit in (1.0, units)
    ]
    one, other = (each.local_models for each in found)
    assert (one.warmth, one.ridge) == (other.warmth, other.ridge)
    assert one.global_ridge == other.global_ridge


def friedman(n_rows=700, noise=1.0, seed=0):
    x, y = make_friedman1(n_rows, 10, noise=noise, random_state=seed)
    return Batch(x, np.ones(n_rows), y[:, np.newaxis])


# Rows of which a metric predicts better, by less than a standard error.
SLIGHTLY = 13


METRIC = OPEN | {"metric_features": 500.0}


@pytest.fixture(scope="module")
def learnt_metric():
    spec = spec_of(**METRIC)
    settings = regression_settings(spec, n_codevectors=60)
    return choose_regression(spec, friedman(), settings, 1)


def test_the_metric_has_no_weight_on_features_that_say_nothing(learnt_metric):
    """Friedman #1: y depends on the first five of ten; the last five are noise.

    ``10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5`` in the unit cube, where the
    variance of every feature is 1/12.
    """
    assert isinstance(learnt_metric.divergence, Mahalanobis)
    weight = np.diag(learnt_metric.divergence.precision)
    assert weight[:5].min() > 5.0 * weight[5:].max()
    # A third of what noise has at least is the part of the identity mixed in.
    assert weight[5:].max() / 12.0 < 3.0 * 0.03
    # The average squared slope is 25 for x5, and 100 or more for the others.
    assert weight[4] == weight[:5].min()


def test_the_learnt_metric_predicts_better(learnt_metric):
    """On fresh rows, cells and all else being fitted the same way."""
    batch, fresh = friedman(), friedman(3000, noise=0.0, seed=1)
    spec = spec_of(**OPEN)
    plain = choose_regression(
        spec, batch, regression_settings(spec, n_codevectors=60), 1
    )
    errors = []
    for settings in (plain, learnt_metric):
        solution = anneal(batch, settings)
        partition = Partition.of(solution.divergence, solution.codebook, solution.shift)
        cells = settings.local_models.begin(batch, partition, None, 1)
        values, _ = cells.predict(fresh.rows - solution.shift, partition, None)
        errors.append(np.mean((values - fresh.targets) ** 2))
    assert errors[1] < 0.8 * errors[0]


def watched_rounds(monkeypatch, batch, spec, **changes):
    """Settings chosen, and the rounds that they were chosen from."""
    rounds, original = [], module._Round.of.__func__

    def watched(cls, *arguments):
        rounds.append(original(cls, *arguments))
        return rounds[-1]

    monkeypatch.setattr(module._Round, "of", classmethod(watched))
    settings = regression_settings(spec, **changes)
    return choose_regression(spec, batch, settings, 1), rounds


@pytest.mark.parametrize(
    ("n_features", "seed", "helps"),
    [(2, 3, False), (2, SLIGHTLY, False), (3, 4, True), (6, 3, True)],
)
def test_the_metric_is_kept_where_it_helps_by_one_standard_error(
    n_features, seed, helps, monkeypatch
):
    """The more features say nothing, the more it helps."""
    random = np.random.default_rng(seed)
    x = random.uniform(-2.0, 2.0, size=(150, n_features))
    y = np.sin(2.0 * x[:, :2]).sum(axis=1) + 0.3 * random.normal(size=150)
    batch = Batch(x, random.uniform(0.5, 2.0, 150), y[:, np.newaxis])
    chosen, rounds = watched_rounds(
        monkeypatch, batch, spec_of(**METRIC), n_codevectors=12
    )
    first, *learnt = rounds
    assert isinstance(first.settings.divergence, SquaredEuclidean)
    # As of so many copies of every row as its weight says.
    weights = first.weights
    best = min(learnt, key=lambda one: np.average(one.errors, weights=weights))
    gain = first.errors - best.errors
    mean = np.average(gain, weights=weights)
    variance = np.average((gain - mean) ** 2, weights=weights)
    assert helps == (mean > np.sqrt(variance / weights.sum()))
    assert (mean > 0.0) == (helps or seed == SLIGHTLY)
    kept = (best if helps else first).settings
    assert chosen.divergence is kept.divergence
    assert replace(chosen.local_models, by_size=()) == kept.local_models


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_metrics_are_learnt_for_three_rounds_while_they_better(seed, monkeypatch):
    batch = curved_batch(n_rows=40, seed=seed)
    _, rounds = watched_rounds(monkeypatch, batch, spec_of(**METRIC), n_codevectors=5)
    losses = [one.weights @ one.errors for one in rounds]
    falls = np.diff(losses) <= 0
    assert falls[:-1].all()
    assert len(rounds) == 4 or not falls[-1]


def test_each_metric_is_made_of_the_slopes_in_the_one_before(monkeypatch):
    batch = curved_batch(n_rows=40, seed=3)
    _, rounds = watched_rounds(monkeypatch, batch, spec_of(**METRIC), n_codevectors=5)
    assert len(rounds) > 2
    mean = np.average(batch.rows, axis=0, weights=batch.weights)
    spread = np.sqrt(
        np.average((batch.rows - mean) ** 2, axis=0, weights=batch.weights)
    )
    scale = np.sqrt(target_scale(batch))
    for before, after in pairwise(rounds):
        settings = before.settings
        solution = anneal(batch, replace(settings, thorough=False))
        partition = Partition.of(solution.divergence, solution.codebook, solution.shift)
        cells = settings.local_models.begin(batch, partition, None, 1)
        product, total = np.zeros((3, 3)), cells.sums.weight.sum()
        for slope, weight in zip(
            cells.coefficients.slope, cells.sums.weight, strict=True
        ):
            for target in range(2):
                one = slope[:, target] * spread / scale[target]
                product += weight / total * np.outer(one, one)
        mixed = 3.0 * product / np.trace(product) + 0.03 * np.eye(3)
        expected = mixed / np.outer(spread, spread)
        np.testing.assert_allclose(
            after.settings.divergence.precision, expected, rtol=1e-9
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"slopes": False},
        {"metric_features": 2.0},
        {"divergence": "kullback_leibler"},
        {"layout": sp.csr_matrix},
    ],
    ids=["constant", "too many features", "KL", "csr"],
)
def test_no_metric_is_learnt_where_none_can_be(changes, monkeypatch):
    changes = {"layout": np.asarray, "divergence": "squared_euclidean"} | changes
    layout, divergence = changes.pop("layout"), changes.pop("divergence")
    batch = curved_batch("kullback_leibler", n_rows=60)
    batch = replace(batch, rows=layout(batch.rows))
    chosen, rounds = watched_rounds(
        monkeypatch,
        batch,
        spec_of(**(METRIC | changes)),
        n_codevectors=4,
        divergence=divergence,
    )
    assert len(rounds) == 1
    expected = KullbackLeibler if divergence == "kullback_leibler" else SquaredEuclidean
    assert isinstance(chosen.divergence, expected)


@pytest.mark.parametrize("value", [0.0, 3.0, 0.1, -1e6 / 7.0])
def test_targets_without_slopes_make_no_metric(value, monkeypatch):
    batch = replace(curved_batch(n_rows=60), targets=np.full((60, 1), value))
    chosen, rounds = watched_rounds(
        monkeypatch, batch, spec_of(**METRIC), n_codevectors=4
    )
    assert len(rounds) == 1
    np.testing.assert_allclose(
        chosen.local_models.held_out_error, 0.0, atol=1e-25 * value**2
    )


def test_choices_depend_on_what_rows_hold_and_not_on_their_order_or_copies():
    batch = curved_batch(n_rows=60)
    batch = replace(batch, weights=1.0 + np.arange(60) % 3)
    copies = np.repeat(np.arange(60), batch.weights.astype(int))
    shuffled = np.random.default_rng(0).permutation(len(copies))
    repeated = replace(batch, weights=np.ones(60))[copies[shuffled]]
    spec = spec_of(**METRIC)
    settings = regression_settings(spec, n_codevectors=5)
    one, other = (
        choose_regression(spec, rows, settings, 1) for rows in (batch, repeated)
    )
    for name in ("warmth", "ridge", "global_ridge"):
        assert getattr(one.local_models, name) == getattr(other.local_models, name)
    np.testing.assert_allclose(
        one.local_models.held_out_error, other.local_models.held_out_error, rtol=1e-6
    )
    assert type(one.divergence) is type(other.divergence)


def test_no_more_rows_are_held_out_than_a_choice_needs(monkeypatch):
    """Errors are of the first of five parts, where that is enough."""
    monkeypatch.setattr(module, "ENOUGH_ROWS", 12)
    batch, spec = curved_batch(n_rows=60), spec_of(**OPEN)
    chosen, (only,) = watched_rounds(monkeypatch, batch, spec, n_codevectors=4)
    fold = folds_of(batch, None, 0)[0]
    assert len(fold.held_out) == 12
    np.testing.assert_array_equal(only.weights, fold.held_out.weights)
    mean = np.average(only.errors, weights=only.weights)
    relative = np.array(chosen.local_models.held_out_error) / target_scale(batch)
    assert mean == pytest.approx(relative.sum(), rel=1e-10)

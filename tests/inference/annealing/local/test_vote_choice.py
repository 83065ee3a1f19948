"""What is chosen of a vote, against the loss of all that there is to choose from."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.fit import fit_rows, smallest_above
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.local import folds as folds_module
from odalib.inference.annealing.local.class_vote import ClassVote
from odalib.inference.annealing.local.folds import folds_of
from odalib.inference.annealing.local.polish import polish_pass
from odalib.inference.annealing.local.vote_choice import choose_vote
from odalib.inference.annealing.rows import RowBlocks
from tests.oracles.divergences import CLOSED_FORMS

from ..problems import make_settings
from ..trees import labelled_rows

# The grid of the choice, as its reader would write it down.
COLDNESS = [2.0**power for power in range(-4, 9)]
SHRINKAGES = [1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05]
PASSES = [1, 2, 4, 8, 16, 32, 64]


def log_votes(apart, codebook, temperature, decision):
    """Log probabilities of the classes of a codebook, shape (n, n_classes)."""
    own = codebook.groups % MAX_CLASSES
    logits = -apart / temperature
    if decision == "bayes":
        logits = logits + np.log(codebook.weights)
        reduce = logsumexp
    else:
        reduce = np.max
    votes = [reduce(logits[:, own == code], axis=1) for code in np.unique(own)]
    votes = np.array(votes).T
    return votes - logsumexp(votes, axis=1, keepdims=True)


class Turns:
    """Fits without the rows held out, and their losses on them."""

    def __init__(self, batch, settings, name="squared_euclidean", parents=None):
        self.name, self.cast, self.turns = name, {}, []
        cells = np.zeros(len(batch), dtype=int) if parents is None else parents
        groups = batch.targets + cells * MAX_CLASSES
        for fold in folds_of(batch, groups, settings.seed):
            learnt = fold.learnt
            solution = fit_rows(
                learnt.rows,
                learnt.weights,
                replace(settings, choose=False),
                groups=groups[fold.learnt_places],
            )
            of_rows = groups[fold.learnt_places], groups[fold.places]
            self.turns.append((fold, of_rows, solution))

    def codebooks(self, size):
        for *turn, solution in self.turns:
            codebook = solution.codebook
            if size < len(codebook):
                codebook = smallest_above(solution.hierarchy, size, solution.divergence)
            yield *turn, solution, codebook

    def apart(self, rows, solution, codebook, precision=None):
        """Divergences of rows from codevectors, shape (n, K)."""
        points = codebook.points
        points = points if solution.shift is None else points + solution.shift
        if precision is not None:
            away = rows[:, np.newaxis] - points
            return np.einsum("nki,ij,nkj->nk", away, precision, away)
        if self.name == "squared_euclidean":
            return np.square(rows[:, np.newaxis] - points).sum(axis=2)
        d = CLOSED_FORMS[self.name]
        return np.array([[d(row, mu) for mu in points] for row in rows])

    def spread(self, learnt, groups, solution, codebook, shrinkage=None):
        """Mean divergence from the nearest of the group, and the metric or None."""
        apart = self.apart(learnt.rows, solution, codebook)
        apart[groups[:, np.newaxis] != codebook.groups] = np.inf
        if shrinkage is None:
            return np.average(apart.min(axis=1), weights=learnt.weights), None
        shift = 0.0 if solution.shift is None else solution.shift
        away = learnt.rows - shift - codebook.points[apart.argmin(axis=1)]
        within = (away.T * learnt.weights) @ away / learnt.weights.sum()
        mean = np.trace(within) / len(within)
        shrunk = (1.0 - shrinkage) * within + shrinkage * mean * np.eye(len(within))
        precision = mean * np.linalg.inv(shrunk)
        return np.trace(precision @ within), precision

    def ballots(self, size, shrinkage, passes, polish):
        """Divergences of the rows held out, and what they are compared with."""
        key = (size, shrinkage, passes, polish)
        if key not in self.cast:
            self.cast[key] = [
                self.ballot(*turn, shrinkage, passes, polish)
                for turn in self.codebooks(size)
            ]
        return self.cast[key]

    def ballot(self, fold, groups, solution, codebook, shrinkage, passes, polish):
        learnt, held_out = fold.learnt, fold.held_out
        spread, precision = self.spread(
            learnt, groups[0], solution, codebook, shrinkage
        )
        rows = RowBlocks(learnt.rows, learnt.weights, solution.shift)
        for _ in range(passes):
            codebook = polish_pass(
                rows,
                learnt.targets,
                codebook,
                solution.divergence,
                spread / polish,
                groups[0] // MAX_CLASSES,
            )
        apart = self.apart(held_out.rows, solution, codebook, precision)
        cells = groups[1] // MAX_CLASSES
        apart[cells[:, np.newaxis] != codebook.groups // MAX_CLASSES] = np.inf
        doubt = 1.0 / (learnt.weights.sum() + 1.0)
        return held_out, groups[1], doubt, apart, codebook, spread

    def loss(self, size, decision, coldness, shrinkage=None, passes=0, polish=1.0):
        """Sum of the smoothed loss over the rows held out."""
        total = 0.0
        for held_out, groups, doubt, *votes, spread in self.ballots(
            size, shrinkage, passes, polish
        ):
            met = np.isin(groups, votes[1].groups)
            classes = np.unique(votes[1].groups % MAX_CLASSES)
            log_p = log_votes(votes[0][met], votes[1], spread / coldness, decision)
            for row, truth, weight in zip(
                log_p, held_out.targets[met], held_out.weights[met], strict=True
            ):
                true = row[np.flatnonzero(classes == truth)[0]]
                others = row[np.isfinite(row)].mean()
                total -= weight * ((1.0 - doubt) * true + doubt * others)
        return total


def spec_of(decisions=("bayes", "nearest"), metric_features=0.0, polish=False):
    return ClassVote(decisions, metric_features, polish)


def assert_refined(turns, size, spec, least, shrinkage=None):
    """Colder or warmer by less than a factor two, and no better at a tenth more."""
    (decision,) = spec.decisions
    found = turns.loss(size, decision, spec.coldness, shrinkage)
    assert found <= least * (1.0 + 1e-9)
    for factor in (0.9, 1.1):
        beside = turns.loss(size, decision, factor * spec.coldness, shrinkage)
        assert found < beside


@pytest.mark.parametrize(
    ("name", "decisions"),
    [
        ("squared_euclidean", ("bayes",)),
        ("squared_euclidean", ("nearest",)),
        ("kullback_leibler", ("bayes", "nearest")),
    ],
)
def test_coldness_and_decision_of_least_loss(name, decisions):
    batch = labelled_rows(name, 80)
    settings = make_settings(divergence=name, n_codevectors=6)
    spec, number = choose_vote(spec_of(decisions), batch, settings, 1)
    assert number == 6
    turns = Turns(batch, settings, name)
    losses = {
        (decision, coldness): turns.loss(6, decision, coldness)
        for decision, coldness in product(decisions, COLDNESS)
    }
    decision, coldness = min(losses, key=losses.get)
    assert spec.decisions == (decision,)
    assert 0.5 * coldness < spec.coldness < 2.0 * coldness
    assert_refined(turns, 6, spec, losses[decision, coldness])
    assert (spec.shrinkage, spec.n_passes) == (None, 0)
    assert not spec.has_metric
    # For levels of the path, of three classes up: the best on the grid of each number.
    assert [entry[0] for entry in spec.by_size] == [3, 6]
    for size, decision, shrinkage, coldness in spec.by_size:
        least = min(turns.loss(size, *place) for place in product(decisions, COLDNESS))
        assert turns.loss(size, decision, coldness) == pytest.approx(least, rel=1e-9)
        assert shrinkage is None


def test_shrinkage_of_least_loss():
    """Two features tell the classes apart; the third only varies, by much."""
    random = np.random.default_rng(0)
    y = random.integers(2, size=120)
    x = random.normal(size=(120, 3)) * [0.5, 0.5, 4.0]
    x[:, :2] += y[:, np.newaxis] * 1.2
    batch, settings = Batch(x, np.ones(120), y), make_settings(n_codevectors=2)
    spec, _ = choose_vote(spec_of(("bayes",), np.inf), batch, settings, 1)
    turns = Turns(batch, settings)
    losses = {
        (shrinkage, coldness): turns.loss(2, "bayes", coldness, shrinkage)
        for shrinkage, coldness in product(SHRINKAGES, COLDNESS)
    }
    shrinkage, coldness = min(losses, key=losses.get)
    assert shrinkage < 0.5
    assert (spec.has_metric, spec.shrinkage) == (True, shrinkage)
    assert 0.5 * coldness < spec.coldness < 2.0 * coldness
    assert_refined(turns, 2, spec, losses[shrinkage, coldness], shrinkage)


@pytest.mark.parametrize("case", ["features", "sparse", "divergence"])
def test_no_metric_where_there_can_be_none(case):
    name = "kullback_leibler" if case == "divergence" else "squared_euclidean"
    batch = labelled_rows(name, 40)
    if case == "sparse":
        batch = replace(batch, rows=sp.csr_matrix(batch.rows))
    limit = 2.0 if case == "features" else np.inf
    settings = make_settings(divergence=name, n_codevectors=4)
    spec, _ = choose_vote(spec_of(("bayes",), limit), batch, settings, 1)
    assert spec.shrinkage is None


def test_number_of_least_loss():
    """Two classes in a square of four groups: two codevectors do not serve."""
    random = np.random.default_rng(1)
    corner = random.integers(2, size=(160, 2))
    x, y = 4.0 * corner + random.normal(size=(160, 2)), corner[:, 0] ^ corner[:, 1]
    batch = Batch(x, np.ones(160), y)
    settings = make_settings(n_codevectors=12, choose=True)
    spec, number = choose_vote(spec_of(("bayes",)), batch, settings, 1)
    turns = Turns(batch, settings)
    losses = {
        size: min(turns.loss(size, "bayes", coldness) for coldness in COLDNESS)
        for size in (2, 3, 4, 6, 9, 12)
    }
    assert number == min(losses, key=losses.get)
    assert number >= 4
    tuned = spec_of(("bayes",)).tuned(batch, settings, 1)
    assert tuned.schedule.n_codevectors == number
    assert tuned.local_models == spec
    assert not tuned.choose


@pytest.mark.parametrize(("n_rows", "most"), [(16, 4), (4, 2), (400, 12)])
def test_few_rows_have_few_codevectors(n_rows, most, monkeypatch):
    """A quarter of the rows at the most, and one for every class at the least."""
    random = np.random.default_rng(1)
    y = np.arange(n_rows) % 2
    x = 9.0 * y[:, np.newaxis] * random.normal(size=(n_rows, 3))
    tried, original = set(), ClassVote.begin

    def watched(self, batch, partition, *arguments):
        tried.add(len(partition.codebook))
        return original(self, batch, partition, *arguments)

    monkeypatch.setattr(ClassVote, "begin", watched)
    settings = make_settings(n_codevectors=12, choose=True)
    choose_vote(spec_of(("bayes",)), Batch(x, np.ones(n_rows), y), settings, 1)
    assert max(tried) <= most
    assert min(tried) == 2


def test_passes_of_the_polish_of_least_loss():
    """Started from the best unpolished vote; coldness by halves of an octave."""
    batch = labelled_rows("squared_euclidean", 100, seed=1)
    settings = make_settings(n_codevectors=5)
    spec, _ = choose_vote(spec_of(polish=True), batch, settings, 1)
    turns = Turns(batch, settings)
    start = min(COLDNESS, key=lambda coldness: turns.loss(5, "bayes", coldness))
    losses = {
        (decision, coldness, 0): turns.loss(5, decision, coldness)
        for decision, coldness in product(("bayes", "nearest"), COLDNESS)
    }
    nearby = [start * 2.0 ** (power / 2.0) for power in range(-2, 3)]
    for passes, decision, coldness in product(PASSES, ("bayes", "nearest"), nearby):
        losses[decision, coldness, passes] = turns.loss(
            5, decision, coldness, passes=passes, polish=start
        )
    decision, coldness, passes = min(losses, key=losses.get)
    assert passes > 0
    assert (spec.decisions, spec.n_passes) == ((decision,), passes)
    assert spec.polish_coldness == start
    assert 0.5 * coldness < spec.coldness < 2.0 * coldness
    unpolished = min(loss for place, loss in losses.items() if place[2] == 0)
    found = turns.loss(5, decision, spec.coldness, passes=passes, polish=start)
    assert found <= losses[decision, coldness, passes] * (1.0 + 1e-9)
    assert found < 0.99 * unpolished


@pytest.mark.parametrize("polish", [False, True])
def test_votes_of_a_tree_are_judged_within_its_cells(polish):
    """Rows of two cells at the same places, whose classes are the other way round."""
    random = np.random.default_rng(0)
    x, cells = random.normal(size=(120, 2)), np.arange(120) % 2
    right = (x[:, 0] + 0.5 * random.normal(size=120) > 0.0).astype(int)
    batch = Batch(x, random.uniform(0.5, 2.0, 120), right ^ cells)
    settings = make_settings(n_codevectors=8)
    turns = Turns(batch, settings, parents=cells)
    losses = {
        (decision, coldness, 0): turns.loss(8, decision, coldness)
        for decision, coldness in product(("bayes", "nearest"), COLDNESS)
    }
    start = min(COLDNESS, key=lambda coldness: losses["bayes", coldness, 0])
    if polish:
        nearby = [start * 2.0 ** (power / 2.0) for power in range(-2, 3)]
        for passes, decision, coldness in product(PASSES, ("bayes", "nearest"), nearby):
            losses[decision, coldness, passes] = turns.loss(
                8, decision, coldness, passes=passes, polish=start
            )
    decision, coldness, passes = min(losses, key=losses.get)
    spec, number = choose_vote(spec_of(polish=polish), batch, settings, 1, cells)
    assert number == 8
    assert (spec.decisions, spec.n_passes) == ((decision,), passes)
    assert 0.5 * coldness < spec.coldness < 2.0 * coldness
    found = turns.loss(8, decision, spec.coldness, passes=passes, polish=start)
    assert found <= losses[decision, coldness, passes] * (1.0 + 1e-9)


def test_every_class_of_every_cell_has_a_codevector():
    batch = labelled_rows("squared_euclidean", 60)
    cells = (batch.rows[:, 1] > 0.5).astype(int)
    groups = set(zip(cells, batch.targets, strict=True))
    settings = make_settings(n_codevectors=2)
    _, number = choose_vote(spec_of(("bayes",)), batch, settings, 1, cells)
    assert number == len(groups) > 3


def test_rows_of_a_class_that_was_not_learnt_do_not_count(monkeypatch):
    """Of many rows each turn learns from some: two rows of a class may be in none."""
    monkeypatch.setattr(folds_module, "PART_ROWS", 10)
    batch = labelled_rows("squared_euclidean", 120)
    classes = np.where(np.arange(120) < 2, 3, batch.targets)
    batch, settings = replace(batch, targets=classes), make_settings(n_codevectors=6)
    turns = Turns(batch, settings)
    unmet = [
        set(fold.held_out.targets) - set(fold.learnt.targets)
        for fold, *_ in turns.turns
    ]
    assert {3} in unmet
    spec, _ = choose_vote(spec_of(("bayes",)), batch, settings, 1)
    losses = {coldness: turns.loss(6, "bayes", coldness) for coldness in COLDNESS}
    coldness = min(losses, key=losses.get)
    assert 0.5 * coldness < spec.coldness < 2.0 * coldness
    assert_refined(turns, 6, spec, losses[coldness])


def test_a_vote_that_nothing_contradicts_is_not_infinitely_cold():
    """Classes far apart: the doubt of one row in all keeps the coldness finite."""
    y = np.arange(60) % 2
    x = 50.0 * y[:, np.newaxis] + np.random.default_rng(0).normal(size=(60, 1))
    batch, settings = Batch(x, np.ones(60), y), make_settings(n_codevectors=2)
    spec, _ = choose_vote(spec_of(("bayes",)), batch, settings, 1)
    turns = Turns(batch, settings)
    losses = {coldness: turns.loss(2, "bayes", coldness) for coldness in COLDNESS}
    coldness = min(losses, key=losses.get)
    assert coldness < COLDNESS[-1]
    assert 0.5 * coldness < spec.coldness < 2.0 * coldness


@pytest.mark.parametrize("choose", [False, True])
def test_where_no_row_can_be_held_out_the_first_decision_stays(choose):
    x, y = np.array([[0.0], [4.0]]), np.array([0, 1])
    settings = make_settings(n_codevectors=2, choose=choose)
    spec, number = choose_vote(
        spec_of(("nearest", "bayes")), Batch(x, np.ones(2), y), settings, 1
    )
    assert spec == spec_of(("nearest",))
    assert number == 2


def test_neither_order_nor_repetition_of_rows_matters():
    batch, copies = labelled_rows(n_rows=60), np.arange(60) % 3 + 1
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(60), copies))
    settings = make_settings(n_codevectors=5)
    given = [
        replace(batch, weights=1.0 * copies),
        replace(batch[order], weights=np.ones(len(order))),
    ]
    one, other = (choose_vote(spec_of(), part, settings, 1)[0] for part in given)
    assert one.decisions == other.decisions
    assert other.coldness == pytest.approx(one.coldness, rel=1e-4)

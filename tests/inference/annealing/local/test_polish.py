"""Polish: a step along the natural gradient of the log likelihood of the classes."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from odalib.inference.annealing import rows as module
from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.divergences import Mahalanobis, as_divergence
from odalib.inference.annealing.fit import fit_rows
from odalib.inference.annealing.groups import MAX_CLASSES
from odalib.inference.annealing.local.base import Partition
from odalib.inference.annealing.local.class_vote import ClassVote
from odalib.inference.annealing.local.polish import polish_pass
from odalib.inference.annealing.rows import RowBlocks
from tests.oracles.divergences import CLOSED_FORMS, CURVATURES, draw_rows
from tests.oracles.votes import class_votes, log_probabilities, pulls

from ..problems import make_settings, random_codebook

names = pytest.mark.parametrize("name", CLOSED_FORMS)
CLASSES, TEMPERATURE = np.array([1, 0, 0, 2, 1]), 0.7
# Cells above them, of a tree; the last has no rows.
OF_CODEVECTORS = np.array([0, 0, 1, 1, 2])


def votes_of(name, n_rows=25, seed=0):
    """Rows, weights, their classes, and codevectors of three classes."""
    x, random = draw_rows(name, n_rows, 2, seed), np.random.default_rng(seed)
    plain = random_codebook(draw_rows(name, 20, 2, seed), len(CLASSES), seed)
    codebook = Codebook(plain.points, plain.weights, CLASSES)
    return (
        x,
        random.uniform(0.3, 2.0, n_rows),
        random.integers(3, size=n_rows),
        codebook,
    )


def log_likelihood(d, x, weights, y, codebook, temperature=TEMPERATURE):
    """``sum w log p(c | x)``, row by row."""
    total, classes = 0.0, codebook.groups
    for row, weight, truth in zip(x, weights, y, strict=True):
        apart = [d(row, mu) for mu in codebook.points]
        votes = class_votes(apart, codebook.weights, classes, 3, temperature, "bayes")
        total += weight * log_probabilities(votes)[truth]
    return total


def associations(d, x, weights, y, codebook, cells=None):
    """Weighted associations of rows with codevectors: of their class, and all.

    Of those of their cell, where codevectors are below cells.
    """
    q, p = np.zeros((2, len(codebook), len(x)))
    for n, (row, weight, truth) in enumerate(zip(x, weights, y, strict=True)):
        near = np.arange(len(codebook))
        if cells is not None:
            near = near[codebook.groups // MAX_CLASSES == cells[n]]
        apart = [d(row, mu) for mu in codebook.points[near]]
        own, every = pulls(
            apart, codebook.weights[near], CLASSES[near], truth, TEMPERATURE
        )
        q[near, n] = weight * np.array(own)
        p[near, n] = weight * np.array(every)
    return q, p


@pytest.mark.parametrize("tree", [False, True], ids=["", "tree"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["", "csr"])
@names
def test_step_by_its_equations(name, layout, tree, monkeypatch):
    """``sum (q - p)(x - mu) / (sum (q - p) + 2 max(sum q, sum p))``, in blocks.

    In a tree, of codevectors of the cell of a row; one in a cell of its own stays.
    """
    monkeypatch.setattr(module, "MAX_BLOCK", 4)
    x, weights, y, codebook = votes_of(name)
    cells = None
    if tree:
        codebook = replace(codebook, groups=CLASSES + MAX_CLASSES * OF_CODEVECTORS)
        own = np.random.default_rng(1).integers(4, size=len(x))
        cells, y = OF_CODEVECTORS[own], CLASSES[own]
    divergence, rows = as_divergence(name), RowBlocks(layout(x), weights)
    polished = polish_pass(rows, y, codebook, divergence, TEMPERATURE, cells)
    q, p = associations(CLOSED_FORMS[name], x, weights, y, codebook, cells)
    shares = []
    for i, mu in enumerate(codebook.points):
        held = 2.0 * max(q[i].sum(), p[i].sum()) or 1.0
        pull = (q[i] - p[i]) @ (x - mu)
        move = pull / ((q[i] - p[i]).sum() + held)
        # No coordinate goes further than half way to a bound of the domain.
        room = 0.5 * np.minimum(mu - divergence.lower, divergence.upper - mu)
        moved = mu + np.clip(move, -room, room)
        np.testing.assert_allclose(polished.points[i], moved, rtol=1e-9)
        factor = (q[i].sum() + held) / (p[i].sum() + held)
        shares.append(codebook.weights[i] * factor)
    shares = np.array(shares) / np.sum(shares)
    np.testing.assert_allclose(polished.weights, shares, rtol=1e-10)
    np.testing.assert_array_equal(polished.groups, codebook.groups)


@names
def test_direction_is_the_natural_gradient(name):
    """Against central differences of the log likelihood.

    ``sum (q - p)(x - mu) = T H^-1 dL / dmu`` with H the Hessian of phi, and
    ``sum (q - p) = dL / d log rho``.
    """
    x, weights, y, codebook = votes_of(name)
    d, step = CLOSED_FORMS[name], 1e-5
    q, p = associations(d, x, weights, y, codebook)

    def slope(book, other):
        """Of the log likelihood between two codebooks, two steps apart."""
        ends = [log_likelihood(d, x, weights, y, end) for end in (other, book)]
        return (ends[0] - ends[1]) / (2.0 * step)

    for i, mu in enumerate(codebook.points):
        gradient = []
        for j in range(2):
            away = np.zeros_like(codebook.points)
            away[i, j] = step
            ends = (
                codebook.moved(codebook.points + sign * away, codebook.weights)
                for sign in (-1.0, 1.0)
            )
            gradient.append(slope(*ends))
        natural = TEMPERATURE * np.array(gradient) / CURVATURES[name](mu)
        pull = (q[i] - p[i]) @ (x - mu)
        np.testing.assert_allclose(pull, natural, rtol=2e-5, atol=1e-7)
        factor = np.where(np.arange(len(CLASSES)) == i, np.exp(step), 1.0)
        ends = (
            codebook.moved(codebook.points, codebook.weights * factor**sign)
            for sign in (-1.0, 1.0)
        )
        surplus = (q[i] - p[i]).sum()
        assert surplus == pytest.approx(slope(*ends), rel=2e-5, abs=1e-7)


def fitted(name, seed, coldness):
    """Rows of classes that overlap, and the codebook and vote of a fit."""
    x, noise = draw_rows(name, 60, 2, seed), np.random.default_rng(seed).normal(size=60)
    y = (x[:, 0] > np.median(x[:, 0])).astype(int) + (noise > 1.0)
    settings = make_settings(divergence=name, n_codevectors=6)
    solution = fit_rows(x, np.ones(60), settings, groups=y)
    partition = Partition(solution.divergence, solution.codebook, solution.shift)
    batch = Batch(x, np.ones(60), y)
    spec = ClassVote(("bayes",), 0.0, True, coldness=coldness)
    return batch, partition, spec.begin(batch, partition, None, 1).temperature


@pytest.mark.parametrize("coldness", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("name", ["squared_euclidean", "itakura_saito", "logistic"])
def test_polish_of_a_fit_climbs(name, coldness):
    """The likelihood of the classes, pass by pass."""
    for seed in range(2):
        batch, partition, temperature = fitted(name, seed, coldness)
        rows = RowBlocks(batch.rows, batch.weights, partition.shift)
        x, book, heights = rows.select(slice(None)), partition.codebook, []
        for _ in range(5):
            heights.append(
                log_likelihood(
                    CLOSED_FORMS[name],
                    x,
                    batch.weights,
                    batch.targets,
                    book,
                    temperature,
                )
            )
            book = polish_pass(
                rows, batch.targets, book, partition.divergence, temperature
            )
        assert (np.diff(heights) > 0.0).all()


@given(
    name=st.sampled_from(list(CLOSED_FORMS)),
    temperature=st.sampled_from([0.05, 0.7, 10.0]),
    seed=st.integers(0, 999),
)
def test_polished_codevectors_stay_in_the_domain_with_positive_weights(
    name, temperature, seed
):
    x, weights, y, codebook = votes_of(name, seed=seed)
    divergence, rows = as_divergence(name), RowBlocks(x, weights)
    for _ in range(8):
        codebook = polish_pass(rows, y, codebook, divergence, temperature)
        divergence.check_domain(codebook.points)
        assert (codebook.weights > 0.0).all()
        assert codebook.weights.sum() == pytest.approx(1.0, rel=1e-12)
        assert codebook.groups is CLASSES


def test_polish_in_a_metric_is_that_of_transformed_rows():
    """The step does not see the Hessian: rows times L, for the precision L L'."""
    x, weights, y, codebook = votes_of("squared_euclidean")
    factor = np.array([[1.5, 0.0], [0.4, 0.7]])
    metric = Mahalanobis(factor @ factor.T)
    one = polish_pass(RowBlocks(x, weights), y, codebook, metric, TEMPERATURE)
    turned = codebook.moved(codebook.points @ factor, codebook.weights)
    other = polish_pass(
        RowBlocks(x @ factor, weights),
        y,
        turned,
        as_divergence("squared_euclidean"),
        TEMPERATURE,
    )
    np.testing.assert_allclose(one.points @ factor, other.points, rtol=1e-10)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-10)


def test_nothing_moves_where_all_rows_are_of_one_class():
    x, weights, _, codebook = votes_of("squared_euclidean")
    alone = Codebook(codebook.points, codebook.weights, np.full(5, 3))
    polished = polish_pass(
        RowBlocks(x, weights),
        np.full(25, 3),
        alone,
        as_divergence("squared_euclidean"),
        TEMPERATURE,
    )
    np.testing.assert_allclose(polished.points, alone.points, rtol=1e-12)
    np.testing.assert_allclose(polished.weights, alone.weights, rtol=1e-12)


@pytest.mark.parametrize("shrinkage", [None, 0.3])
def test_a_fit_is_polished_as_often_as_chosen(shrinkage):
    """In the metric of the vote, at the temperature of the polish."""
    x, weights, y, _ = votes_of("squared_euclidean", 60)
    x = x + np.array([20.0, -9.0])
    solution = fit_rows(x, weights, make_settings(n_codevectors=6), groups=y)
    partition = Partition(solution.divergence, solution.codebook, solution.shift)
    spec = ClassVote(
        ("bayes",),
        np.inf,
        True,
        has_metric=shrinkage is not None,
        shrinkage=shrinkage,
        coldness=9.0,
        n_passes=3,
        polish_coldness=1.5,
    )
    batch = Batch(x, weights, y)
    vote = spec.begin(batch, partition, None, 1)
    metric = solution.divergence if shrinkage is None else Mahalanobis(vote.precision)
    spread = vote.spread if shrinkage is None else np.sum(vote.precision * vote.within)
    expected = [solution.codebook]
    rows = RowBlocks(x, weights, solution.shift)
    for _ in range(3):
        expected.append(polish_pass(rows, y, expected[-1], metric, spread / 1.5))
    books = list(spec.polished(batch, partition, vote, 1, None))
    assert len(books) == 3
    for book, same in zip(books, expected[1:], strict=True):
        np.testing.assert_allclose(book.points, same.points, rtol=1e-12)
    finished = spec.finish(batch, solution, vote, 1, None)
    np.testing.assert_array_equal(finished.points, books[-1].points)
    plain = ClassVote(("bayes",), 0.0, False)
    assert plain.finish(batch, solution, vote, 1, None) is solution.codebook

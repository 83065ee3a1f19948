"""What a problem holds of its rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.annealing.codebook import Codebook
from odalib.inference.annealing.draws import row_phases, uniforms_of
from tests.oracles.divergences import CLOSED_FORMS, draw_rows

from .problems import make_problem, make_schedule, random_codebook


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_losses_are_divergences_from_the_given_codevectors(name, layout):
    x = draw_rows(name, 20, 3, 0)
    problem, codebook = make_problem(layout(x), name), random_codebook(x, 4)
    labels = np.arange(20) % 4
    expected = [
        CLOSED_FORMS[name](row, codebook.points[label])
        for row, label in zip(x, labels, strict=True)
    ]
    np.testing.assert_allclose(problem.losses(codebook, labels), expected, rtol=1e-10)


def test_sums_and_signs():
    x, weights = draw_rows("itakura_saito", 20, 3, 0), np.linspace(1.0, 2.0, 20)
    problem = make_problem(x, "itakura_saito", weights, seed=5)
    assert problem.total_phi == pytest.approx(
        weights @ -np.log(x).sum(axis=1), rel=1e-12
    )
    np.testing.assert_allclose(problem.mean, weights @ x / weights.sum(), rtol=1e-13)
    scale = np.sqrt(np.average((x - problem.mean) ** 2, axis=0, weights=weights).mean())
    phases = row_phases(x, problem.mean, scale, 5)
    np.testing.assert_allclose(problem.uniforms(3), uniforms_of(phases, 3), atol=1e-7)
    expected = 2.0 * uniforms_of(phases, 0) - 1.0
    np.testing.assert_allclose(problem.signs, expected, atol=1e-7)


def codebook_of(weights, groups=None):
    points = np.zeros((len(weights), 1))
    groups = None if groups is None else np.array(groups)
    return Codebook(points, np.asarray(weights, dtype=float), groups)


def test_first_temperature_and_idle_codevectors():
    assert make_schedule().first_temperature(8.0) == pytest.approx(8.4)
    assert make_schedule(max_temperature=3.0).first_temperature(8.0) == 3.0
    schedule = make_schedule(idle_tol=0.1)
    weights = np.array([0.5, 0.1, 0.0999, 0.0])
    assert schedule.not_idle(codebook_of(weights)).tolist() == [
        True,
        True,
        False,
        False,
    ]
    kept = make_schedule(idle_tol=0.0).not_idle(codebook_of([1e-300, 0.0]))
    assert kept.tolist() == [True, False]


def test_the_heaviest_codevector_of_a_group_is_never_idle():
    codebook = codebook_of([0.9, 0.05, 0.04, 0.01], groups=[3, 3, 7, 7])
    kept = make_schedule(idle_tol=0.1).not_idle(codebook)
    assert kept.tolist() == [True, False, True, False]

"""IsingModel: incomplete rows, and rows that arrive over time."""

import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from odalib import IsingModel
from odalib.inference.pairwise import incomplete_fit
from tests.binary_rows import drawn, with_gaps

NAN = np.nan


@pytest.fixture(scope="module")
def rows():
    return drawn(500)


def test_rows_with_gaps_are_learnt_from_what_they_hold():
    rows = drawn(2000, n=4)
    missing, _ = with_gaps(rows, 0.2)
    whole = IsingModel(random_state=0).fit(rows)
    found = IsingModel(random_state=0).fit(missing)
    known = ~np.isnan(missing).any(axis=1)
    few = IsingModel().fit(missing[known])

    def error(other):
        return np.abs(other.coupling_ - whole.coupling_).max()

    assert error(found) < 0.1 < 0.5 and error(found) < error(few)
    assert found.converged_
    again = IsingModel(random_state=0).fit(missing[::-1])
    np.testing.assert_array_equal(again.coupling_, found.coupling_)
    # So few gaps are filled in all ways: nothing is drawn.
    other = IsingModel(random_state=1).fit(missing)
    np.testing.assert_array_equal(other.coupling_, found.coupling_)


def test_rows_without_any_entry_are_left_out(rows):
    nothing = np.full((3, 5), NAN)
    with_them = IsingModel().fit(np.vstack([nothing, rows]))
    np.testing.assert_array_equal(with_them.coupling_, IsingModel().fit(rows).coupling_)
    assert with_them.n_samples_seen_ == 500
    with pytest.raises(ValueError, match="Every entry of X is missing"):
        IsingModel().fit(nothing)


def test_a_stream_with_gaps_may_be_cut_and_copied(rows):
    missing, _ = with_gaps(rows[:200])
    whole = IsingModel(random_state=0).partial_fit(missing)
    cut = IsingModel(random_state=0)
    for part in np.array_split(missing, 9):
        cut.partial_fit(part)
    np.testing.assert_array_equal(cut.coupling_, whole.coupling_)
    assert cut.score(rows) == whole.score(rows)


def test_a_stream_comes_near_the_fit(rows):
    X, fresh = drawn(3000, seed=5), drawn(3000, seed=6)
    fit, stream = IsingModel().fit(X), IsingModel()
    for part in np.array_split(X, 10):
        stream.partial_fit(part)
    loss = fit.score(fresh) - stream.score(fresh)
    assert loss < 0.02 < fit.score(fresh) + 5 * math.log(2)
    assert not hasattr(stream, "n_iter_")
    # Marginals are inferred anew after a call.
    before = fit.score(fresh), fit.magnetisations_
    fit.partial_fit(fresh)
    assert fit.score(fresh) > max(before[0], stream.score(fresh))
    assert (fit.magnetisations_ != before[1]).all()


def test_a_stream_has_steps_of_the_pseudo_likelihood_only(rows):
    for params in ({"penalty": "l1"}, {"fit_method": "likelihood"}):
        with pytest.raises(ValueError, match="needs penalty='l2' and fit_method="):
            IsingModel(**params).partial_fit(rows)
    stream = IsingModel().partial_fit(rows)
    with pytest.raises(ValueError, match="a unit of weight is an update"):
        stream.partial_fit(rows, sample_weight=np.full(len(rows), 1e6))
    with pytest.raises(ValueError, match="alpha cannot change in mid-stream"):
        stream.set_params(alpha=1.0).partial_fit(rows)


def test_the_coding_is_that_of_the_first_rows():
    stream = IsingModel().partial_fit([[0, 1], [1, 1]])
    before = stream.coupling_
    with pytest.raises(ValueError, match="X holds -1 in row 1, column 0"):
        stream.partial_fit([[0, 1], [-1, 1]])
    assert stream.coupling_ is before
    with pytest.raises(ValueError, match="X holds 0 in row 0"):
        IsingModel(coding="plus_minus_one").fit([[0, 1], [1, 1]])
    # Ones alone are taken for {0, 1}, unless one says otherwise.
    said = IsingModel(coding="plus_minus_one").partial_fit([[1, 1]])
    said.partial_fit([[-1, 1]])
    with pytest.raises(ValueError, match="X holds -1"):
        IsingModel().partial_fit([[1, 1]]).partial_fit([[-1, 1]])


def test_what_was_fitted_answers_whatever_is_set_afterwards(rows):
    found = IsingModel(binarize=2.5).fit(2 + rows)
    before = found.score_samples(2 + rows)
    found.set_params(binarize=None, inference="mean_field")
    np.testing.assert_array_equal(found.score_samples(2 + rows), before)
    with pytest.raises(ValueError, match="binarize cannot change in mid-stream"):
        found.partial_fit(rows)
    stream = IsingModel().partial_fit(rows).set_params(inference="mean_field")
    exact = IsingModel().partial_fit(rows)
    assert stream.log_partition_ == exact.log_partition_


def test_a_fit_whose_parameters_drift_says_by_how_much(monkeypatch):
    monkeypatch.setattr(incomplete_fit, "ROUNDS", (20,))
    monkeypatch.setattr(incomplete_fit, "MORE_ROUNDS", ())
    random = np.random.default_rng(0)
    X = np.column_stack([random.random(2000) < 0.5] * 2).astype(float)
    X[:, 1] = np.abs(X[:, 1] - (random.random(2000) < 0.17))
    X[40:, 1] = NAN
    model = IsingModel(1.0, fit_method="likelihood", random_state=0)
    with pytest.warns(ConvergenceWarning, match="20 rounds .* still drifts"):
        model.fit(X)
    assert not model.converged_

"""IsingModel: codings, densities, missing entries, samples, refusals."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import expit, logsumexp
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer

from odalib import IsingModel, infer_ising
from odalib.estimators import _binary
from odalib.inference.pairwise import conditioning
from tests.binary_rows import all_rows, drawn, log_weights, with_gaps

NAN = np.nan


@pytest.fixture(scope="module")
def rows():
    return drawn(500)


@pytest.fixture(scope="module")
def fitted(rows):
    return IsingModel(random_state=0).fit(rows)


def test_all_codings_are_one_model(rows, fitted):
    missing, gaps = with_gaps(rows[:20])
    for coded, lower in (
        (rows, 0.0),
        (2.0 * rows - 1.0, -1.0),
        (rows == 1.0, 0.0),
        (rows.astype(np.int8), 0.0),
        ((2 * rows - 1).astype(np.int8), -1.0),
    ):
        other = IsingModel().fit(coded)
        np.testing.assert_array_equal(other.coupling_, fitted.coupling_)
        np.testing.assert_array_equal(
            other.score_samples(coded), fitted.score_samples(rows)
        )
        p = fitted.predict_proba_missing(missing)
        asked = np.where(gaps, NAN, lower + (1.0 - lower) * rows[:20])
        filled = other.transform(asked)
        np.testing.assert_allclose(filled, lower + (1.0 - lower) * p, atol=1e-15)
        np.testing.assert_array_equal(other.predict_proba_missing(asked), p)
        np.testing.assert_array_equal(filled[~gaps], asked[~gaps])


def test_densities_are_those_of_all_rows_and_sum_to_one(fitted):
    rows = all_rows(5)
    logs = log_weights(rows, fitted.coupling_, fitted.intercept_)
    expected = logs - logsumexp(logs)
    found = fitted.score_samples(rows)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-12)
    assert fitted.log_partition_ == pytest.approx(logsumexp(logs), abs=1e-12)
    spins, shares = 2 * rows - 1, np.exp(expected)
    means = shares @ spins
    np.testing.assert_allclose(fitted.magnetisations_, means, rtol=0, atol=1e-12)
    covariances = (spins.T * shares) @ spins - np.outer(means, means)
    np.testing.assert_allclose(fitted.correlations_, covariances, rtol=0, atol=1e-12)


def test_a_row_with_gaps_has_the_density_of_what_was_observed(fitted):
    # Of one that has nothing, 1; of others, the sum over all ways to fill it.
    rows, densities = all_rows(5), np.exp(fitted.score_samples(all_rows(5)))
    for row in ([NAN] * 5, [1, NAN, 0, NAN, 1], [NAN, 0, NAN, NAN, NAN]):
        agree = ((rows == row) | np.isnan(row)).all(axis=1)
        found = fitted.score_samples([row])[0]
        assert found == pytest.approx(math.log(densities[agree].sum()), abs=1e-12)
        filled = fitted.transform([row])[0]
        expected = densities[agree] @ rows[agree] / densities[agree].sum()
        np.testing.assert_allclose(filled, expected, rtol=0, atol=1e-12)


def test_score_is_the_weighted_mean(rows, fitted):
    found = fitted.score_samples(rows)
    assert fitted.score(rows) == pytest.approx(found.mean(), rel=1e-12)
    weight = np.arange(1.0, 501.0)
    expected = weight @ found / weight.sum()
    assert fitted.score(rows, sample_weight=weight) == pytest.approx(expected)


def test_log_probabilities_are_sums_over_columns():
    # Case 52: of constant columns they grow with the number, and it is said so.
    with pytest.warns(UserWarning, match="never vary: 'x0'.*, \\.\\.\\."):
        scores = [
            IsingModel().fit(X).score(X) for X in (np.ones((10, 10)), np.ones((10, 24)))
        ]
    assert scores[1] < scores[0] < 0.0
    assert "grow with" in " ".join(IsingModel.__doc__.split())


def test_beyond_enumeration_the_pair_correction_is_applied():
    rows = drawn(400, n=13, scale=0.2)
    X = np.hstack([rows, drawn(400, n=13, scale=0.2, seed=3)])
    found = IsingModel().fit(X)
    inference = infer_ising(found.coupling_, found.intercept_)
    assert inference.method == "adaptive_tap"
    corrected = inference.pair_corrected()
    assert found.log_partition_ == pytest.approx(corrected.log_partition, rel=1e-12)
    assert found.log_partition_ != pytest.approx(inference.log_partition, rel=1e-9)
    np.testing.assert_allclose(found.correlations_, corrected.correlations, atol=1e-12)
    # Half of the columns are near a model of 13, of which all rows are known.
    states = all_rows(13)
    halves = [
        logsumexp(log_weights(states, found.coupling_[s, s], found.intercept_[s]))
        for s in (slice(0, 13), slice(13, 26))
    ]
    assert found.log_partition_ == pytest.approx(sum(halves), abs=0.5)


@pytest.mark.parametrize(
    "X",
    [
        np.random.RandomState(0).rand(40, 4) * 7 - 2,
        np.array([[0.0, 1.0], [0.0, -1.0]]),
        np.array([[0, 1], [2, 0]]),
        np.array([[0.0, 0.5]]),
        sp.csr_array(np.array([[0.0, -1.0], [1.0, -1.0]])),
    ],
    ids=["real", "both codings", "counts", "probabilities", "sparse zeros"],
)
def test_data_that_are_not_binary_are_refused_by_the_codings_there_are(X):
    # Case 50.
    with pytest.raises(ValueError, match=r"row \d.*\{0, 1\}, \{-1, \+1\} or bool"):
        IsingModel().fit(X)


def test_the_row_that_is_refused_is_told_in_large_data(monkeypatch):
    monkeypatch.setattr(_binary, "BLOCK", 8)
    X = np.zeros((50, 2))
    X[29, 1] = 3.0
    for rows in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match="X holds 3 in row 29, column 1"):
            IsingModel().fit(rows)


def test_binarised_data_are_zeros_and_ones(rows, fitted):
    X = np.where(rows == 1.0, 3.0 + rows, -2.0)
    found = IsingModel(binarize=1.0).fit(X)
    np.testing.assert_array_equal(found.coupling_, fitted.coupling_)
    np.testing.assert_array_equal(found.transform(X), rows)
    assert IsingModel(binarize=3.0).fit(X[:, :2] + 0.0).transform([[3.0, 3.1]])[
        0
    ].tolist() == [0.0, 1.0]
    missing, gaps = with_gaps(X[:9])
    np.testing.assert_array_equal(
        found.transform(missing)[~gaps], rows[:9][~gaps], "observed entries"
    )
    signs = IsingModel(binarize=1.0, coding="plus_minus_one").fit(X)
    np.testing.assert_array_equal(signs.transform(X), 2 * rows - 1)


def test_sparse_rows_of_both_codings(rows, fitted):
    found = IsingModel().fit(sp.csr_array(rows))
    np.testing.assert_array_equal(found.coupling_, fitted.coupling_)
    np.testing.assert_array_equal(found.transform(sp.csc_array(rows)), rows)
    full = IsingModel().fit(sp.csr_array(2 * rows - 1))
    np.testing.assert_array_equal(full.coupling_, fitted.coupling_)


def test_columns_that_never_vary_are_named_and_finite():
    X = pd.DataFrame(drawn(60), columns=list("abcde")).assign(b=1.0, e=0.0)
    with pytest.warns(UserWarning, match="Columns that never vary: 'b', 'e'"):
        found = IsingModel().fit(X)
    assert np.isfinite(found.coupling_).all() and np.isfinite(found.intercept_).all()
    assert found.magnetisations_[1] > 0.8 and found.magnetisations_[4] < -0.8
    assert np.isfinite(found.score_samples(X)).all()


def test_columns_that_were_never_observed_are_fair_coins():
    X = pd.DataFrame(drawn(60), columns=list("abcde")).assign(b=NAN)
    with pytest.warns(UserWarning, match="Columns that were never observed: 'b'"):
        found = IsingModel().fit(X)
    assert found.magnetisations_[1] == pytest.approx(0.0, abs=1e-9)
    assert not found.coupling_[1].any()


def test_a_large_pair_correction_is_warned_of(rows):
    # Four columns in copies with errors: exact up to 24, and far off beyond.
    random = np.random.default_rng(0)
    X = np.repeat(random.random((300, 4)) < 0.5, 7, axis=1).astype(float)
    X = np.abs(X - (random.random(X.shape) < 0.05))
    exact = IsingModel().fit(X[:, :24])
    inference = infer_ising(exact.coupling_, exact.intercept_, "exact")
    assert exact.log_partition_ == pytest.approx(inference.log_partition, rel=1e-12)
    with pytest.warns(UserWarning, match="changes it by .* nats.*mean nothing"):
        found = IsingModel().fit(X)
    after = infer_ising(found.coupling_, found.intercept_).log_partition
    assert abs(found.log_partition_ - after) > 0.5


def test_inference_that_cannot_serve_the_columns_is_refused_at_once():
    for method, n in (("exact", 25), ("double_loop", 501)):
        X = np.eye(n)
        message = f"inference='{method}' .*at most {n - 1} columns, and X has {n}"
        for learn in ("fit", "partial_fit"):
            unfitted = IsingModel(inference=method)
            with pytest.raises(ValueError, match=message):
                getattr(unfitted, learn)(X)
            assert not hasattr(unfitted, "log_partition_")
    with pytest.raises(ValueError, match="binarize=True is no threshold"):
        IsingModel(binarize=True).fit(np.eye(3))


def test_fewer_rows_than_columns():
    X = drawn(6, n=10, scale=0.1)
    X[0], X[1] = 0.0, 1.0
    found = IsingModel().fit(X)
    assert found.converged_ and np.isfinite(found.score(X))
    assert np.abs(found.coupling_).max() < 1.0


def test_the_penalty_is_against_all_rows_together(rows):
    # Twice the rows under twice the penalty, but for the prior of the fields.
    one = IsingModel(10.0, tol=1e-8).fit(rows)
    two = IsingModel(20.0, tol=1e-8).fit(np.vstack([rows, rows]))
    np.testing.assert_allclose(two.coupling_, one.coupling_, rtol=0, atol=1e-2)
    same = IsingModel(10.0, tol=1e-8).fit(np.vstack([rows, rows]))
    assert np.abs(same.coupling_).sum() > 1.01 * np.abs(one.coupling_).sum()


def test_the_penalty_of_absolute_values_makes_a_sparse_graph(rows):
    found = IsingModel(60.0, penalty="l1").fit(rows)
    edges = found.edges()
    zeros = np.count_nonzero(found.coupling_[np.triu_indices(5, 1)] == 0.0)
    assert 0 < zeros < 10 and len(edges) == 10 - zeros


def test_the_likelihood_of_few_columns(rows, fitted):
    found = IsingModel(0.0, fit_method="likelihood", tol=1e-7).fit(rows)
    # Moments of the model are those of the rows, but for the prior of the fields.
    means = (2 * rows - 1).mean(axis=0)
    excess = 500 * (means - found.magnetisations_)
    np.testing.assert_allclose(excess, found.intercept_, rtol=0, atol=1e-3)
    assert found.score(rows) > fitted.score(rows)
    with pytest.raises(ValueError, match="at most 20 columns, and X has 21"):
        IsingModel(fit_method="likelihood").fit(np.eye(21))


def test_edges_are_named_and_in_order(rows):
    frame = pd.DataFrame(rows, columns=["ape", "bee", "cat", "dog", "eel"])
    found = IsingModel().fit(frame)
    edges = found.edges()
    assert len(edges) == 10
    strengths = [abs(edge.coupling) for edge in edges]
    assert strengths == sorted(strengths, reverse=True)
    table = pd.DataFrame(found.coupling_, frame.columns, frame.columns)
    for edge in edges:
        assert edge.coupling == table.loc[edge.first, edge.second]
    assert found.edges(3) == edges[:3] and found.edges(0) == []
    assert list(pd.DataFrame(edges).columns) == ["first", "second", "coupling"]
    bare = IsingModel().fit(rows)
    assert bare.edges(1)[0].first.startswith("x")
    assert bare.edges(feature_names=list(frame.columns)) == edges
    for k in (-1, 2.5):
        with pytest.raises(ValueError, match=f"k={k} must be a whole number"):
            bare.edges(k)
    with pytest.raises(ValueError, match="4 names and X has 5 columns"):
        bare.edges(feature_names=list("abcd"))


def test_samples_have_the_moments_of_the_model(rows, fitted):
    X, r_hat = fitted.sample(4000, n_chains=4000, burn_in=200)
    assert X.shape == (4000, 5) and set(np.unique(X)) == {0.0, 1.0}
    means = 2 * X.mean(axis=0) - 1
    assert np.abs(means - fitted.magnetisations_).max() < 5 / math.sqrt(4000)
    covariances = 4 * np.cov(X.T)
    assert np.abs(covariances - fitted.correlations_).max() < 5 / math.sqrt(4000)
    assert (np.abs(r_hat - 1) < 0.05).all()
    np.testing.assert_array_equal(fitted.sample(7)[0], fitted.sample(7)[0])
    signs = IsingModel(random_state=0).fit((2 * rows - 1).astype(np.float32))
    X, _ = signs.sample(3)
    assert set(np.unique(X)) <= {-1.0, 1.0} and X.dtype == np.float32
    for wrong in ({"n_samples": 0}, {"n_samples": 2.5}, {"n_chains": 1}):
        name = next(iter(wrong))
        with pytest.raises(ValueError, match=f"{name}=.* must be a whole number"):
            fitted.sample(**wrong)


def test_chains_that_have_not_met_are_reported():
    # Two groups of rows, all zeros and all ones: a chain stays in its own.
    X = np.repeat([[0.0], [1.0]], 5000, axis=0) * np.ones(8)
    found = IsingModel(0.01, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="R-hat is .* Increase burn_in"):
        _, r_hat = found.sample(10, burn_in=100)
    assert r_hat.max() > 1.5


def test_a_fit_that_does_not_converge_says_so(rows):
    message = "after 1 iterations the gradient"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        found = IsingModel(max_iter=1).fit(rows)
    assert not found.converged_ and found.n_iter_ == 1
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning, match="take a larger tol"):
        IsingModel(tol=1e-15).fit(rows)


def test_inference_that_does_not_converge_offers_no_density(rows, monkeypatch):
    failing = partial(infer_ising, max_iter=1)
    monkeypatch.setattr(conditioning, "infer_ising", failing)
    with pytest.warns(ConvergenceWarning, match="'mean_field' did not") as caught:
        found = IsingModel(inference="mean_field").fit(rows)
    inference = failing(found.coupling_, found.intercept_, "mean_field")
    assert f"did not converge: {inference.failure}. " in str(caught[0].message)
    assert not found.converged_ and math.isnan(found.log_partition_)
    with pytest.raises(ValueError, match="log partition function is not known"):
        found.score_samples(rows)
    found = IsingModel().fit(rows)
    found._inference = "mean_field"
    gaps = np.where([[0], [1], [1]], NAN, rows[:3])
    with pytest.raises(ValueError, match=r"rows 1, 2 are not known.*'double_loop'"):
        found.score_samples(gaps)
    for fill in (found.transform, found.predict_proba_missing):
        with pytest.warns(ConvergenceWarning, match="in row 0 with miss") as caught:
            fill([[NAN, NAN, 0, 1, 1], [0, 1, 0, 1, 1]])
        assert caught[0].filename == __file__


def test_couplings_far_beyond_one_are_finite():
    # Copies of one column: the penalty alone keeps them apart from infinity.
    column = np.random.default_rng(0).random(1000) < 0.5
    X = np.column_stack([column] * 3)
    found = IsingModel(1e-6).fit(X)
    assert 1.0 < found.coupling_[0, 1] < 100.0
    assert found.score(X) == pytest.approx(-math.log(2), abs=1e-2)
    np.testing.assert_allclose(found.transform([[NAN, 1.0, 1.0]])[0, 0], 1, atol=1e-5)


def test_a_pair_of_columns_is_a_logistic_regression(fitted):
    # One gap: the probability is that of the local field.
    row = np.array([1.0, 0.0, 1.0, 1.0, NAN])
    local = fitted.intercept_[4] + fitted.coupling_[4, :4] @ (2 * row[:4] - 1)
    found = fitted.predict_proba_missing([row])[0, 4]
    assert found == pytest.approx(expit(2 * local), abs=1e-14)


def test_frames_with_missing_values_of_pandas(rows, fitted):
    frame = pd.DataFrame(rows[:30] == 1.0, columns=list("abcde")).astype("boolean")
    frame.loc[3, "b"] = pd.NA
    found = IsingModel(random_state=0).fit(frame).set_output(transform="pandas")
    filled = found.transform(frame)
    assert 0.0 < filled.loc[3, "b"] < 1.0
    assert filled.drop(index=3).equals(frame.drop(index=3).astype(float))


def test_searches_and_pipelines(rows):
    pipeline = make_pipeline(Binarizer(), IsingModel())
    grid = {"isingmodel__alpha": [1.0, 10.0, 1e6]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(rows)
    assert search.best_params_["isingmodel__alpha"] < 1e6
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_nothing_is_answered_before_a_fit(rows):
    unfitted = IsingModel()
    for ask in (
        lambda: unfitted.score_samples(rows),
        lambda: unfitted.transform(rows),
        lambda: unfitted.predict_proba_missing(rows),
        lambda: unfitted.sample(),
        lambda: unfitted.edges(),
    ):
        with pytest.raises(NotFittedError):
            ask()

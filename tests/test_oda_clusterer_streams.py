"""Streams and refusals of ODAClusterer that the conformance suite does not reach."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import make_blobs

from odalib import Mahalanobis, ODAClusterer

BLOBS, _ = make_blobs(
    12_000, centers=6, n_features=4, center_box=(-10, 10), random_state=0
)


def test_a_chosen_number_stays_as_a_stream_goes_on():
    model = ODAClusterer(random_state=0)
    numbers = [model.partial_fit(part).n_clusters_ for part in np.split(BLOBS, 4)]
    assert numbers == [6, 6, 6, 6]
    fitted = ODAClusterer(random_state=0).fit(BLOBS[:6000])
    assert fitted.partial_fit(BLOBS[6000:]).n_clusters_ == 6


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_a_stream_that_starts_with_equal_rows_waits_for_others(factor):
    X = factor * BLOBS
    best = ODAClusterer(6, random_state=0).fit(X).score(X)
    model = ODAClusterer(6, random_state=0)
    for _ in range(3):
        model.partial_fit(np.zeros((1000, 4)))
    model.partial_fit(X)
    assert model.n_samples_seen_ == 15_000
    # One of the six stands for the zeros that came first.
    five = ODAClusterer(5, random_state=0).fit(X).score(X)
    assert model.score(X) >= 1.01 * five
    assert best >= model.score(X)


def test_the_layout_of_rows_leaves_the_bits_of_a_stream():
    """Calls of one row have both orders, and what they are put together in has one."""
    X = np.repeat(BLOBS[:3000], 3, axis=1)
    expected = ODAClusterer(6, random_state=0).partial_fit(X)
    for cuts in ([1000], [*range(1, 100), 1000]):
        model = ODAClusterer(6, random_state=0)
        for part in np.split(X, cuts):
            model.partial_fit(np.asfortranarray(part))
        np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)


@pytest.mark.parametrize("exponent", [-260, 260])
def test_the_number_is_found_at_extreme_scales(exponent):
    """The square of a square would overflow, or vanish."""
    model = ODAClusterer(random_state=0).fit(BLOBS[:1000] * 2.0**exponent)
    assert model.n_clusters_ == 6


@pytest.mark.parametrize(
    ("factor", "message"), [(1e-160, "squares vanish"), (1e145, "squares overflow")]
)
def test_values_whose_squares_are_no_numbers_are_refused(factor, message):
    with pytest.raises(ValueError, match=message):
        ODAClusterer(6).fit(BLOBS[:100] * factor)


@pytest.mark.parametrize("divergence", ["kullback_leibler", "itakura_saito"])
def test_an_offset_that_drowns_the_spread_is_refused(divergence):
    X = BLOBS[:300] - BLOBS[:300].min() + 1.0
    near = ODAClusterer(6, divergence=divergence, random_state=0).fit(X + 1e3)
    assert near.n_clusters_ == 6
    with pytest.raises(ValueError, match="large offset and little spread"):
        ODAClusterer(6, divergence=divergence).fit(X + 1e9)
    equal = ODAClusterer(1, divergence=divergence).fit(np.full((9, 2), 1e9 / 3))
    np.testing.assert_allclose(equal.cluster_centers_, 1e9 / 3, rtol=1e-12)


def test_tiny_values_under_itakura_saito_are_refused():
    with pytest.raises(ValueError, match=r"row 1, column 0 of X holds 1e-160"):
        ODAClusterer(2, divergence="itakura_saito").fit([[1.0], [1e-160], [2.0]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_rows", [40, 3000])
def test_labels_of_the_last_call_are_those_of_its_rows(dtype, n_rows):
    """Also where the caller has overwritten them since, and after pickling."""
    X = BLOBS.astype(dtype)
    model = ODAClusterer(6, random_state=0).partial_fit(X[:4000])
    buffer = X[4000 : 4000 + n_rows].copy()
    model.partial_fit(buffer)
    expected = model.predict(buffer)
    inertia = -n_rows * model.score(buffer)
    stored, buffer[:] = pickle.dumps(model), 0.0
    for other in (model, pickle.loads(stored)):
        np.testing.assert_array_equal(other.labels_, expected)
        assert other.inertia_ == pytest.approx(inertia, rel=1e-6)


def test_rows_are_let_go_when_their_labels_are_known():
    model = ODAClusterer(6, random_state=0).partial_fit(BLOBS[:4000])
    labels = model.labels_
    assert set(vars(model._last)) == {"assigned"}
    np.testing.assert_array_equal(model.labels_, labels)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (1.7e308, "more than a float holds"),
        (1e300, "overflow or vanish"),
        (5e-324, "overflow or vanish"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_weights_that_sums_cannot_hold_are_refused(weight, message, method):
    X = 1e8 * BLOBS[:3000]
    if weight < 1.0:
        X = 1e-8 * BLOBS[:3000]
    with pytest.raises(ValueError, match=message):
        getattr(ODAClusterer(6), method)(X, sample_weight=np.full(3000, weight))


@pytest.mark.parametrize("weight", [1e-250, 1e250])
def test_only_ratios_of_weights_count(weight):
    """Up to rounding; weights of a power of two would not change a bit."""
    plain = ODAClusterer(6, random_state=0).fit(BLOBS[:2000])
    other = ODAClusterer(6, random_state=0)
    other.fit(BLOBS[:2000], sample_weight=np.full(2000, weight))
    np.testing.assert_allclose(
        other.cluster_centers_, plain.cluster_centers_, rtol=1e-9
    )


@pytest.mark.parametrize(
    ("name", "value"), [("n_clusters", 6.0), ("max_iter", 10_000.0), ("tol", "1e-4")]
)
def test_a_parameter_of_another_type_is_refused_in_mid_stream(name, value):
    model = ODAClusterer(6, random_state=0).partial_fit(BLOBS[:4000])
    with pytest.raises(ValueError, match=name):
        model.set_params(**{name: value}).partial_fit(BLOBS[4000:5000])


def test_a_pickle_holds_no_rows():
    model = ODAClusterer(6, random_state=0).partial_fit(BLOBS[:4000])
    size = len(pickle.dumps(model))
    assert len(pickle.dumps(model.partial_fit(BLOBS[4000:10_144]))) < 2 * size + 50_000


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_steps_of_one_row_keep_up_with_those_of_many(dtype):
    X = BLOBS.astype(dtype)
    many = ODAClusterer(6, random_state=0).partial_fit(X)
    one = ODAClusterer(6, batch_size=1, random_state=0).partial_fit(X)
    assert one.cluster_centers_.dtype == dtype
    assert one.n_iter_ > len(X) - 2048 > many.n_iter_
    assert one.score(X) == pytest.approx(many.score(X), rel=0.01)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_a_call_that_is_refused_changes_nothing(bad):
    model = ODAClusterer(6, random_state=0).partial_fit(BLOBS[:4000])
    centers, labels = model.cluster_centers_, model.labels_
    rows = BLOBS[4000:5000].copy()
    rows[7, 2] = bad
    with pytest.raises(ValueError):
        model.partial_fit(rows)
    assert model.n_samples_seen_ == 4000
    np.testing.assert_array_equal(model.cluster_centers_, centers)
    np.testing.assert_array_equal(model.labels_, labels)


def test_a_failed_fit_keeps_what_was_fitted():
    model = ODAClusterer(3, divergence=Mahalanobis(np.eye(4))).fit(BLOBS[:100])
    before = model.predict(BLOBS)
    with pytest.raises(ValueError, match="the precision"):
        model.fit(BLOBS[:100, :3])
    np.testing.assert_array_equal(model.predict(BLOBS), before)


@pytest.mark.parametrize(
    "parameters", [{"n_clusters": 0}, {"step": "typo"}, {"batch_size": -1}]
)
def test_parameters_set_in_mid_stream_are_validated(parameters):
    model = ODAClusterer(3, random_state=0).partial_fit(BLOBS[:100])
    with pytest.raises(ValueError, match=next(iter(parameters))):
        model.set_params(**parameters).partial_fit(BLOBS[:100])
    assert model.n_samples_seen_ == 100


@pytest.mark.parametrize(("before", "after"), [(8, 3), (3, 8)])
def test_the_number_may_change_in_mid_stream(before, after):
    model = ODAClusterer(before, random_state=0).partial_fit(BLOBS[:3000])
    model.set_params(n_clusters=after).partial_fit(BLOBS[3000:])
    assert model.n_clusters_ == after


def test_parameters_are_not_validated_where_scikit_learn_is_told_so():
    with config_context(skip_parameter_validation=True):
        model = ODAClusterer(6, verbose="yes", random_state=0).partial_fit(BLOBS[:300])
    with pytest.raises(ValueError, match="verbose"):
        model.set_params(verbose="no").partial_fit(BLOBS[:300])


def test_the_divergence_of_a_stream_stays():
    model = ODAClusterer(3, random_state=0).fit(BLOBS[:100])
    model.set_params(divergence="kullback_leibler")
    assert model.partial_fit(BLOBS[100:200]).predict(BLOBS).max() == 2


def test_weights_of_every_size_are_drawn_without_a_warning():
    random = np.random.default_rng(1)
    X = np.round(random.standard_normal((100, 1)), 1)
    weights = 10.0 ** random.uniform(-12, 12, 100)
    for seed in range(10):
        model = ODAClusterer(random_state=seed).fit(X, sample_weight=weights)
        assert np.isfinite(model.annealing_path_.entropy).all()
        assert model.annealing_path_.entropy.min() > -1e-3

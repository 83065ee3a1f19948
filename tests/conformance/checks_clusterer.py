"""Checks that the methods and attributes of a clusterer tell one story."""

import numpy as np

from .comparing import assert_same_bits, needs

KIND = "methods tell one story"


@needs("clusterer", "flat")
def check_predict_is_the_nearest_codevector(subject):
    """``predict`` is the argmin of ``transform``."""
    for X, _ in (subject.groups(), subject.cloud()):
        model = subject.make().fit(X)
        distances = model.transform(X)
        n_clusters = len(model.cluster_centers_)
        assert distances.shape == (len(X), n_clusters), "one column per codevector"
        np.testing.assert_array_equal(
            model.predict(X), distances.argmin(axis=1), "predict is not the nearest"
        )


@needs("clusterer")
def check_labels_are_those_of_predict(subject):
    """``labels_`` are what ``predict`` says of the rows of the fit."""
    for X, _ in (subject.groups(), subject.cloud()):
        model = subject.make().fit(X)
        np.testing.assert_array_equal(
            model.labels_, model.predict(X), "labels_ are not those of predict"
        )


@needs("clusterer", "predict_proba")
def check_probabilities_are_those_of_the_codevectors(subject):
    """One probability per codevector, not negative, that add up to one."""
    for X, _ in (subject.groups(), subject.cloud()):
        model = subject.make().fit(X)
        probability = model.predict_proba(X)
        n_clusters = len(model.cluster_centers_)
        assert probability.shape == (len(X), n_clusters), "one column per codevector"
        assert (probability >= 0).all(), "a negative probability"
        np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)


@needs("clusterer", "score", "sample_weight")
def check_score_is_the_weighted_mean_divergence(subject):
    """``score`` and ``inertia_`` follow from ``transform`` and the weights."""
    X, _ = subject.cloud()
    weight = np.random.default_rng(8).uniform(0.0, 2.0, len(X))
    model = subject.make().fit(X, sample_weight=weight)
    nearest = model.transform(X)[np.arange(len(X)), model.predict(X)]
    np.testing.assert_allclose(model.inertia_, weight @ nearest, rtol=1e-9)
    np.testing.assert_allclose(model.score(X), -nearest.mean(), rtol=1e-9)
    np.testing.assert_allclose(
        model.score(X, sample_weight=weight),
        -np.average(nearest, weights=weight),
        rtol=1e-9,
        err_msg="the weighted score",
    )


@needs("clusterer", "sample_weight")
def check_shortcuts_are_fit_and_then_the_method(subject):
    """``fit_predict`` and ``fit_transform`` pass on the weights, to the last bit."""
    X, _ = subject.cloud()
    weight = np.random.default_rng(9).uniform(0.0, 2.0, len(X))
    model = subject.make().fit(X, sample_weight=weight)
    plain = subject.make().fit(X)
    made = {
        "fit_predict": subject.make().fit_predict(X),
        "weighted fit_predict": subject.make().fit_predict(X, sample_weight=weight),
        "fit_transform": subject.make().fit_transform(X),
        "weighted fit_transform": subject.make().fit_transform(X, sample_weight=weight),
    }
    expected = {
        "fit_predict": plain.labels_,
        "weighted fit_predict": model.labels_,
        "fit_transform": plain.transform(X),
        "weighted fit_transform": model.transform(X),
    }
    assert_same_bits(made, expected, "a shortcut differs from fit and the method")


@needs("clusterer", "n_clusters")
def check_the_codebook_has_the_size_asked_for(subject):
    """As many codevectors as asked for, with weights that add up to one."""
    X, _ = subject.cloud()
    for n_clusters in (1, 2, 7):
        model = subject.make(n_clusters=n_clusters).fit(X)
        found = model.cluster_centers_.shape
        assert found == (n_clusters, X.shape[1]), f"{n_clusters} asked for, has {found}"
        np.testing.assert_array_equal(
            np.unique(model.predict(X)), np.arange(n_clusters), "unused codevectors"
        )
        if hasattr(model, "cluster_weights_"):
            weights = model.cluster_weights_
            assert weights.shape == (n_clusters,), "one weight per codevector"
            assert (weights > 0).all(), "a codevector without weight"
            np.testing.assert_allclose(weights.sum(), 1.0, rtol=1e-12)

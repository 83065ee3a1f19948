"""Feature maps from coarse to fine, and the trees they make, for every estimator."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.random_projection import SparseRandomProjection

from odalib import ODAClassifier, ODAClusterer, ODARegressor, Resolution

from .conformance.comparing import (
    LAST_CALL,
    answers,
    assert_close,
    assert_same_bits,
    assert_same_model,
    leaves,
)

IRIS, SPECIES = load_iris(return_X_y=True)
FRAME = pd.DataFrame(IRIS, columns=["sepal", "width", "petal", "breadth"])
# No feature tells the coarse classes apart but the first, nor the fine ones but others.
RNG = np.random.default_rng(0)
NESTED = (
    RNG.normal(size=(3000, 4))
    + np.c_[
        8.0 * (np.arange(3000) % 4 // 2),
        6.0 * (np.arange(3000) % 2),
        np.zeros((3000, 2)),
    ]
)
NESTED_CLASSES = np.arange(3000) % 4

ESTIMATORS = {
    "clusterer": ODAClusterer(8, random_state=0),
    "classifier": ODAClassifier(8, metric=None, polish=None, random_state=0),
    "regressor": ODARegressor(8, metric=None, random_state=0),
}
every_estimator = pytest.mark.parametrize(
    "estimator", ESTIMATORS.values(), ids=ESTIMATORS
)
TWO = [Resolution(slice(0, 2), n_codevectors=3), None]


def made(estimator, resolutions, X=IRIS, y=SPECIES):
    return clone(estimator).set_params(resolutions=resolutions).fit(X, y)


def assert_same_answers(model, other, X, what):
    assert_same_bits(answers(model, X), answers(other, X), what)


# What a resolution may be


@pytest.mark.parametrize(
    "same",
    [
        [0, 2],
        np.array([0, 2]),
        (0, 2),
        [True, False, True, False],
        np.array([True, False, True, False]),
        slice(0, 3, 2),
        ["sepal", "petal"],
        np.array(["sepal", "petal"]),
        pd.Index(["sepal", "petal"]),
        lambda X: X[:, [0, 2]],
        FunctionTransformer(lambda X: X[:, [0, 2]]),
        Resolution([-4, -2]),
    ],
    ids=lambda same: type(same).__name__,
)
@every_estimator
def test_the_same_columns_by_any_name(estimator, same):
    found = made(estimator, [same, None], FRAME)
    expected = made(estimator, [slice(0, 3, 2), None], FRAME)
    assert_same_answers(found, expected, FRAME, same)


def test_one_name_or_number_is_one_column():
    for one in ("petal", 2):
        found = made(ESTIMATORS["clusterer"], [one, None], FRAME)
        assert found.tree_.codevectors[0].shape[1] == 1
        expected = made(ESTIMATORS["clusterer"], [[2], None], FRAME)
        assert_same_answers(found, expected, FRAME, one)


def test_names_of_polars_columns():
    frame = pl.DataFrame(IRIS, schema=list(FRAME.columns))
    found = made(ESTIMATORS["classifier"], [["petal"], None], frame)
    expected = made(ESTIMATORS["classifier"], [[2], None], FRAME)
    np.testing.assert_array_equal(found.predict(frame), expected.predict(FRAME))


@every_estimator
def test_one_resolution_of_all_features_is_flat(estimator):
    """And pays nothing for it: the same bits."""
    flat = clone(estimator).fit(IRIS, SPECIES)
    for resolutions in ([None], (Resolution(),)):
        tree = made(estimator, resolutions)
        assert tree.tree_.n_levels == flat.tree_.n_levels == 1
        assert_same_answers(tree, flat, IRIS, "one resolution")
        assert_same_bits(tree.tree_, flat.tree_, "the tree of one resolution")


@every_estimator
def test_transformers_are_fitted_on_the_way(estimator):
    """Clones of them, to the rows of the fit; those that are fitted stay as they are.

    Which a clone, as in cross-validation, cannot tell; a frozen one is kept.
    """
    scaler, pca = StandardScaler(), PCA(2)
    model = made(estimator, [make_pipeline(scaler, pca), scaler])
    assert not hasattr(scaler, "mean_")
    assert not hasattr(pca, "components_")
    by_hand = (
        StandardScaler().fit(IRIS),
        PCA(2).fit(StandardScaler().fit_transform(IRIS)),
    )
    frozen = [FrozenEstimator(make_pipeline(*by_hand)), FrozenEstimator(by_hand[0])]
    for others in (frozen, [make_pipeline(*by_hand), by_hand[0]]):
        fixed = clone(estimator)
        fixed.resolutions = others
        assert_same_answers(fixed.fit(IRIS, SPECIES), model, IRIS, "fitted before")
    # Fitted to other rows they give other features.
    elsewhere = StandardScaler().fit(IRIS[:50])
    kept = made(estimator, [FrozenEstimator(elsewhere)])
    expected = clone(estimator).fit(elsewhere.transform(IRIS), SPECIES)
    said, same = answers(kept, IRIS), answers(expected, elsewhere.transform(IRIS))
    assert_close(said, same, "a frozen scaler", rtol=1e-9)
    assert_same_answers(made(estimator, [elsewhere]), kept, IRIS, "not cloned")
    refitted = clone(made(estimator, [elsewhere])).fit(IRIS, SPECIES)
    assert_same_answers(refitted, made(estimator, [scaler]), IRIS, "cloned")


def test_transformers_see_the_rows_of_a_fit_or_the_first_of_a_stream():
    seen = []

    class Recorder(StandardScaler):
        def fit(self, X, y=None):
            seen.append(len(X))
            return super().fit(X)

    fitted = made(ESTIMATORS["clusterer"], [Recorder(), None])
    assert seen == [150]
    fitted.partial_fit(IRIS).predict(IRIS)
    assert seen == [150]
    seen.clear()
    streamed = clone(ESTIMATORS["clusterer"]).set_params(resolutions=[Recorder(), None])
    for part in np.split(NESTED, 30):
        streamed.partial_fit(part)
    streamed.predict(NESTED)
    assert max(seen) <= 2048
    n_fitted = len(seen)
    streamed.partial_fit(NESTED).predict(NESTED)
    assert len(seen) == n_fitted


@every_estimator
def test_maps_may_give_sparse_rows_or_single_precision(estimator):
    projection = SparseRandomProjection(3, random_state=0, dense_output=False)
    maps = [lambda X: sp.csr_array(X[:, :2]), lambda X: X.astype("f4"), projection]
    model = made(estimator, [*maps, None])
    assert model.tree_.n_levels == 4
    assert all(np.isfinite(value).all() for value in answers(model, IRIS).values())


# What a tree is


@every_estimator
@pytest.mark.parametrize(
    "resolutions",
    [None, [None], TWO, [[0], [1, 2], None], [lambda X: X**2, TWO[0].features, [3]]],
    ids=["flat", "one", "two", "three", "of other features"],
)
def test_the_tree_tells_how_rows_go(estimator, resolutions):
    model = made(estimator, resolutions)
    tree, path = model.tree_, model.decision_path(IRIS)
    leaves_, dense = model.apply(IRIS), path.toarray()
    n_levels = 1 if resolutions is None else len(resolutions)
    assert tree.n_levels == n_levels
    assert dense.shape == (150, tree.n_nodes)
    assert tree.n_nodes == 1 + sum(tree.n_codevectors)
    np.testing.assert_array_equal(dense.sum(axis=1), n_levels + 1)
    np.testing.assert_array_equal(dense[:, 0], 1)
    # From the leaf up, every node is the parent of the one below.
    node = leaves_
    for level in range(n_levels, -1, -1):
        np.testing.assert_array_equal(dense[np.arange(150), node], 1)
        np.testing.assert_array_equal(tree.level[node], level)
        node = tree.parent[node]
    np.testing.assert_array_equal(node, -1)
    # Every row is in the cell of the nearest of the children, in their features.
    maps = [None] if resolutions is None else resolutions
    node = np.zeros(150, dtype=int)
    for place, source in enumerate(maps):
        seen = features(source)
        codevectors, first = tree.codevectors[place], tree.first_nodes[place]
        apart = ((seen[:, None] - codevectors) ** 2).sum(axis=2)
        passed = first + np.flatnonzero(dense[:, first:][:, : len(codevectors)].any(0))
        barred = tree.parent[first : first + len(codevectors)] != node[:, None]
        barred[:, np.setdiff1d(np.arange(len(codevectors)), passed - first)] = True
        node = first + np.where(barred, np.inf, apart).argmin(axis=1)
    np.testing.assert_array_equal(node, leaves_)
    # What is counted is what passes.
    passing = dense.sum(axis=0)
    np.testing.assert_allclose(tree.n_samples, passing, rtol=1e-9, atol=1e-9)
    assert tree.n_samples[0] == 150.0


def features(source):
    source = source.features if isinstance(source, Resolution) else source
    if source is None:
        return IRIS
    return source(IRIS) if callable(source) else IRIS[:, source]


@every_estimator
def test_codevectors_of_leaves_are_rows_of_x(estimator):
    """Means of the rows of the leaves, whatever the resolution sees."""
    model = made(estimator, [[0], [1, 2]])
    points = getattr(model, "codevectors_", getattr(model, "cluster_centers_", None))
    assert model.tree_.codevectors[-1].shape[1] == 2
    assert points.shape[1] == 4
    np.testing.assert_array_equal(points, model.tree_.points[-1])
    if estimator is not ESTIMATORS["classifier"]:
        leaf = model.apply(IRIS) - model.tree_.first_nodes[-1]
        means = [IRIS[leaf == i].mean(axis=0) for i in range(len(points))]
        np.testing.assert_allclose(points, means, rtol=1e-9)


def test_predictions_are_those_of_the_leaves():
    clusterer = made(ESTIMATORS["clusterer"], TWO)
    leaf = clusterer.apply(IRIS) - clusterer.tree_.first_nodes[-1]
    np.testing.assert_array_equal(clusterer.predict(IRIS), leaf)
    np.testing.assert_array_equal(clusterer.labels_, leaf)
    classifier = made(ESTIMATORS["classifier"], TWO)
    said = classifier.explain(IRIS)
    children = classifier.tree_.parent[-len(classifier.codevectors_) :]
    np.testing.assert_array_equal(
        children[said.codevector], classifier.tree_.parent[classifier.apply(IRIS)]
    )
    np.testing.assert_array_equal(
        classifier.tree_.classes[-1], classifier.codevector_classes_
    )


def test_numbers_of_codevectors_and_limits_of_each_resolution():
    two = [Resolution(n_codevectors=2), Resolution(n_codevectors=5), None]
    assert made(ESTIMATORS["clusterer"], two).tree_.n_codevectors == [2, 5, 8]
    # In between, a geometric series from the cube root to the last.
    model = made(ESTIMATORS["clusterer"].set_params(), [None, None])
    assert model.tree_.n_codevectors == [2, 8]
    hot = made(ESTIMATORS["clusterer"], [Resolution(min_temperature=1e3), None])
    assert hot.tree_.n_codevectors == [1, 8]
    assert hot.tree_.temperature[0] >= 1e3 or hot.tree_.n_codevectors[0] == 1


def test_a_cell_with_nothing_to_tell_apart_is_closed():
    """Setosa are alone in their cell: one child, and the others have the rest."""
    model = made(ESTIMATORS["classifier"], [Resolution([2, 3], n_codevectors=3), None])
    tree = model.tree_
    alone = [
        node
        for node in range(1, 4)
        if tree.classes[0][node - 1] == 0 and tree.n_samples[node] == 50
    ]
    assert [tree.status(node) for node in alone] == ["closed"]
    assert len(tree.children(alone[0])) == 1
    assert tree.status(0) == "root"
    assert tree.status(tree.n_nodes - 1) == "leaf"


def test_two_resolutions_need_fewer_codevectors():
    """Where coarse features tell groups apart and fine ones the classes in them.

    Four classes are an exclusive or of what two features tell apart.
    """
    y = np.array([0, 1, 1, 0])[NESTED_CLASSES]
    params = {"metric": None, "polish": None, "random_state": 0}
    tree = ODAClassifier(6, resolutions=[[0], [1]], **params)
    tree.fit(NESTED[:1500], y[:1500])
    assert tree.score(NESTED[1500:], y[1500:]) > 0.99
    children = [len(tree.tree_.children(node)) for node in range(1, 3)]
    assert min(children) >= 2


# Trees among scikit-learn's tools


LISTS = [
    [Resolution([0]), None],
    [Resolution(StandardScaler(), n_codevectors=2), None],
    [PCA(2), Resolution(slice(1, None), min_temperature=1e-3)],
]


@every_estimator
def test_parameters_and_copies(estimator):
    for resolutions in LISTS:
        model = clone(estimator).set_params(resolutions=resolutions)
        assert model.get_params()["resolutions"] is resolutions
        assert all(
            one is other
            for one, other in zip(model.resolutions, resolutions, strict=True)
        )
        copied = clone(model)
        assert repr(copied) == repr(model)
        assert copied.resolutions is not resolutions
        model.fit(IRIS, SPECIES)
        assert_same_answers(copied.fit(IRIS, SPECIES), model, IRIS, "a clone")
        again = pickle.loads(pickle.dumps(model))
        assert_same_model(again, model, IRIS, "pickled")
        assert type(model).__name__ in model._repr_html_()


def test_a_resolution_has_parameters():
    resolution = Resolution([0, 1], n_codevectors=3, min_temperature=0.5)
    params = {"features": [0, 1], "n_codevectors": 3, "min_temperature": 0.5}
    assert resolution.get_params() == params | {"max_temperature": None}
    copied = clone(resolution).set_params(n_codevectors=4)
    assert copied.n_codevectors == 4
    assert resolution.n_codevectors == 3
    assert "Resolution(" in repr(resolution)


@every_estimator
def test_a_search_over_lists_of_resolutions(estimator):
    search = GridSearchCV(
        estimator, {"resolutions": [None, *LISTS]}, cv=2, error_score="raise"
    ).fit(NESTED[:200], NESTED_CLASSES[:200])
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_index_ == search.cv_results_["mean_test_score"].argmax()
    best = clone(estimator).set_params(**search.best_params_)
    best.fit(NESTED[:200], NESTED_CLASSES[:200])
    assert_same_answers(search.best_estimator_, best, NESTED[:200], "the best")


def test_an_unfitted_tree_has_none():
    model = ODAClassifier(resolutions=TWO)
    assert not hasattr(model, "tree_")
    for method in (model.apply, model.decision_path):
        with pytest.raises(NotFittedError):
            method(IRIS)


@every_estimator
def test_sparse_rows_go_where_dense_rows_go(estimator):
    X = np.where(NESTED[:300] > 0.0, NESTED[:300], 0.0)
    y = NESTED_CLASSES[:300]
    dense, sparse = (made(estimator, TWO, rows, y) for rows in (X, sp.csr_array(X)))
    for model in (dense, sparse):
        said, same = answers(model, sp.csc_array(X)), answers(model, X)
        assert_close(said, same, "sparse rows, asked about", rtol=1e-7)
        found, expected = model.decision_path(sp.coo_array(X)), model.decision_path(X)
        assert (found != expected).nnz == 0
    assert_close(
        answers(sparse, X), answers(dense, X), "sparse rows, learnt", rtol=1e-6
    )


# Streams of trees


@every_estimator
@pytest.mark.parametrize("n_rows", [700, 3000])
def test_how_a_stream_is_cut_changes_no_bit_of_a_tree(estimator, n_rows):
    X, y = NESTED[:n_rows], NESTED_CLASSES[:n_rows]
    maps = [Resolution(slice(0, 2), n_codevectors=4), StandardScaler(), None]
    whole, cut = (clone(estimator).set_params(resolutions=maps) for _ in "ab")
    whole.partial_fit(X, y)
    for rows in np.split(np.arange(n_rows), [1, 9, 300, 301, 2047, 2049, 2900]):
        if len(rows):
            cut.partial_fit(X[rows], y[rows])
    assert_same_model(cut, whole, X, "a stream cut", without=LAST_CALL)


@every_estimator
def test_a_stream_of_a_tree_learns_and_counts(estimator):
    model = clone(estimator).set_params(resolutions=TWO)
    fitted = made(estimator, TWO, NESTED[:2000], NESTED_CLASSES[:2000])
    for rows in np.split(np.arange(3000), 12):
        model.partial_fit(NESTED[rows], NESTED_CLASSES[rows])
        tree = model.tree_
        assert tree.n_samples[0] == rows[-1] + 1
        at_level = [tree.n_samples[tree.level == level].sum() for level in range(1, 3)]
        np.testing.assert_allclose(at_level, rows[-1] + 1, rtol=1e-9)
    rows, y = NESTED[:500], NESTED_CLASSES[:500]
    found, expected = model.score(rows, y), fitted.score(rows, y)
    assert found >= expected - 0.05 * abs(expected)


def test_a_class_joins_a_tree():
    maps = [Resolution([0], n_codevectors=3), None]
    model = clone(ESTIMATORS["classifier"]).set_params(resolutions=maps)
    first = np.flatnonzero(NESTED_CLASSES != 2)
    for rows in (first[:500], first[500:2250]):
        model.partial_fit(NESTED[rows], NESTED_CLASSES[rows])
    later = np.flatnonzero(NESTED_CLASSES == 2)
    model.partial_fit(NESTED[later[:50]], NESTED_CLASSES[later[:50]])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    rows = np.r_[later[50:250], first[:600]]
    assert model.score(NESTED[rows], NESTED_CLASSES[rows]) > 0.9


@every_estimator
def test_levels_of_the_path_of_the_last_resolution(estimator):
    model = made(estimator, TWO)
    name = "n_clusters" if isinstance(estimator, ODAClusterer) else "n_codevectors"
    before = leaves(answers(model, IRIS))
    level = model.at(**{name: 5})
    assert level.tree_.n_codevectors == [model.tree_.n_codevectors[0], 5]
    assert np.isfinite(level.score(IRIS, SPECIES))
    level.partial_fit(IRIS, SPECIES)
    assert level.n_samples_seen_ == 300
    assert leaves(answers(model, IRIS)) == before

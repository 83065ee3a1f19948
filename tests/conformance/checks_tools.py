"""Checks of life among scikit-learn's tools: frames, pipelines, searches, routing."""

import numpy as np
import pandas as pd
import polars as pl
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler

from .comparing import answers, assert_same_bits, assert_same_model, needs

KIND = "life among tools"


@needs("transform")
def check_frames_come_out_where_asked_for(subject):
    """``set_output`` names the columns and keeps the index, also after a stream."""
    X, y = subject.groups()
    index = np.arange(len(X))[::-1]
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=index)
    models = [subject.make().fit(frame, y)]
    if subject.has("partial_fit"):
        models.append(subject.feed(subject.make(), frame, y))
    for model in models:
        plain, names = model.transform(frame), model.get_feature_names_out().tolist()
        pandas = model.set_output(transform="pandas").transform(frame)
        assert pandas.columns.tolist() == names, "pandas output has other names"
        assert pandas.index.tolist() == index.tolist(), "pandas output drops the index"
        assert_same_bits(pandas.to_numpy(), plain, "pandas output has other values")
        model.set_output(transform="polars")
        polars = model.transform(pl.DataFrame(X, schema=["a", "b", "c"]))
        assert polars.columns == names, "polars output has other names"
        assert_same_bits(polars.to_numpy(), plain, "polars output has other values")


@needs("transform", "clusterer")
def check_names_of_the_columns_out(subject):
    """One name per codevector: the class in lower case and a number."""
    X, _ = subject.groups()
    model = subject.make().fit(X)
    prefix = type(model).__name__.lower()
    expected = [f"{prefix}{i}" for i in range(len(model.cluster_centers_))]
    found = model.get_feature_names_out().tolist()
    assert found == expected, f"the columns are named {found}"


@needs("predict")
def check_a_pipeline_is_its_steps(subject):
    """Behind a scaler in a pipeline, the bits are those of the steps by hand."""
    X, y = subject.groups()
    pipeline = make_pipeline(MaxAbsScaler(), subject.make()).fit(X, y)
    scaled = MaxAbsScaler().fit_transform(X)
    assert_same_model(
        pipeline[-1], subject.make().fit(scaled, y), scaled, "within a pipeline"
    )
    assert_same_bits(
        pipeline.predict(X), pipeline[-1].predict(scaled), "predict of a pipeline"
    )


@needs("clusterer", "n_clusters", "score")
def check_a_grid_search_over_the_number_of_clusters(subject):
    """A search refits the best number; more codevectors fit the groups better."""
    X, _ = subject.groups()
    grid = {"n_clusters": [1, 3]}
    search = GridSearchCV(
        subject.make(), grid, cv=KFold(3, shuffle=True, random_state=0)
    )
    search.fit(X)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all(), f"scores of the folds: {scores}"
    found = search.best_params_["n_clusters"]
    assert found == 3, f"a search over 1 and 3 clusters finds {found} best"
    best = subject.make(n_clusters=3).fit(X)
    assert_same_bits(
        answers(search.best_estimator_, X), answers(best, X), "the best estimator"
    )


@needs("predict")
def check_cross_validated_predictions(subject):
    """``cross_val_predict`` gives what the folds give by hand."""
    X, y = subject.groups()
    folds = KFold(3)
    expected = np.empty_like(subject.make().fit(X, y).predict(X))
    for train, test in folds.split(X):
        expected[test] = subject.make().fit(X[train], y[train]).predict(X[test])
    found = cross_val_predict(subject.make(), X, y, cv=folds)
    np.testing.assert_array_equal(
        found, expected, "cross_val_predict differs from the folds by hand"
    )


@needs("sample_weight", "score")
def check_weights_are_routed_through_a_pipeline(subject):
    """With metadata routing, weights reach ``fit`` and ``score`` in a pipeline."""
    X, y = subject.groups()
    weight = np.where(np.arange(len(X)) % 2, 3.0, 1.0) * (1.0 + (X[:, 0] > X[:, 1]))
    direct = subject.make().fit(X, y, sample_weight=weight)
    expected = direct.score(X, y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        asking = subject.make().set_fit_request(sample_weight=True)
        asking.set_score_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), asking)
        pipeline.fit(X, y, sample_weight=weight)
        found = pipeline.score(X, y, sample_weight=weight)
    assert_same_bits(answers(pipeline[-1], X), answers(direct, X), "routed to fit")
    assert found == expected, f"weights routed to score give {found}, not {expected}"


@needs("sample_weight", "partial_fit")
def check_routing_can_be_asked_for_in_a_stream(subject):
    """``partial_fit`` declares its weights, so that tools may route them."""
    with config_context(enable_metadata_routing=True):
        asking = subject.make().set_partial_fit_request(sample_weight=True)
        requests = asking.get_metadata_routing().partial_fit.requests
    assert requests["sample_weight"] is True, f"partial_fit asks for {requests}"

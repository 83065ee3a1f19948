"""StreamingPipeline is a Pipeline: scikit-learn's interface holds, sliced or searched.

The properties are those that scikit-learn's own tests hold Pipeline to.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from odalib import ADFProbitClassifier, ODAClassifier, ODAClusterer
from odalib.streaming import StreamingPipeline, make_streaming_pipeline
from tests.conformance.comparing import assert_same_bits

X, Y = load_iris(return_X_y=True)
CLASSES = [0, 1, 2]


def steps():
    return [
        ("scale", StandardScaler()),
        ("turn", IncrementalPCA(2)),
        ("end", SGDClassifier(random_state=0)),
    ]


def learnt(**options):
    return StreamingPipeline(steps(), **options).partial_fit(X, Y, classes=CLASSES)


@pytest.mark.parametrize("last", [ODAClusterer(2), ADFProbitClassifier()])
def test_scikit_learns_checks_find_what_they_find_in_pipeline(last):
    failed = []
    for kind in (Pipeline, StreamingPipeline):
        pipeline = kind(
            [("scale", StandardScaler()), ("end", last.set_params(random_state=0))]
        )
        found = check_estimator(pipeline, on_skip=None, on_fail=None)
        failed.append({c["check_name"] for c in found if c["status"] == "failed"})
    assert failed[1] <= failed[0]


def test_the_steps_are_those_that_were_given_and_learn_in_place():
    given = steps()
    pipeline = StreamingPipeline(given)
    pipeline.partial_fit(X, Y, classes=CLASSES)
    assert pipeline.steps is given
    assert pipeline.named_steps["scale"] is pipeline["scale"] is given[0][1]
    assert given[0][1].n_samples_seen_ == len(X)


def test_steps_may_be_a_tuple():
    pipeline = StreamingPipeline(tuple(steps()))
    pipeline.partial_fit(X, Y, classes=CLASSES)
    assert len(pipeline) == 3


def test_parameters_are_read_and_set_by_their_names():
    pipeline = StreamingPipeline(steps(), frozen=("turn",))
    assert pipeline.get_params()["turn__n_components"] == 2
    assert pipeline.get_params(deep=False)["frozen"] == ("turn",)
    pipeline.set_params(turn__n_components=3, end=SGDRegressor(), frozen=())
    assert pipeline["turn"].n_components == 3
    assert isinstance(pipeline[-1], SGDRegressor)
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        pipeline.set_params(depth=3)


def test_a_clone_has_the_parameters_and_none_of_the_state():
    pipeline = learnt(frozen=["turn"])
    copy = sklearn.clone(pipeline)
    assert copy.frozen == ["turn"]
    assert [name for name, _ in copy.steps] == ["scale", "turn", "end"]
    with pytest.raises(NotFittedError):
        copy.predict(X)


@pytest.mark.parametrize("first, stop", [(0, 2), (1, 3), (None, -1), (1, None)])
def test_a_slice_is_a_streaming_pipeline_of_the_same_steps(first, stop):
    pipeline = learnt(frozen=["turn", "scale"])
    part = pipeline[first:stop]
    assert type(part) is StreamingPipeline
    assert part.steps == pipeline.steps[first:stop]
    assert set(part.frozen) == {"turn", "scale"} & set(part.named_steps)
    assert pipeline.set_params(frozen=())[:].frozen == ()
    inside = X if part[0] is pipeline[0] else pipeline[:1].transform(X)
    part.partial_fit(inside, Y)


def test_slices_have_no_step_width():
    with pytest.raises(ValueError, match="only supports a step of 1"):
        learnt()[::2]


@pytest.mark.parametrize(
    "bad, error, match",
    [
        ([], ValueError, "empty|not enough values"),
        ([("a__b", StandardScaler())], ValueError, "must not contain __"),
        (
            [("a", StandardScaler()), ("a", StandardScaler())],
            ValueError,
            "Names provided are not unique",
        ),
        ([("a", SGDRegressor()), ("b", SGDRegressor())], TypeError, "transformers"),
        ([("a", StandardScaler)], TypeError, "instance"),
    ],
)
def test_bad_steps_are_refused_at_the_first_call(bad, error, match):
    with pytest.raises(error, match=match):
        StreamingPipeline(bad).partial_fit(X, Y)


def test_bad_parameters_are_refused_at_the_first_call():
    for bad in ({"frozen": "scale"}, {"verbose": "no"}):
        with pytest.raises(ValueError, match=f"The '{next(iter(bad))}' parameter"):
            StreamingPipeline(steps(), **bad).partial_fit(X, Y, classes=CLASSES)


def test_names_are_made_of_types():
    pipeline = make_streaming_pipeline(
        StandardScaler(), StandardScaler(), PCA(), frozen=["pca"], verbose=True
    )
    assert list(pipeline.named_steps) == ["standardscaler-1", "standardscaler-2", "pca"]
    assert pipeline.frozen == ["pca"] and pipeline.verbose


def test_methods_are_those_of_the_last_step():
    pipeline = learnt()
    inside = pipeline[:-1].transform(X)
    for name in ("predict", "decision_function"):
        np.testing.assert_array_equal(
            getattr(pipeline, name)(X), getattr(pipeline[-1], name)(inside)
        )
    assert pipeline.score(X, Y) == pipeline[-1].score(inside, Y)
    assert not hasattr(pipeline, "transform")
    assert not hasattr(pipeline[:-1], "predict")
    assert hasattr(pipeline[:-1], "inverse_transform")
    np.testing.assert_array_equal(pipeline.classes_, CLASSES)
    assert pipeline.n_features_in_ == 4


def test_the_kind_is_that_of_the_last_step():
    kinds = {
        is_classifier: SGDClassifier(),
        is_regressor: SGDRegressor(),
        is_clusterer: ODAClusterer(),
    }
    for is_kind, last in kinds.items():
        assert is_kind(make_streaming_pipeline(StandardScaler(), last))
    assert get_tags(StreamingPipeline(steps())) == get_tags(Pipeline(steps()))


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_output_comes_in_the_container_asked_for(container):
    frame = pd.DataFrame(X, columns=list("abcd"))
    pipeline = StreamingPipeline(steps()[:2]).set_output(transform=container)
    for rows in (slice(0, 90), slice(90, 150)):
        pipeline.partial_fit(frame[rows])
    found = pipeline.transform(frame)
    assert type(found).__module__.startswith(container)
    assert list(found.columns) == ["incrementalpca0", "incrementalpca1"]
    assert list(pipeline.feature_names_in_) == list("abcd")


def test_feature_names_go_through():
    frame = pd.DataFrame(X, columns=list("abcd"))
    pipeline = make_streaming_pipeline(
        FunctionTransformer(feature_names_out="one-to-one"), StandardScaler()
    ).partial_fit(frame)
    assert list(pipeline.get_feature_names_out()) == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        pipeline.partial_fit(frame[list("dcba")])


@pytest.mark.parametrize("last", [None, "passthrough"])
def test_a_pipeline_of_absent_steps_gives_rows_as_they_are(last):
    pipeline = StreamingPipeline([("none", None), ("end", last)]).partial_fit(X)
    assert pipeline.transform(X) is X


def test_it_is_fitted_once_it_has_learnt():
    pipeline = StreamingPipeline(steps())
    with pytest.raises(NotFittedError):
        pipeline.predict(X)
    pipeline.partial_fit(X, Y, classes=CLASSES)
    pipeline.predict(X)


def test_fit_is_that_of_pipeline(tmp_path):
    streaming = StreamingPipeline(steps(), memory=str(tmp_path), frozen=["turn"])
    plain = Pipeline(steps(), memory=str(tmp_path))
    streaming.fit(X, Y, end__sample_weight=np.ones(len(X)))
    plain.fit(X, Y)
    np.testing.assert_array_equal(streaming[-1].coef_, plain[-1].coef_)
    mapped = StreamingPipeline(steps()[:2]).fit_transform(X)
    np.testing.assert_array_equal(mapped, Pipeline(steps()[:2]).fit_transform(X))
    clusters = make_streaming_pipeline(
        StandardScaler(), MiniBatchKMeans(3, random_state=0, n_init=1)
    )
    assert len(set(clusters.fit_predict(X))) == 3


def test_verbose_fits_say_which_step_is_fitted(capsys):
    StreamingPipeline(steps(), verbose=True).fit(X, Y)
    assert "(step 2 of 3) Processing turn" in capsys.readouterr().out


def test_grid_search_finds_parameters_of_steps_and_of_the_pipeline():
    pipeline = StreamingPipeline(
        [("scale", StandardScaler()), ("end", ADFProbitClassifier(random_state=0))]
    )
    search = GridSearchCV(
        pipeline,
        {
            "end__prior_variance": [1e-6, 1.0],
            "scale": ["passthrough", StandardScaler()],
        },
        cv=3,
    ).fit(X, Y)
    assert search.best_params_["end__prior_variance"] == 1.0
    assert type(search.best_estimator_) is StreamingPipeline
    search.best_estimator_.partial_fit(X, Y, classes=CLASSES)


def test_html_names_every_step_and_links_to_the_documentation():
    html = StreamingPipeline(steps())._repr_html_()
    for name in ("StreamingPipeline", "StandardScaler", "IncrementalPCA"):
        assert name in html
    assert "odalib.streaming.StreamingPipeline.html" in html
    assert "frozen=['turn']" in repr(StreamingPipeline(steps(), frozen=["turn"]))


def test_a_pipeline_pickled_in_mid_stream_goes_on_with_the_same_bits():
    pipeline = make_streaming_pipeline(
        StandardScaler(), IncrementalPCA(2), ODAClassifier(6, random_state=0)
    ).partial_fit(X[::2], Y[::2], classes=CLASSES)
    copy = pickle.loads(pickle.dumps(pipeline))
    for one in (pipeline, copy):
        one.partial_fit(X[1::2], Y[1::2])
    assert_same_bits(copy, pipeline, "the pickle goes on otherwise")

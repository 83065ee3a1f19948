"""StreamingPipeline: what partial_fit teaches the steps, and what it refuses."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from odalib import ADFProbitClassifier, ODAClassifier, ODAClusterer, ODARegressor
from odalib.streaming import StreamingPipeline, make_streaming_pipeline
from tests.conformance.comparing import assert_same_bits

X, Y = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(X))
X, Y = X[ORDER], Y[ORDER]
CLASSES = [0, 1, 2]
BATCHES = [slice(start, start + 30) for start in range(0, len(X), 30)]
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, len(X))


@pytest.mark.parametrize(
    "last, options",
    [
        (SGDClassifier(random_state=0), {"classes": CLASSES}),
        (ODAClassifier(6, random_state=0), {"classes": CLASSES}),
        (ADFProbitClassifier(), {"classes": CLASSES}),
        (SGDRegressor(random_state=0), {}),
        (ODARegressor(4, random_state=0), {}),
        (MiniBatchKMeans(3, random_state=0, n_init=1), {}),
        (ODAClusterer(3, random_state=0), {}),
    ],
    ids=lambda part: type(part).__name__,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_learn_as_a_loop_over_them_does(last, options, weighted):
    steps = StandardScaler(), IncrementalPCA(2), Normalizer(), sklearn.clone(last)
    scaler, pca, normalizer, by_hand = map(sklearn.clone, steps)
    pipeline = make_streaming_pipeline(*steps)
    for rows in BATCHES:
        weights = {"sample_weight": WEIGHTS[rows]} if weighted else {}
        assert pipeline.partial_fit(X[rows], Y[rows], **options, **weights) is pipeline
        Z = scaler.partial_fit(X[rows], **weights).transform(X[rows])
        Z = pca.partial_fit(Z).transform(Z)
        Z = normalizer.fit(Z).transform(Z)
        by_hand.partial_fit(Z, Y[rows], **options, **weights)
    Z = normalizer.transform(pca.transform(scaler.transform(X)))
    np.testing.assert_array_equal(pipeline.predict(X), by_hand.predict(Z))
    assert_same_bits(steps, (scaler, pca, normalizer, by_hand), "the steps differ")


def test_one_batch_teaches_what_fit_does():
    pipeline = make_streaming_pipeline(StandardScaler(), ADFProbitClassifier())
    batch = make_streaming_pipeline(
        StandardScaler(), ADFProbitClassifier(shuffle=False)
    )
    pipeline.partial_fit(X, Y, classes=CLASSES)
    np.testing.assert_allclose(
        pipeline.predict_proba(X), batch.fit(X, Y).predict_proba(X), rtol=1e-12
    )


def test_a_stream_goes_on_from_a_fit():
    first, rest = slice(0, 60), slice(60, None)
    pipeline = make_streaming_pipeline(StandardScaler(), ADFProbitClassifier())
    pipeline.fit(X[first], Y[first]).partial_fit(X[rest], Y[rest], classes=CLASSES)
    assert pipeline[-1].n_samples_seen_ == len(X)
    np.testing.assert_allclose(pipeline[0].mean_, X.mean(axis=0))


def test_texts_are_hashed_on_the_way():
    texts = ["red wine", "green tea", "red red wine", "some green tea"]
    pipeline = make_streaming_pipeline(
        HashingVectorizer(n_features=64), SGDClassifier(random_state=0)
    )
    for start in (0, 2):
        rows = slice(start, start + 2)
        pipeline.partial_fit(texts[rows], ["wine", "tea"], classes=["tea", "wine"])
    assert list(pipeline.predict(["wine", "tea"])) == ["wine", "tea"]


def test_a_step_that_cannot_learn_is_refused_by_its_name():
    pipeline = StreamingPipeline(
        [("scale", StandardScaler()), ("turn", PCA(2)), ("end", LogisticRegression())]
    )
    with pytest.raises(TypeError, match=r"'turn' \(PCA\), 'end' \(LogisticReg"):
        pipeline.partial_fit(X, Y)
    assert not hasattr(pipeline[0], "mean_")


def test_a_frozen_step_learns_the_first_batch_only():
    pipeline = make_streaming_pipeline(
        StandardScaler(), PCA(2), ODAClusterer(3, random_state=0), frozen=["pca"]
    )
    first = StandardScaler().fit_transform(X[BATCHES[0]])
    pipeline.partial_fit(X[BATCHES[0]])
    components = pipeline["pca"].components_.copy()
    np.testing.assert_array_equal(components, PCA(2).fit(first).components_)
    for rows in BATCHES[1:]:
        pipeline.partial_fit(X[rows])
    np.testing.assert_array_equal(pipeline["pca"].components_, components)
    assert pipeline["standardscaler"].n_samples_seen_ == len(X)
    assert pipeline[-1].n_samples_seen_ == len(X)


def test_a_frozen_step_that_is_fitted_stays_as_it_is():
    scaler = StandardScaler().fit(X)
    pipeline = make_streaming_pipeline(
        scaler, ODAClusterer(3, random_state=0), frozen=("standardscaler",)
    )
    pipeline.partial_fit(X[BATCHES[0]])
    assert scaler.n_samples_seen_ == len(X)


class FitsThenTransforms(BaseEstimator):
    """Shifts by the mean of the rows it was fitted to, without ``fit_transform``."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self.mean_


def test_a_frozen_step_may_have_no_fit_transform():
    pipeline = make_streaming_pipeline(
        FitsThenTransforms(), StandardScaler(), frozen=["fitsthentransforms"]
    )
    for rows in BATCHES:
        pipeline.partial_fit(X[rows])
    np.testing.assert_array_equal(pipeline[0].mean_, X[BATCHES[0]].mean(axis=0))
    mean = X.mean(axis=0) - X[BATCHES[0]].mean(axis=0)
    np.testing.assert_allclose(pipeline[1].mean_, mean, atol=1e-12)


class OtherAtFirst(StandardScaler):
    """What fit_transform gives is not what transform gives, as in a TargetEncoder."""

    def fit_transform(self, X, y=None):
        return 2.0 * self.fit(X).transform(X)


def test_a_frozen_step_begins_as_in_a_pipeline():
    fitted, taught = (
        make_streaming_pipeline(
            OtherAtFirst(), StandardScaler(), frozen=["otheratfirst"]
        )
        for _ in range(2)
    )
    fitted.fit(X)
    taught.partial_fit(X)
    assert_same_bits(list(taught), list(fitted), "the beginnings differ")


def test_scikit_learns_frozen_estimators_pass_rows_on():
    scaler = StandardScaler().fit(X)
    pipeline = make_streaming_pipeline(FrozenEstimator(scaler), SGDClassifier())
    pipeline.partial_fit(X[BATCHES[0]], Y[BATCHES[0]], classes=CLASSES)
    assert scaler.n_samples_seen_ == len(X)


def test_a_name_in_frozen_that_no_step_has_is_refused():
    pipeline = make_streaming_pipeline(StandardScaler(), frozen=["pca"])
    with pytest.raises(ValueError, match=r"frozen names \['pca'\]"):
        pipeline.partial_fit(X)


@pytest.mark.parametrize(
    "last",
    [SGDClassifier(random_state=0), ODAClassifier(6, random_state=0)],
    ids=lambda last: type(last).__name__,
)
@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_failed_call_changes_no_step(last, before):
    bad = Y.astype(float).copy()
    bad[-1] = 7.0
    pipeline = make_streaming_pipeline(
        StandardScaler(), IncrementalPCA(2), Normalizer(), sklearn.clone(last)
    )
    for rows in BATCHES[:before]:
        pipeline.partial_fit(X[rows], Y[rows], classes=CLASSES)
    kept = sklearn.clone(pipeline)
    for rows in BATCHES[:before]:
        kept.partial_fit(X[rows], Y[rows], classes=CLASSES)
    with pytest.raises(ValueError):
        pipeline.partial_fit(X, bad, classes=CLASSES)
    assert_same_bits(pipeline, kept, "a failed call has left traces")


class Interrupted(StandardScaler):
    """Stands in for a last step that fails when it has written into its arrays."""

    def partial_fit(self, X, y=None):
        super().partial_fit(X)
        self.mean_ += 1.0
        if self.n_samples_seen_ > 30:
            raise KeyboardInterrupt


def test_a_failed_call_leaves_the_steps_of_inner_pipelines_as_they_were():
    scaler = StandardScaler()
    inner = make_streaming_pipeline(scaler, IncrementalPCA(2))
    pipeline = make_streaming_pipeline(inner, ADFProbitClassifier())
    for learnt in (0, 60):
        with pytest.raises(ValueError, match="inconsistent numbers"):
            pipeline.partial_fit(X, Y[:5], classes=CLASSES)
        assert pipeline[0] is inner and inner[0] is scaler
        assert vars(scaler).get("n_samples_seen_", 0) == learnt
        pipeline.partial_fit(X[:60], Y[:60], classes=CLASSES)


def test_an_interruption_leaves_no_half_learnt_step():
    pipeline = make_streaming_pipeline(StandardScaler(), Interrupted())
    pipeline.partial_fit(X[BATCHES[0]])
    mean, inner = pipeline[0].mean_.copy(), pipeline[1].mean_.copy()
    with pytest.raises(KeyboardInterrupt):
        pipeline.partial_fit(X[BATCHES[1]])
    np.testing.assert_array_equal(pipeline[0].mean_, mean)
    np.testing.assert_array_equal(pipeline[1].mean_, inner)


def test_other_columns_are_refused_also_by_stateless_steps():
    pipeline = make_streaming_pipeline(Normalizer(), MiniBatchKMeans(2, n_init=1))
    pipeline.partial_fit(X[BATCHES[0]])
    with pytest.raises(ValueError, match="Normalizer is expecting 4 features"):
        pipeline.partial_fit(X[:, :3])


def test_parameters_reach_a_step_by_its_name():
    weights = np.where(Y == 1, 0.0, 1.0)
    pipeline = make_streaming_pipeline(StandardScaler(), ADFProbitClassifier())
    pipeline.partial_fit(
        X, Y, classes=CLASSES, adfprobitclassifier__sample_weight=weights
    )
    assert pipeline[0].n_samples_seen_ == len(X)
    assert pipeline[1].n_samples_seen_ == weights.sum()


def test_a_named_parameter_takes_the_place_of_the_common_one():
    pipeline = make_streaming_pipeline(StandardScaler(), ADFProbitClassifier())
    pipeline.partial_fit(
        X,
        Y,
        classes=CLASSES,
        sample_weight=WEIGHTS,
        standardscaler__sample_weight=None,
    )
    np.testing.assert_allclose(pipeline[0].mean_, X.mean(axis=0))
    np.testing.assert_allclose(pipeline[1].n_samples_seen_, WEIGHTS.sum())


def test_what_no_step_takes_is_refused():
    pipeline = make_streaming_pipeline(IncrementalPCA(2), ODARegressor(4))
    with pytest.raises(TypeError, match="No step that learns takes classes"):
        pipeline.partial_fit(X, Y, classes=CLASSES)
    scaling = make_streaming_pipeline(IncrementalPCA(2), Normalizer())
    with pytest.raises(TypeError, match="No step that learns takes sample_weight"):
        scaling.partial_fit(X, sample_weight=WEIGHTS)
    with pytest.raises(TypeError, match=r"'weights'.*\['incrementalpca', 'normal"):
        scaling.partial_fit(X, weights=WEIGHTS)


def test_pipelines_nest():
    inner = make_streaming_pipeline(StandardScaler(), IncrementalPCA(2))
    nested = make_streaming_pipeline(inner, SGDClassifier(random_state=0))
    flat = make_streaming_pipeline(
        StandardScaler(), IncrementalPCA(2), SGDClassifier(random_state=0)
    )
    for rows in BATCHES:
        for pipeline in (nested, flat):
            pipeline.partial_fit(
                X[rows], Y[rows], classes=CLASSES, sample_weight=WEIGHTS[rows]
            )
    assert_same_bits([*inner, nested[-1]], list(flat), "nesting changes what is learnt")


@pytest.mark.parametrize("absent", [None, "passthrough"])
def test_absent_steps_are_passed_over(absent):
    pipeline = StreamingPipeline(
        [("scale", StandardScaler()), ("none", absent), ("end", absent)]
    )
    pipeline.partial_fit(X)
    np.testing.assert_allclose(
        pipeline.transform(X), StandardScaler().fit_transform(X), atol=1e-12
    )
    check_is_fitted(pipeline)


def test_rows_are_never_written_to():
    rows = np.asfortranarray(X)
    rows.setflags(write=False)
    pipelines = [
        make_streaming_pipeline(StandardScaler(), ODAClusterer(3, random_state=0))
        for _ in range(2)
    ]
    for pipeline, batch in zip(pipelines, (rows, X.copy()), strict=True):
        pipeline.partial_fit(batch)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(*(p.predict(X) for p in pipelines))


class TestMetadataRouting:
    @pytest.fixture(autouse=True)
    def enabled(self):
        with sklearn.config_context(enable_metadata_routing=True):
            yield

    @staticmethod
    def pipeline(scaler_takes_weights):
        return make_streaming_pipeline(
            StandardScaler().set_partial_fit_request(
                sample_weight=scaler_takes_weights
            ),
            SGDClassifier(random_state=0).set_partial_fit_request(
                classes=True, sample_weight=True
            ),
        )

    @pytest.mark.parametrize("scaler_takes_weights", [False, True])
    def test_metadata_go_where_they_were_requested(self, scaler_takes_weights):
        pipeline = self.pipeline(scaler_takes_weights)
        pipeline.partial_fit(X, Y, classes=CLASSES, sample_weight=WEIGHTS)
        mean = np.average(X, axis=0, weights=WEIGHTS if scaler_takes_weights else None)
        np.testing.assert_allclose(pipeline[0].mean_, mean)
        by_hand = SGDClassifier(random_state=0).partial_fit(
            pipeline[0].transform(X), Y, classes=CLASSES, sample_weight=WEIGHTS
        )
        np.testing.assert_array_equal(pipeline[1].coef_, by_hand.coef_)

    def test_nothing_need_be_passed(self):
        pipeline = make_streaming_pipeline(StandardScaler(), SGDRegressor())
        pipeline.partial_fit(X, Y).partial_fit(X, Y)
        assert pipeline[0].n_samples_seen_ == 2 * len(X)

    def test_what_was_not_requested_is_refused(self):
        pipeline = make_streaming_pipeline(StandardScaler(), SGDRegressor())
        with pytest.raises(
            sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"
        ):
            pipeline.partial_fit(X, Y, sample_weight=WEIGHTS)

    def test_a_frozen_step_takes_what_its_fit_requests(self):
        pipeline = make_streaming_pipeline(
            StandardScaler().set_fit_request(sample_weight=True),
            FunctionTransformer(),
            frozen=["standardscaler"],
        )
        pipeline.partial_fit(X, sample_weight=WEIGHTS)
        np.testing.assert_allclose(
            pipeline[0].mean_, np.average(X, axis=0, weights=WEIGHTS)
        )

    def test_pipelines_nest(self):
        nested = make_streaming_pipeline(self.pipeline(True)[:1], SGDRegressor())
        nested[-1].set_partial_fit_request(sample_weight=False)
        nested.partial_fit(X, Y, sample_weight=WEIGHTS)
        np.testing.assert_allclose(
            nested[0][0].mean_, np.average(X, axis=0, weights=WEIGHTS)
        )


def test_transform_input_needs_metadata_routing():
    pipeline = make_streaming_pipeline(StandardScaler(), transform_input=["X_val"])
    with pytest.raises(ValueError, match="transform_input needs metadata routing"):
        pipeline.partial_fit(X)

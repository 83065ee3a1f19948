"""A pipeline that learns batch by batch."""

from typing import ClassVar

from sklearn import get_config
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.metaestimators import available_if

from odalib.estimators._persistence import Versioned
from odalib.estimators._sklearn import DocumentationLink, check_weights, fit_context
from odalib.estimators._state import turn_of
from odalib.streaming.steps import (
    FREEZES,
    UNABLE,
    accepts,
    is_absent,
    kept_on_failure,
    manner_of,
    take_batch,
)

__all__ = ["StreamingPipeline", "make_streaming_pipeline"]

METHODS = ("partial_fit", "fit", "fit_transform", "transform")


def _pipeline_has(name):
    """Whether scikit-learn's Pipeline of these steps has a method."""
    return lambda pipeline: hasattr(super(StreamingPipeline, pipeline), name)


class StreamingPipeline(DocumentationLink, Versioned, Pipeline):
    """Pipeline that also learns from batches, with ``partial_fit``.

    Everything else is scikit-learn's :class:`~sklearn.pipeline.Pipeline`, but that
    calls that fail or are interrupted leave all steps as they were.

    Parameters
    ----------
    steps : list of tuples
        Pairs of a name and an estimator, as for Pipeline. To learn from batches, each
        has ``partial_fit`` or is stateless (as Normalizer and HashingVectorizer are),
        is among ``frozen``, or 'passthrough'.
    frozen : sequence of str, default=()
        Names of steps that learn the first batch only, by ``fit``, and then stay as
        they are; one that is fitted already stays as it is. So steps that cannot
        learn from batches, such as PCA, find a place in a stream, and so do steps
        that should not move any more. Empty, because a first batch may be small or
        odd: what rests on it is asked for by name.
    transform_input : list of str, default=None
        As for Pipeline.
    memory : str or object with the joblib.Memory interface, default=None
        As for Pipeline; for `fit` only.
    verbose : bool, default=False
        As for Pipeline; for `fit` only.

    Attributes
    ----------
    named_steps : Bunch
        Steps by name.
    classes_ : ndarray of shape (n_classes,)
        Of the last step, where that is a classifier.
    n_features_in_ : int
        Of the first step.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of the first step.

    See Also
    --------
    make_streaming_pipeline : Shorter, with names of its own.
    fit_stream : Teach an estimator a whole stream.

    Notes
    -----
    A transformer that goes on learning changes what the next step's features mean.
    Scalers settle after a few batches. Components of IncrementalPCA may still turn:
    name such a step in ``frozen`` where the last step needs features that stay.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from odalib import ADFProbitClassifier
    >>> from odalib.streaming import StreamingPipeline
    >>> pipeline = StreamingPipeline(
    ...     [("scaler", StandardScaler()), ("classifier", ADFProbitClassifier())]
    ... )
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(20):
    ...     X = rng.normal(100.0, 25.0, size=(50, 3))
    ...     y = X[:, 0] > X[:, 1]
    ...     pipeline = pipeline.partial_fit(X, y, classes=[False, True])
    >>> pipeline.predict([[120.0, 80.0, 100.0], [80.0, 120.0, 100.0]])
    array([ True, False])
    """

    _parameter_constraints: ClassVar[dict] = {
        **Pipeline._parameter_constraints,
        "frozen": [list, tuple],
    }

    def __init__(
        self, steps, *, frozen=(), transform_input=None, memory=None, verbose=False
    ):
        super().__init__(
            steps, transform_input=transform_input, memory=memory, verbose=verbose
        )
        self.frozen = frozen

    def fit(self, X, y=None, **params):
        """Fit all steps, as Pipeline does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Whatever the first step takes.
        y : array-like of shape (n_samples,), default=None
            Targets, where a step needs them.
        **params : dict
            As of Pipeline.

        Returns
        -------
        self
            The pipeline, whose steps are fitted. Where one fails, all are exactly as
            before.
        """
        return self._fit_or_keep(super().fit, X, y, params)

    @available_if(_pipeline_has("fit_transform"))
    def fit_transform(self, X, y=None, **params):
        """Fit all steps, as `fit`, and transform the same rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
        **params : dict
            As of Pipeline.

        Returns
        -------
        X_new : array-like of shape (n_samples, n_transformed_features)
        """
        return self._fit_or_keep(super().fit_transform, X, y, params)

    @available_if(_pipeline_has("fit_predict"))
    def fit_predict(self, X, y=None, **params):
        """Fit all steps, as `fit`, and predict for the same rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
        **params : dict
            As of Pipeline.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._fit_or_keep(super().fit_predict, X, y, params)

    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X, y=None, classes=None, sample_weight=None, **params):
        """Learn from a batch: every step learns it, transforms it and hands it on.

        Costs a copy of what the steps have learnt, that of a last step from odalib
        excepted, which is not needed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Whatever the first step takes.
        y : array-like of shape (n_samples,), default=None
            Targets, where a step needs them.
        classes : array-like of shape (n_classes,), default=None
            All labels that may come, for the steps that take them; most classifiers
            require them on the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the steps that take them.
        **params : dict
            Parameters of ``partial_fit`` of steps, ``p`` of step ``s`` as ``s__p``;
            they take the place of ``classes`` and ``sample_weight`` there. With
            scikit-learn's metadata routing, all parameters, these two included, go
            where steps have requested them.

        Returns
        -------
        self
            The pipeline, whose steps have learnt.

        Raises
        ------
        TypeError
            For a step that cannot learn from batches, by name, and for classes or
            weights that no step takes.
        ValueError
            For names in ``frozen`` that no step has, and for what a step refuses. The
            pipeline, with all its steps, is then exactly as before.
        """
        self._validate_steps()
        manners = self._manners()
        named = {"classes": classes, "sample_weight": sample_weight}
        given = {name: value for name, value in named.items() if value is not None}
        metadata = self._route(given, params)
        if sample_weight is not None:
            # Scalers divide by sums of weights before the last step sees them.
            check_weights(sample_weight, X)
        with turn_of(self), kept_on_failure([step for _, step in self.steps]):
            for place, (name, step) in enumerate(self.steps):
                if is_absent(step):
                    continue
                routed = self._get_metadata_for_step(
                    step_idx=place,
                    step_params=metadata[name],
                    all_params=given | params,
                )
                is_last = place == len(self.steps) - 1
                X = take_batch(step, manners[name], X, y, routed, transform=not is_last)
        return self

    def __getitem__(self, ind):
        """Step by place or name, or a StreamingPipeline of a slice of the steps."""
        part = super().__getitem__(ind)
        if isinstance(ind, slice):
            names = {name for name, _ in part.steps}
            part.frozen = type(self.frozen)(
                name for name in self.frozen if name in names
            )
        return part

    def get_metadata_routing(self):
        """Routing of metadata to the steps, ``partial_fit`` included.

        Returns
        -------
        routing : MetadataRouter
            As of Pipeline.
        """
        router = super().get_metadata_routing()
        steps = dict(self.steps)
        for name, pair in router:
            if name not in steps:
                continue
            if name not in self.frozen:
                callees = ["partial_fit", "transform"]
            elif hasattr(steps[name], "fit_transform"):
                callees = ["fit_transform", "transform"]
            else:
                callees = ["fit", "transform"]
            for callee in callees:
                if hasattr(steps[name], callee):
                    pair.mapping.add(caller="partial_fit", callee=callee)
        return router

    def _fit_or_keep(self, method, X, y, params):
        """Call a method of Pipeline that fits; where it fails, nothing has changed."""
        self._validate_steps()
        steps = self.steps
        with turn_of(self), kept_on_failure([step for _, step in steps]):
            try:
                return method(X, y, **params)
            except BaseException:
                # A memory puts fitted copies in their place.
                self.steps = steps
                raise

    def _manners(self):
        """Give what each step does with a batch; TypeError where one cannot learn."""
        unknown = set(self.frozen) - {name for name, _ in self.steps}
        if unknown:
            raise ValueError(
                f"frozen names {sorted(unknown)}, but the steps are "
                f"{[name for name, _ in self.steps]}."
            )
        manners = {
            name: manner_of(step, name in self.frozen)
            for name, step in self.steps
            if not is_absent(step)
        }
        unable = [name for name, manner in manners.items() if manner == UNABLE]
        if unable:
            steps = dict(self.steps)
            listed = ", ".join(
                f"{name!r} ({type(steps[name]).__name__})" for name in unable
            )
            raise TypeError(
                f"Steps that cannot learn from batches: {listed}. They have no "
                "partial_fit, and are not stateless. Put steps in their place that "
                f"can, or let them learn the first batch only: frozen={unable}."
            )
        return manners

    def _route(self, given, params):
        """Sort metadata by step and method."""
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "partial_fit", **given, **params)
        if self.transform_input is not None:
            raise ValueError(
                "transform_input needs metadata routing: "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        per_step = {name: {} for name, _ in self.steps}
        for name, value in given.items():
            takers = [step for step, _ in self.steps if self._step_accepts(step, name)]
            if not takers:
                raise TypeError(
                    f"No step that learns takes {name} in partial_fit; leave it out."
                )
            for step in takers:
                per_step[step][name] = value
        for key, value in params.items():
            step, _, name = key.partition("__")
            if step not in per_step or not name:
                raise TypeError(
                    f"partial_fit got {key!r}, which is no parameter of it and no "
                    f"'step__parameter' of the steps {list(per_step)}."
                )
            per_step[step][name] = value
        return {
            step: {method: values for method in METHODS if method != "transform"}
            for step, values in per_step.items()
        }

    def _step_accepts(self, step_name, name):
        step = dict(self.steps)[step_name]
        if is_absent(step) or manner_of(step, step_name in self.frozen) == FREEZES:
            return False
        return accepts(step, name)

    def _accepts_in_stream(self, name):
        """Whether a step of this pipeline has a use for a parameter."""
        return any(self._step_accepts(step_name, name) for step_name, _ in self.steps)

    def _doc_link_url_param_generator(self):
        return {"estimator_name": "streaming.StreamingPipeline"}


def make_streaming_pipeline(
    *steps, frozen=(), transform_input=None, memory=None, verbose=False
):
    """StreamingPipeline whose steps are named after their types, in lower case.

    Parameters
    ----------
    *steps : estimators
        In order.
    frozen : sequence of str, default=()
        Names of steps that learn the first batch only, such as 'pca'.
    transform_input : list of str, default=None
        As for Pipeline.
    memory : str or object with the joblib.Memory interface, default=None
        As for Pipeline.
    verbose : bool, default=False
        As for Pipeline.

    Returns
    -------
    StreamingPipeline
        Not fitted.

    See Also
    --------
    StreamingPipeline : Names of one's own; says what is done with a batch.

    Examples
    --------
    >>> from sklearn.cluster import MiniBatchKMeans
    >>> from sklearn.feature_extraction.text import HashingVectorizer
    >>> from odalib.streaming import make_streaming_pipeline
    >>> pipeline = make_streaming_pipeline(
    ...     HashingVectorizer(n_features=64), MiniBatchKMeans(2, random_state=0)
    ... )
    >>> for texts in (["red wine", "green tea"], ["red red wine", "some green tea"]):
    ...     pipeline = pipeline.partial_fit(texts)
    >>> wine, tea = pipeline.predict(["wine", "tea"])
    >>> bool(wine == tea)
    False
    """
    return StreamingPipeline(
        make_pipeline(*steps).steps,
        frozen=frozen,
        transform_input=transform_input,
        memory=memory,
        verbose=verbose,
    )

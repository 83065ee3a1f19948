"""Faults that users reported, asked of pipelines of streams and of the path search."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.preprocessing import StandardScaler

from odalib import ADFProbitClassifier, EPProbitClassifier, ODAClassifier, PathSearchCV
from odalib.streaming import StreamingPipeline, make_streaming_pipeline

from .cases import blobs, feed, two_blobs
from .comparing import assert_finite, assert_same_model, leaves

KIND = "reported cases"
ESTIMATORS = (StreamingPipeline, PathSearchCV)

FEW = {"metric": None, "polish": None, "cooling": 0.2, "tol": 0.1, "random_state": 0}
PIPELINES = {
    "filtering": make_streaming_pipeline(
        StandardScaler(), ADFProbitClassifier(random_state=0)
    ),
    "probit": make_streaming_pipeline(StandardScaler(), EPProbitClassifier()),
    "codevectors": make_streaming_pipeline(StandardScaler(), ODAClassifier(4, **FEW)),
}
SEARCH = PathSearchCV(ODAClassifier(2, **FEW), values=[2], cv=2)
every_pipeline = pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
every_tool = pytest.mark.parametrize(
    "tool", [*PIPELINES.values(), SEARCH], ids=[*PIPELINES, "search"]
)


@every_tool
def test_labels_of_any_form_are_learnt_and_scored(tool):
    """scikit-learn#24355, #34946: objects that are numbers, and StringDType."""
    X, codes = two_blobs(20)
    names = np.array(["a", "b"])[codes]
    for labels in (codes.astype(object), names.astype(np.dtypes.StringDType())):
        model = clone(tool).fit(X, labels)
        assert model.classes_.tolist() == np.unique(labels).tolist()
        assert model.score(X, labels) == 1.0


@every_tool
def test_a_column_of_labels_is_taken_with_one_warning(tool):
    """gama#63, river#1246: y of shape (n, 1), as a frame of one column gives."""
    X, y = two_blobs(20)
    with pytest.warns(DataConversionWarning) as said:
        model = clone(tool).fit(X, pd.DataFrame({"t": y}))
    assert len(said) == 1
    np.testing.assert_array_equal(model.predict(X), y)


@every_tool
def test_constant_and_separable_rows_have_probabilities(tool):
    """scikit-learn#17794, #17978: division by zero, probabilities of 0 and 1."""
    X, y = two_blobs(20)
    model = clone(tool).fit(np.c_[X, np.full(20, 14.62)], y)
    assert_finite(model, np.c_[X, np.full(20, 14.62)], "a constant column")
    probabilities = model.predict_proba(np.c_[100.0 * X, np.full(20, 14.62)])
    assert ((probabilities > 0) & (probabilities < 1)).all()


@every_pipeline
def test_a_refused_batch_leaves_every_step(pipeline):
    """scikit-learn#33436, #15531, #10680: no or negative weight, an unseen label."""
    X, y = two_blobs()
    model = feed(clone(pipeline), X, y)
    before = leaves(vars(model))
    for labels, weight, match in (
        (y, np.zeros(len(X)), "zero"),
        (y, np.r_[-1.0, np.ones(len(X) - 1)], r"[Nn]egative"),
        (y + 1, None, r"\[2\]"),
    ):
        with pytest.raises(ValueError, match=match):
            model.partial_fit(X + 5, labels, sample_weight=weight)
        assert leaves(vars(model)) == before


@every_pipeline
def test_pickles_in_mid_stream_change_nothing(pipeline):
    """scikit-learn#21228, #14107: what follows a pickle, or a fit, differs."""
    X, y = blobs(90)
    a, b = clone(pipeline).fit(X, y), feed(clone(pipeline), X + 100, y).fit(X, y)
    for rows in np.split(np.arange(90), 3):
        feed(a, X[rows], y[rows])
        b = pickle.loads(pickle.dumps(feed(b, X[rows], y[rows])))
    assert_same_model(a, b, X, "a stream interrupted by pickles")


def test_negative_weights_are_refused_by_a_search():
    """scikit-learn#15531, #20036: negative weights go in silently."""
    X, y = two_blobs(20)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        clone(SEARCH).fit(X, y, sample_weight=-np.ones(20))

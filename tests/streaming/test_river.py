"""River's wrappers for scikit-learn drive the estimators row by row."""

import numpy as np
import pytest
from river import compat, metrics
from sklearn.preprocessing import Normalizer

from odalib import ADFProbitClassifier, ODAClassifier, ODARegressor
from odalib.streaming import make_streaming_pipeline
from tests.streaming.streams import COLUMNS, X, Y

Z = (X - X.mean(axis=0)) / X.std(axis=0)
TARGET = 2.0 * Z[:, 0] - Z[:, 1]


def rows(n):
    for values in Z[:n]:
        yield dict(zip(COLUMNS, values.tolist(), strict=True))


@pytest.mark.parametrize(
    "make, n",
    [
        (ADFProbitClassifier, 300),
        (lambda: ODAClassifier(6, random_state=0), 40),
        (lambda: make_streaming_pipeline(Normalizer(), ADFProbitClassifier()), 300),
    ],
    ids=["ADFProbitClassifier", "ODAClassifier", "StreamingPipeline"],
)
def test_classifiers_learn_row_by_row(make, n):
    driven, accuracy = compat.SKL2RiverClassifier(make(), [0, 1]), metrics.Accuracy()
    assert driven.predict_proba_one(next(rows(1))) == {0: 0.5, 1: 0.5}
    for x, label in zip(rows(n), Y[:n].tolist(), strict=True):
        accuracy.update(label, driven.predict_one(x))
        driven.learn_one(x, label)
    assert accuracy.get() > 0.8
    whole = make().partial_fit(Z[:n], Y[:n], classes=[0, 1])
    np.testing.assert_allclose(
        driven.estimator.predict_proba(Z), whole.predict_proba(Z), rtol=1e-10
    )


def test_a_regressor_learns_row_by_row():
    model = ODARegressor(4, random_state=0)
    driven = compat.SKL2RiverRegressor(model)
    score = metrics.R2()
    for place, (x, target) in enumerate(
        zip(rows(60), TARGET[:60].tolist(), strict=True)
    ):
        if place >= 20:
            score.update(target, driven.predict_one(x))
        driven.learn_one(x, target)
    assert score.get() > 0.8
    whole = ODARegressor(4, random_state=0).partial_fit(Z[:60], TARGET[:60])
    np.testing.assert_array_equal(model.predict(Z), whole.predict(Z))

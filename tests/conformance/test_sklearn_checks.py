"""scikit-learn's own checks: those it yields, and those it runs on itself only."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.utils import ClassifierTags, get_tags
from sklearn.utils.estimator_checks import (
    check_class_weight_classifiers,
    check_clustering,
    check_dataframe_column_names_consistency,
    check_estimator_sparse_array,
    check_estimator_sparse_matrix,
    check_get_feature_names_out_error,
    check_global_output_transform_pandas,
    check_global_set_output_transform_polars,
    check_inplace_ensure_writeable,
    check_param_validation,
    check_set_output_transform,
    check_set_output_transform_pandas,
    check_set_output_transform_polars,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
    parametrize_with_checks,
)

from odalib import ODAClassifier, ODARegressor

from .registry import SUBJECTS

KIND = "scikit-learn's own checks"

ESTIMATORS = (
    # Every class as it comes, then with the parameters of the registry.
    *(
        cls()
        for cls in {
            type(subject.estimator): None for subject in SUBJECTS if subject.as_it_comes
        }
    ),
    *(subject.estimator for subject in SUBJECTS if subject.sklearn_checks),
)

NEVER_YIELDED = (
    check_dataframe_column_names_consistency,
    check_inplace_ensure_writeable,
    check_param_validation,
)
NEVER_YIELDED_OF_TRANSFORMERS = (
    check_get_feature_names_out_error,
    check_global_output_transform_pandas,
    check_global_set_output_transform_polars,
    check_set_output_transform,
    check_set_output_transform_pandas,
    check_set_output_transform_polars,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
)

# Some of the data have fewer distinct rows than the estimators have clusters, and
# ask for an answer all the same; the warning about that is right.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    # And others are all of one sign, which makes for constant columns.
    pytest.mark.filterwarnings("ignore:Columns that never vary:UserWarning"),
]


def _with_four_columns(estimator):
    """Give the sparse checks what they take for granted of ``predict_proba``.

    They hold whatever has that method to be a classifier, read its tags, and
    expect the four columns of their y.
    """

    class FourClusters(type(estimator)):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.classifier_tags = ClassifierTags()
            return tags

    return FourClusters(**estimator.get_params()).set_params(n_clusters=4)


def _on_positive_rows(estimator):
    """Take the rows of the few checks that mind no tag to where X is positive."""
    if not get_tags(estimator).input_tags.positive_only:
        return estimator

    class OfPositiveRows(type(estimator)):
        def fit(self, X, y=None, sample_weight=None):
            return super().fit(np.exp(np.arcsinh(X)), y, sample_weight)

        def predict(self, X):
            return super().predict(np.exp(np.arcsinh(X)))

    return OfPositiveRows(**estimator.get_params())


# What a check presumes of a kind of estimators, though it need not hold.
PRESUMED = {
    check_estimator_sparse_array: (is_clusterer, _with_four_columns),
    check_estimator_sparse_matrix: (is_clusterer, _with_four_columns),
    check_clustering: (is_clusterer, _on_positive_rows),
    check_class_weight_classifiers: (is_classifier, _on_positive_rows),
}


# These choose among a hundred numbers of codevectors in every fit, which takes long. By
# day the estimators of the registry meet the checks, with a number that is given.
AT_NIGHT = {repr(ODAClassifier()), repr(ODARegressor())}


def _by_day_and_night(pairs):
    for estimator, check in pairs:
        marks = [pytest.mark.nightly] if repr(estimator) in AT_NIGHT else []
        yield pytest.param(estimator, check, marks=marks)


YIELDED = parametrize_with_checks(list(ESTIMATORS))


@pytest.mark.parametrize(
    YIELDED.args[0], [*_by_day_and_night(YIELDED.args[1])], **YIELDED.kwargs
)
def test_yielded(estimator, check):
    function = check.func
    while isinstance(function, partial):
        function = function.func
    is_kind, adapted = PRESUMED.get(function, (None, None))
    if is_kind is not None and is_kind(estimator):
        estimator = adapted(estimator)
    check(estimator)


# The checks of frames fit frames and ask of arrays, and the reverse, on purpose.
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:X has feature names, but:UserWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        *product(ESTIMATORS, NEVER_YIELDED),
        *product(
            [e for e in ESTIMATORS if hasattr(e, "transform")],
            NEVER_YIELDED_OF_TRANSFORMERS,
        ),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)),
)
def test_never_yielded(estimator, check):
    check(type(estimator).__name__, clone(estimator))

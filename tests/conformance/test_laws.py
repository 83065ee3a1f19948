"""Every estimator keeps every law that it is under, on data that hypothesis invents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odalib import ODAClusterer

from .comparing import assert_same_partition
from .kinds import of_kind
from .lawful import seeds
from .registry import SUBJECTS
from .suite import LAWS, laws_for

CLASSES = tuple({type(subject.estimator): None for subject in SUBJECTS})
PAIRS = [
    pytest.param(cls, law, subjects, id=f"{cls.__name__}-{law.__name__}")
    for cls in CLASSES
    for law in LAWS
    if (
        subjects := [
            subject
            for subject in SUBJECTS
            if type(subject.estimator) is cls and law in laws_for(subject)
        ]
    )
]


@pytest.mark.parametrize(("cls", "law", "subjects"), PAIRS)
def test_law(cls, law, subjects):
    """Try one law on the estimators of one class."""
    law(*subjects)


@st.composite
def separated(draw):
    """Rows in groups far apart, in random order, and the number of groups."""
    n_groups, n_features = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(seeds))
    places = rng.permutation(6**n_features)[:n_groups]
    centres = 40.0 * np.stack(np.unravel_index(places, [6] * n_features), axis=1)
    y = np.repeat(np.arange(n_groups), rng.integers(2, 9, n_groups))
    X = centres[y] + rng.normal(size=(len(y), n_features))
    return X[rng.permutation(len(y))], n_groups


@of_kind("methods tell one story", ODAClusterer)
@given(data=separated())
def test_separated_groups_are_found(data):
    """The partition into groups is the least sum of squares by a wide margin."""
    X, k = data
    model = ODAClusterer(k, random_state=0).fit(X)
    group = np.unique(np.round(X / 40.0), axis=0, return_inverse=True)[1].ravel()
    assert_same_partition(model.labels_, group, "groups far apart")

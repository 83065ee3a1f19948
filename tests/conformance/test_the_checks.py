"""Every check passes a sound estimator, and fails one that has the fault it is for."""

import pytest
from hypothesis import settings

from . import (
    broken_classifying,
    broken_failing,
    broken_hostile,
    broken_laws,
    broken_learning,
    broken_manners,
    broken_reading,
)
from .stand_in import BREAKAGES, StandIn
from .stand_in_classifier import StandInClassifier, StandInGrowing
from .stand_in_others import StandInDensity, StandInRegressor
from .subject import Subject
from .suite import CHECKS, LAWS, checks_for, laws_for

BROKEN_MODULES = (
    broken_classifying,
    broken_learning,
    broken_reading,
    broken_manners,
    broken_failing,
    broken_hostile,
    broken_laws,
)


class PositiveStandIn(StandIn):
    """A stand-in that is defined on positive rows only."""

    lower_bound = 0


SOUND = Subject("sound", StandIn(), shift_free=True)
POSITIVE = Subject(
    "positive", PositiveStandIn(), domain="positive", domain_error="not above 0"
)
CLASSIFIER = Subject(
    "classifier",
    StandInClassifier(),
    homogeneous=False,
    fits_calls=True,
    gathers=False,
)
GROWING = Subject("growing", StandInGrowing(), classes_grow=True, gathers=False)
# Laws are all that they know.
REGRESSOR = Subject("regressor", StandInRegressor(), only=("laws_learning",))
DENSITY = Subject(
    "density",
    StandInDensity(),
    domain="binary",
    homogeneous=False,
    only=("laws_learning",),
)

SOUND_PAIRS = [
    *((SOUND, check) for check in checks_for(SOUND)),
    *((POSITIVE, check) for check in checks_for(POSITIVE)),
    *((CLASSIFIER, check) for check in checks_for(CLASSIFIER)),
    *((GROWING, check) for check in checks_for(GROWING)),
    *(
        (subject, law)
        for subject in (SOUND, CLASSIFIER, REGRESSOR, DENSITY)
        for law in laws_for(subject)
    ),
]


def _ids(value):
    return getattr(value, "__name__", getattr(value, "name", ""))


@pytest.mark.parametrize(("subject", "check"), SOUND_PAIRS, ids=_ids)
def test_a_sound_estimator_passes(subject, check):
    check(subject)


@pytest.fixture
def many_examples():
    """Let laws be tried so often that it does not matter on which examples."""
    settings.register_profile("as before", parent=settings())
    often = max(settings().max_examples, 300)
    settings.register_profile("often", parent=settings(), max_examples=often)
    settings.load_profile("often")
    yield
    settings.load_profile("as before")


@pytest.mark.usefixtures("many_examples")
@pytest.mark.parametrize(("check", "subject", "error", "match"), BREAKAGES, ids=_ids)
def test_a_broken_estimator_fails(check, subject, error, match):
    with pytest.raises(error, match=match):
        check(subject)


def test_every_check_has_passed_and_failed():
    assert BROKEN_MODULES, "importing these modules registers the broken estimators"
    assert {check for _, check in SOUND_PAIRS} == {*CHECKS, *LAWS}
    assert {check for check, *_ in BREAKAGES} == {*CHECKS, *LAWS}

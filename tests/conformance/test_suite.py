"""Every estimator of the registry meets every check that concerns it."""

import sys

import pytest

from .kinds import kind_of
from .registry import SUBJECTS, VARIANTS
from .suite import checks_for

# Kinds that fit many times.
COSTLY = (
    "hostile numbers",
    "atomic failure",
    "persistence",
    "batches split and merged",
    "clone and pickle",
    "dtype and layout",
)


def marks(subject, check):
    """Marks of a pair: variants meet what takes long at night."""
    kind = kind_of(check, sys.modules[check.__module__])
    at_night = kind in COSTLY and subject.name in VARIANTS
    return [pytest.mark.nightly] if at_night else []


PAIRS = [
    pytest.param(
        subject,
        check,
        id=f"{subject.name}-{check.__name__}",
        marks=marks(subject, check),
    )
    for subject in SUBJECTS
    for check in checks_for(subject)
]


@pytest.mark.parametrize(("subject", "check"), PAIRS)
def test_suite(subject, check):
    """Run one check on one estimator."""
    check(subject)

"""Every estimator of the registry meets every check that concerns it."""

import pytest

from .registry import SUBJECTS
from .suite import checks_for

PAIRS = [
    pytest.param(subject, check, id=f"{subject.name}-{check.__name__}")
    for subject in SUBJECTS
    for check in checks_for(subject)
]


@pytest.mark.parametrize(("subject", "check"), PAIRS)
def test_suite(subject, check):
    """Run one check on one estimator."""
    check(subject)

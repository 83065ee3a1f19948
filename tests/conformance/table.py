"""The table of kinds and estimators, made of what the tests have shown."""

import sys
from collections import defaultdict

from .kinds import KINDS, kind_of
from .registry import SUBJECTS
from .suite import CHECKS, LAWS

CLASSES = tuple({type(subject.estimator): None for subject in SUBJECTS})
# Classes that tests without a subject leave out, and why.
LEFT_OUT = {
    "scikit-learn's own checks": {
        "StreamingPipeline": "it needs steps; tests of its own run them",
        "PathSearchCV": "it needs an estimator; tests of its own run them",
    },
    "reported cases": {
        "IsingModel": "no report is about a density of spins",
        "StreamingPipeline": "the reports are about its steps",
        "PathSearchCV": "the reports are about what it fits",
    },
}


def lines(shown):
    """Yield the table in Markdown, and under it why cells are empty."""
    yield " | ".join(["| kind", *(cls.__name__ for cls in CLASSES)]) + " |"
    yield "|---" + "|---:" * len(CLASSES) + "|"
    reasons = defaultdict(list)
    for kind in KINDS:
        cells = [_cell(shown, kind, cls) for cls in CLASSES]
        yield " | ".join([f"| {kind}", *cells]) + " |"
        for cls, cell in zip(CLASSES, cells, strict=True):
            if cell == "-":
                reasons[kind, reason_to_leave_out(kind, cls)].append(cls.__name__)
    yield ""
    for (kind, reason), left_out in reasons.items():
        yield f"- {kind}, {', '.join(left_out)}: {reason}."


def is_green(shown):
    """Tell whether every test has passed, and every cell has tests or a reason."""
    cells = [_cell(shown, kind, cls) for kind in KINDS for cls in CLASSES]
    return all(cell == "-" or cell.isdigit() for cell in cells)


def _cell(shown, kind, cls):
    """Number of tests passed, or the names of those failed."""
    tests = shown.get((kind, cls.__name__), {})
    failed = [name.rpartition("::")[2] for name, passed in tests.items() if not passed]
    if failed:
        return "FAILED " + ", ".join(failed)
    if tests:
        return str(len(tests))
    return "-" if reason_to_leave_out(kind, cls) else "MISSING"


def reason_to_leave_out(kind, cls):
    """Say why no test of a kind concerns a class; nothing where one should."""
    subjects = [subject for subject in SUBJECTS if type(subject.estimator) is cls]
    checks = [
        check
        for check in (*CHECKS, *LAWS)
        if kind_of(check, sys.modules[check.__module__]) == kind
    ]
    if not checks:
        return LEFT_OUT.get(kind, {}).get(cls.__name__, "")
    lacks = [_lacks(check, subjects) for check in checks]
    if all(lacks):
        return "it lacks " + ", ".join(sorted(set().union(*lacks)))
    if all(subject.only for subject in subjects):
        return "its parts are under these, and tests of its own hold the whole"
    return ""


def _lacks(check, subjects):
    """Needs of a check that no subject has."""
    return {
        need
        for need in check.needs
        if not any(subject.has(need) for subject in subjects)
    }

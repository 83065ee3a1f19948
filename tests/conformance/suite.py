"""All of the checks, and which of them concern a given subject."""

from . import (
    checks_classifier,
    checks_clusterer,
    checks_input,
    checks_invariance,
    checks_persistence,
    checks_refusal,
    checks_streaming,
    checks_tools,
)

_MODULES = (
    checks_streaming,
    checks_invariance,
    checks_input,
    checks_refusal,
    checks_persistence,
    checks_clusterer,
    checks_classifier,
    checks_tools,
)

CHECKS = tuple(
    member
    for module in _MODULES
    for name, member in vars(module).items()
    if name.startswith("check_")
)


def checks_for(subject):
    """List the checks that have something to look at in `subject`."""
    return [
        check
        for check in CHECKS
        if all(subject.has(need) for need in check.needs)
        and (not subject.only or check.__module__.rpartition(".")[2] in subject.only)
    ]

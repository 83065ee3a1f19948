"""All of the checks and laws, and which of them concern a given subject."""

from . import (
    checks_classifier,
    checks_clusterer,
    checks_failure,
    checks_hostile,
    checks_input,
    checks_invariance,
    checks_persistence,
    checks_refusal,
    checks_streaming,
    checks_threads,
    checks_tools,
    laws_forms,
    laws_learning,
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
    checks_failure,
    checks_threads,
    checks_hostile,
)

_LAWS = (laws_learning, laws_forms)


def _checks_in(modules):
    return tuple(
        member
        for module in modules
        for name, member in vars(module).items()
        if name.startswith("check_")
    )


CHECKS = _checks_in(_MODULES)
LAWS = _checks_in(_LAWS)


def checks_for(subject):
    """List the checks that have something to look at in `subject`."""
    return [check for check in CHECKS if concerns(check, subject)]


def laws_for(subject):
    """List the laws that hold for `subject`."""
    return [law for law in LAWS if concerns(law, subject)]


def concerns(check, subject):
    """Tell whether a check or a law has something to look at in `subject`."""
    module = check.__module__.rpartition(".")[2]
    return all(subject.has(need) for need in check.needs) and (
        not subject.only or module in subject.only
    )

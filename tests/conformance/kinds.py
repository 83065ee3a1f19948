"""Kinds of promises: the rows of the table that ``python -m tests.conformance`` prints.

A module of checks or tests says of which kind they are by its ``KIND``; a check that is
of another says so to `needs`, and a test by `of_kind`. Tests that are not given an
estimator to look at say which classes they are about by ``ESTIMATORS``, of the module,
or to `of_kind`.
"""

KINDS = (
    "permutation of features",
    "permutation of rows",
    "scaling and shift",
    "batches split and merged",
    "weights and repetition",
    "dtype and layout",
    "float32 against float64",
    "labels",
    "subsets of rows",
    "clone and pickle",
    "bits for every n_jobs and run",
    "hostile numbers",
    "atomic failure",
    "threads",
    "persistence",
    "refusals and their words",
    "streams go on",
    "methods tell one story",
    "life among tools",
    "scikit-learn's own checks",
    "reported cases",
)


def of_kind(kind, *estimators):
    """Say of a test of which kind it is, and which classes it is about."""

    def mark(test):
        test.kind, test.estimators = kind, estimators
        return test

    return mark


def kind_of(function, module):
    """Kind of a check or test: its own, or else that of its module."""
    kind = getattr(function, "kind", None) or module.KIND
    if kind not in KINDS:
        raise ValueError(f"{kind!r} of {module.__name__} is none of {KINDS}.")
    return kind

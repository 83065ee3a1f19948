"""The list of mutations is true: each applies to its file, and its tests are there."""

import re

import pytest

from tests.mutations.listed import MUTATIONS
from tests.mutations.mutation import Mutation
from tests.mutations.running import ROOT


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.name)
def test_a_mutation_applies(mutation):
    """Its text stands once in its file, and the tests named are there."""
    text = (ROOT / mutation.path).read_text(encoding="utf-8")
    assert mutation.applied(text) != text
    for test in mutation.tests:
        file, _, name = test.partition("::")
        body = (ROOT / file).read_text(encoding="utf-8")
        assert not name or re.search(rf"^def {name}\(", body, re.MULTILINE)


def test_thirty_are_listed_of_all_kinds():
    """Under names of their own; ten of compiled kernels, of every family."""
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 30
    compiled = [mutation for mutation in MUTATIONS if mutation.family]
    assert len(compiled) >= 10
    built = {path.stem for path in (ROOT / "odalib/kernels").glob("_*.pyx")} - {
        "__init__"
    }
    assert {f"_{mutation.family}" for mutation in compiled} == built
    for mutation in MUTATIONS:
        is_compiled = mutation.path.endswith((".h", ".pyx", ".pxi"))
        assert is_compiled == (mutation.family is not None), mutation.name


@pytest.mark.parametrize("n_times", [0, 2])
def test_a_text_that_does_not_stand_once_is_refused(n_times):
    mutation = Mutation("sign", "a sign", "file.py", "a + b", "a - b", ())
    with pytest.raises(ValueError, match=rf"'sign' .*{n_times} times in file\.py"):
        mutation.applied("c = a + b\n" * n_times)
    assert mutation.applied("c = a + b\n") == "c = a - b\n"

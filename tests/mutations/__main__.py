"""Break the kernels in named ways, and see whether the suite notices each.

``python -m tests.mutations`` tries all, ``python -m tests.mutations NAME ...`` some.
Each is applied to a copy of the tree, never in place; tests that are to catch it must
pass without it, and with it fail by an assertion or a warning. The exit status is one
where a mutation survives.
"""

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutations.listed import MUTATIONS
from tests.mutations.running import Tree

ROW = "{:<32} {:>5}  {}"


def main(arguments=None):
    """Try mutations and print what catches each; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="all where none is given"
    )
    names = parser.parse_args(arguments).names
    by_name = {mutation.name: mutation for mutation in MUTATIONS}
    unknown = sorted({*names} - {*by_name})
    if unknown:
        parser.error(f"no mutation is named {unknown}; there are {sorted(by_name)}.")
    chosen = [by_name[name] for name in names] or MUTATIONS
    with tempfile.TemporaryDirectory() as place:
        survivors = try_all(chosen, Path(place))
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutations are caught.")
    if survivors:
        print("Not caught:", *survivors)
    return int(bool(survivors))


def try_all(mutations, place):
    """Print a row for every mutation; return the names of those that survive.

    Raises
    ------
    RuntimeError
        Where tests fail without a mutation.
    """
    first = Tree(place / "0")
    families = sorted({mutation.family for mutation in mutations} - {None})
    if families:
        first.build(*families)
    sound = first.tested(sorted({test for one in mutations for test in one.tests}))
    if not sound.passed:
        raise RuntimeError(
            f"Tests fail before anything is broken: {sound.caught_by} {sound.trouble}"
        )
    trees = SimpleQueue()
    trees.put(first)
    n_workers = os.cpu_count() or 1
    for number in range(1, n_workers):
        trees.put(first.copied(place / str(number)))

    def outcome(mutation):
        tree = trees.get()
        try:
            return tree.outcome(mutation)
        finally:
            trees.put(tree)

    print(ROW.format("mutation", "s", "caught by"))
    survivors = []
    with ThreadPoolExecutor(n_workers) as pool:
        for mutation, (found, seconds) in zip(
            mutations, pool.map(outcome, mutations), strict=True
        ):
            caught_by = found.caught_by
            if not caught_by:
                survivors.append(mutation.name)
                caught_by = f"NOT CAUGHT: {mutation.breaks}. {found.trouble}"
            print(ROW.format(mutation.name, round(seconds), caught_by), flush=True)
    return survivors


if __name__ == "__main__":
    sys.exit(main())

"""The benchmark book, and the comparison of two commits.

``python -m benchmarks`` runs every script and writes docs/benchmarks.md;
``python -m benchmarks NAME ...`` runs those named and keeps the sections of the others.
``python -m benchmarks --compare OLD NEW`` times the tasks of benchmarks/_tasks.py at
two commits, or those named, and fails where one has become more than 15 % slower.
"""

import argparse
import sys
from pathlib import Path

from benchmarks._book import is_sound, run_book, script_names
from benchmarks._compare import compare_commits
from benchmarks._tasks import TASKS


def parse(arguments):
    """Return the command line's options, with the names that it leaves open."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="scripts, or tasks to compare"
    )
    parser.add_argument(
        "--data", metavar="DIR", help="folder of data, for scripts that take it"
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="exit with 1 where a limit is missed or a script fails",
    )
    parser.add_argument(
        "--compare", nargs=2, metavar=("OLD", "NEW"), help="time tasks at two commits"
    )
    options = parser.parse_args(arguments)
    if options.compare is not None and (options.strict or options.data is not None):
        parser.error("--compare takes neither --strict nor --data")
    known = script_names() if options.compare is None else list(TASKS)
    if options.data is not None:
        if not Path(options.data).is_dir():
            parser.error(f"--data: {options.data} is no folder")
        # Scripts run from the root of the checkout.
        options.data = str(Path(options.data).resolve())
    options.names = list(dict.fromkeys(options.names or known))
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"no {', '.join(unknown)} among {', '.join(known)}")
    return options


def main(arguments=None):
    """Run the book or the comparison and return the exit status."""
    options = parse(arguments)
    if options.compare is not None:
        return compare_commits(*options.compare, options.names)
    records = run_book(options.names, options.data)
    unsound = [name for name, record in records.items() if not is_sound(record)]
    print(f"\nscripts: {len(records)}, not all reached: {', '.join(unsound) or 'none'}")
    return int(options.strict and bool(unsound))


if __name__ == "__main__":
    sys.exit(main())

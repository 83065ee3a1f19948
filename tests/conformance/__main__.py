"""Run these tests and print what they show: ``python -m tests.conformance``.

Rows are kinds of promises, columns the estimators, and each cell counts the checks
that passed or names those that failed. Arguments go to pytest, such as ``-n 2``. The
exit status is 0 only where all is green.
"""

import sys
from collections import defaultdict
from pathlib import Path

import pytest


class Shown:
    """Plugin of pytest that notes what tests have shown of which estimators.

    Attributes
    ----------
    tests : dict
        For a kind and the name of a class, whether each test has passed.
    """

    def __init__(self):
        self.tests = defaultdict(dict)

    def pytest_runtest_logreport(self, report):
        """Note a test as passed where its call has and nothing else has failed."""
        for name, shows in report.user_properties:
            if name == "shows" and (report.failed or report.when == "call"):
                kind, classes = shows
                for cls in classes:
                    tests = self.tests[kind, cls]
                    passed = report.passed and tests.get(report.nodeid, True)
                    tests[report.nodeid] = passed


def main(arguments):
    """Print the table and return the exit status."""
    shown = Shown()
    here = str(Path(__file__).parent)
    status = pytest.main(["--quiet", here, *arguments], plugins=[shown])
    # Later than pytest, which wants to be the first to import what tests import.
    from .table import is_green, lines

    print("", *lines(shown.tests), sep="\n")
    return 0 if status == pytest.ExitCode.OK and is_green(shown.tests) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

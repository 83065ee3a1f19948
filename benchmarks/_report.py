"""Aligned tables, and the summary line that holds figures against their limits."""

import argparse
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

# Names the file that the claims of a script go to, beside its summary line.
RECORD = "ODALIB_BENCHMARK_RECORD"


class Table:
    """A table whose rows are printed as soon as they are known.

    Parameters
    ----------
    columns : dict of str to str
        Header of each column and its format, alignment and width first
        (``"<26"``, ``">9.4f"``).
    """

    def __init__(self, columns):
        self._formats = list(columns.values())
        self._plain = [re.match(r"[<>]\d+", spec)[0] for spec in self._formats]
        header = self._line(columns)
        print(header)
        print("-" * len(header), flush=True)

    def row(self, *values):
        """Print one row; a text stands in any column, aligned as its numbers are."""
        print(self._line(values), flush=True)

    def _line(self, values):
        cells = zip(values, self._formats, self._plain, strict=True)
        return "  ".join(
            format(value, plain if isinstance(value, str) else spec)
            for value, spec, plain in cells
        )


@dataclass(frozen=True)
class Claim:
    """A figure and the limit it is held against.

    Attributes
    ----------
    label : str
        What the figure is.
    value : float
        The figure; NaN never reaches a limit.
    limit : float
        The limit, itself included.
    relation : {'<=', '>='}
        On which side of the limit the figure has to lie.
    """

    label: str
    value: float
    limit: float
    relation: str = "<="

    @property
    def reached(self):
        """Whether the figure keeps to its limit."""
        if self.relation == "<=":
            return bool(self.value <= self.limit)
        return bool(self.value >= self.limit)

    @property
    def excess(self):
        """How far the figure is beyond its limit, as a share of it; negative within.

        Shares of a limit of zero are counted as those of one.
        """
        distance = self.value - self.limit
        if self.relation == ">=":
            distance = -distance
        return distance / (abs(self.limit) or 1.0)

    def as_record(self):
        """Return the attributes as JSON has them."""
        return {**vars(self), "value": float(self.value), "limit": float(self.limit)}

    def __str__(self):
        missed = "" if self.reached else ", missed"
        return f"{self.label} {self.value:.4g} ({self.relation} {self.limit:g}{missed})"


def argument_parser(name, doc):
    """Return the parser every script starts from.

    Parameters
    ----------
    name : str
        Name of the script within the package.
    doc : str
        Docstring of the script: claim, peer and measurement.

    Returns
    -------
    argparse.ArgumentParser
        It knows ``--strict`` only.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 where a limit is missed"
    )
    return parser


def conclude(claims, scope, strict):
    """Print the summary line and return the exit status.

    The claims also go, as JSON, to the file that the environment variable
    ODALIB_BENCHMARK_RECORD names, where it is set: so the book reads them.

    Parameters
    ----------
    claims : list of Claim
        Everything the script claims, at least one.
    scope : str
        What was run, so that a filtered run cannot pass for a whole one.
    strict : bool
        Whether a missed limit is an error.

    Returns
    -------
    int
        1 where a limit was missed and ``strict`` is set, else 0.
    """
    reached = all(claim.reached for claim in claims)
    verdict = "reached" if reached else "not reached"
    print(f"\nsummary ({scope}): {'; '.join(map(str, claims))}: {verdict}")
    if RECORD in os.environ:
        found = {"scope": scope, "claims": [claim.as_record() for claim in claims]}
        Path(os.environ[RECORD]).write_text(json.dumps(found))
    return int(strict and not reached)

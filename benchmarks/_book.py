"""The benchmark book: every script in a process of its own, and what came out kept.

Results are kept in ``benchmarks/results.json``, a record per script, of which
``docs/benchmarks.md`` is made: a run of some scripts replaces their records only.
"""

import ast
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks._machine import ROOT, describe_environment, pinned
from benchmarks._page import render
from benchmarks._report import RECORD, Claim

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results.json"
PAGE = ROOT / "docs" / "benchmarks.md"


def script_names():
    """Return the names of all scripts: what is neither a part nor the book."""
    return sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))


class Script:
    """What the source of a script says of it, without importing it.

    Attributes
    ----------
    name : str
    title : str
        First line of the docstring.
    paragraphs : dict of str to str
        Those of the docstring from "Claim:" and from "Peers:" to the next such word,
        as Markdown and without that word, under "claim" and "peers".
    takes_data : bool
        Whether it has the option --data.
    threads : tuple of int
        Its constant THREADS, one thread where there is none: numbers of threads
        that the contestants run with.
    """

    def __init__(self, name, source):
        self.name = name
        tree = ast.parse(source)
        title, *paragraphs = ast.get_docstring(tree).split("\n\n")
        self.title = _unwrapped(title)
        self.paragraphs = _named_paragraphs(paragraphs)
        self.takes_data = '"--data"' in source
        self.threads = _threads(tree)

    @classmethod
    def load(cls, name):
        """Return the script of that name."""
        return cls(name, (FOLDER / f"{name}.py").read_text())


def _named_paragraphs(paragraphs):
    """Paragraphs under the word that opens them or one before, where it is known."""
    found, key = {}, None
    for paragraph in paragraphs:
        text = paragraph if paragraph.startswith("- ") else _unwrapped(paragraph)
        if match := re.match(r"(Claim|Peer)s?[:,] (.)", text):
            key = {"Claim": "claim", "Peer": "peers"}[match[1]]
            found[key] = match[2].upper() + text[match.end() :]
        elif re.match(r"[A-Z][a-z]+: ", text):
            key = None
        elif key is not None:
            found[key] += "\n\n" + text
    return found


def _unwrapped(text):
    return " ".join(text.split())


def _threads(tree):
    """Value of the constant THREADS as a tuple, (1,) where there is none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "THREADS":
            found = ast.literal_eval(node.value)
            return found if isinstance(found, tuple) else (found,)
    return (1,)


def measure(script, data_dir):
    """Run a script and return its record.

    Parameters
    ----------
    script : Script
    data_dir : str or None
        Goes to scripts that take it.

    Returns
    -------
    dict
        What the page shows; with "failure" where the script did not conclude.
    """
    has_data = script.takes_data and data_dir is not None
    record = {
        "title": script.title,
        **script.paragraphs,
        "command": f"python -m benchmarks.{script.name}" + " --data DIR" * has_data,
        "without_data": script.takes_data and not has_data,
        "threads": list(script.threads),
        **describe_environment(),
    }
    options = ["--data", data_dir] if has_data else []
    with tempfile.TemporaryDirectory() as folder:
        claims = Path(folder) / "claims.json"
        environment = pinned(max(script.threads)) | {RECORD: str(claims)}
        start = perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{script.name}", *options],
            cwd=ROOT,
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        record["seconds"] = round(perf_counter() - start, 1)
        sys.stderr.write(done.stderr)
        if claims.exists():
            return record | json.loads(claims.read_text())
    said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return record | {"failure": said[-1]}


def load_results():
    """Return the records of earlier runs by name of the script."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def merged(records, fresh, names):
    """Return records with fresh ones in place, for scripts that there are.

    Parameters
    ----------
    records, fresh : dict of str to dict
    names : iterable of str
        Of the scripts.

    Returns
    -------
    dict of str to dict
        In the order of the names.
    """
    known = records | fresh
    return {name: known[name] for name in sorted(names) if name in known}


def write_book(records):
    """Write the records, and the page that shows them."""
    RESULTS.write_text(json.dumps(records, indent=1) + "\n")
    PAGE.write_text(render(records))


def run_book(names, data_dir):
    """Run scripts one after the other, keep the book up to date, return the records.

    The book is written after every script, so that a run that is stopped keeps what
    it has measured.
    """
    fresh = {}
    for name in names:
        print(f"== {name}", flush=True)
        fresh[name] = measure(Script.load(name), data_dir)
        write_book(merged(load_results(), fresh, script_names()))
    return fresh


def is_sound(record):
    """Return whether a script concluded and reached all its limits."""
    return "claims" in record and all(
        Claim(**claim).reached for claim in record["claims"]
    )

"""The benchmark book: every script in a process of its own, and what came out kept.

Results are kept in ``benchmarks/results.json``, a record per script, of which
``docs/benchmarks.md`` is made: a run of some scripts replaces their records only, and
a run that fails leaves the last good record beside what went wrong.
"""

import ast
import json
import re
import subprocess
import sys
import tempfile
from datetime import date
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
    takes_data, needs_data : bool
        Whether it has the option --data, and whether that is required.
    threads : tuple of int
        Its constant THREADS, one thread where there is none: numbers of threads
        that the contestants run with.
    fault : str or None
        Why it cannot be run for the book.
    """

    def __init__(self, name, source):
        self.name = name
        self.fault = None
        try:
            tree = ast.parse(source)
        except SyntaxError as error:
            tree = ast.Module([], [])
            self.fault = f"SyntaxError: {error}"
        docstring = ast.get_docstring(tree)
        if docstring is None and self.fault is None:
            self.fault = "no docstring, which title and claim are taken from"
        title, *paragraphs = (docstring or name).split("\n\n")
        self.title = _unwrapped(title)
        self.paragraphs = _named_paragraphs(paragraphs)
        data_option = _option(tree, "--data")
        self.takes_data = data_option is not None
        self.needs_data = self.takes_data and data_option.get("required") == "True"
        self.threads = _threads(tree)

    @classmethod
    def load(cls, name):
        """Return the script of that name."""
        return cls(name, (FOLDER / f"{name}.py").read_text())

    def outline(self, with_data):
        """Return what the page says of the script whether or not it was run."""
        return {
            "title": self.title,
            **self.paragraphs,
            "command": f"python -m benchmarks.{self.name}" + " --data DIR" * with_data,
        }


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


def _option(tree, name):
    """Keywords, as source, of the call that adds an option; None where none does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and first.value == name:
                return {word.arg: ast.unparse(word.value) for word in node.keywords}
    return None


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
        What the page shows; with "failure" and "failed_on", not "claims", where the
        script did not conclude.
    """
    has_data = script.takes_data and data_dir is not None
    record = {
        **script.outline(has_data),
        "without_data": script.takes_data and not has_data,
        "threads": list(script.threads),
        **describe_environment(),
        "seconds": 0.0,
    }
    if script.fault is not None:
        return record | _failure(script.fault)
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
        if done.returncode == 0 and claims.exists():
            return record | _without_paths(json.loads(claims.read_text()), data_dir)
    return record | _failure(_without_paths(what_failed(done), data_dir))


def _failure(text):
    """Entries of a record that say that a run failed, and why."""
    return {"failure": text, "failed_on": date.today().isoformat()}


def what_failed(done):
    """Return why a process has no summary: its exception, or how it ended.

    Parameters
    ----------
    done : subprocess.CompletedProcess

    Returns
    -------
    str
        Type and message of the exception, which may have several lines.
    """
    _, traceback, after = done.stderr.rpartition("Traceback (most recent call")
    # Frames are indented, and the exception is the first line after them that is not.
    if found := traceback and re.search(r"^\w.*", after, re.MULTILINE | re.DOTALL):
        return found[0].strip()
    if done.returncode == 0:
        return "ended without a summary"
    lines = done.stderr.strip().splitlines()
    return ": ".join([f"exit status {done.returncode}", *lines[-1:]])


def _without_paths(found, data_dir):
    """The same with the checkout and the folder of data taken out of all texts."""
    if isinstance(found, dict):
        return {key: _without_paths(value, data_dir) for key, value in found.items()}
    if isinstance(found, list):
        return [_without_paths(value, data_dir) for value in found]
    if not isinstance(found, str):
        return found
    names = {str(ROOT): "."} | ({} if data_dir is None else {data_dir: "DIR"})
    # Either folder may hold the other.
    for folder in sorted(names, key=len, reverse=True):
        whole = rf"(?<![\w.]){re.escape(folder)}(?![\w-])"
        found = re.sub(whole, names[folder], found)
    return found


def load_results():
    """Return the records of earlier runs by name of the script."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def merged(records, fresh, names):
    """Return records with fresh ones in place, for scripts that there are.

    A run that failed replaces no figures: it is noted in the record of the last good
    run, until one concludes again.

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
    known = dict(records)
    for name, record in fresh.items():
        if "claims" not in record and "claims" in records.get(name, {}):
            noted = {key: record[key] for key in ("failure", "failed_on")}
            record = records[name] | noted
        known[name] = record
    return {name: known[name] for name in sorted(names) if name in known}


def page(records):
    """Return the page: records, and the outlines of scripts that have none."""
    scripts = map(Script.load, script_names())
    outlines = {script.name: script.outline(script.takes_data) for script in scripts}
    return render(outlines | records)


def write_book(records):
    """Write the records, and the page that shows them."""
    RESULTS.write_text(json.dumps(records, indent=1) + "\n")
    PAGE.write_text(page(records))


def run_book(names, data_dir):
    """Run scripts one after the other, keep the book up to date, return the records.

    The book is written after every script, so that a run that is stopped keeps what
    it has measured. Scripts that need data are not run without, and the book keeps
    what it says of them.
    """
    fresh = {}
    for name in names:
        print(f"== {name}", flush=True)
        script = Script.load(name)
        if script.needs_data and data_dir is None:
            fresh[name] = _failure("not run, since it needs --data DIR")
            print(fresh[name]["failure"], flush=True)
            continue
        fresh[name] = measure(script, data_dir)
        if "failure" in fresh[name]:
            print(f"failed: {fresh[name]['failure']}", flush=True)
        write_book(merged(load_results(), {name: fresh[name]}, script_names()))
    return fresh


def is_sound(record):
    """Return whether a script concluded and reached all its limits."""
    return "claims" in record and all(
        Claim(**claim).reached for claim in record["claims"]
    )

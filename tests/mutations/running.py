"""Runs of the suite on a copy of the tree, sound and with a mutation in it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Outcome", "Tree"]

ROOT = Path(__file__).resolve().parents[2]
# What the copy needs; the rest of a checkout may be large.
PARTS = ("odalib", "tests", "benchmarks", "pyproject.toml", "setup.py", "README.md")
# A break may make a search go on for ever.
SECONDS = 180
# How failures begin that are no crash.
OBJECTION = re.compile(r"AssertionError|assert |Failed: |[\w.]*Warning: ")

BUILD = """
import sys
import setuptools
from distutils.core import run_setup

names = [f"odalib.kernels._{family}" for family in sys.argv[1:]]
run = run_setup("setup.py", ["-q", "build_ext", "--inplace"], "commandline")
run.ext_modules = [module for module in run.ext_modules if module.name in names]
for module in run.ext_modules:
    # The last counts. Sound kernels are built so too; it takes a third of the time.
    module.extra_compile_args.append("-O1")
run.run_commands()
"""


@dataclass(frozen=True)
class Outcome:
    """What became of some tests.

    Attributes
    ----------
    passed : bool
        Whether all have.
    caught_by : str
        First test in which an assertion failed, or a warning came, which the suite
        takes for an error; empty where there is none.
    trouble : str
        What else there is to say of a run that did not pass.
    """

    passed: bool
    caught_by: str
    trouble: str


class Tree:
    """Copy of the tree, in which one thing at a time is broken.

    Parameters
    ----------
    place : path-like
        Folder that is to hold the copy; made here.
    origin : path
        Tree that is copied.
    """

    def __init__(self, place, origin=ROOT):
        self.root = Path(place)
        self.root.mkdir()
        for part in PARTS:
            source = origin / part
            if source.is_dir():
                shutil.copytree(source, self.root / part)
            else:
                shutil.copy2(source, self.root / part)

    def copied(self, place):
        """Copy of this copy, with what is built in it."""
        return Tree(place, self.root)

    def outcome(self, mutation):
        """What the tests of a mutation make of it, and the seconds that took.

        Returns
        -------
        outcome : Outcome
        seconds : float
        """
        begun = time.perf_counter()
        file = self.root / mutation.path
        written = [file]
        if mutation.family:
            source = self.root / f"odalib/kernels/_{mutation.family}.c"
            written += [source, *self._binaries(mutation.family)]
        with tempfile.TemporaryDirectory() as place:
            kept = [shutil.copy2(one, Path(place) / one.name) for one in written]
            text = mutation.applied(file.read_text(encoding="utf-8"))
            file.write_text(text, encoding="utf-8")
            try:
                if mutation.family:
                    self.build(mutation.family)
                outcome = self.tested(mutation.tests, SECONDS)
            finally:
                for copy, one in zip(kept, written, strict=True):
                    shutil.copy2(copy, one)
        return outcome, time.perf_counter() - begun

    def build(self, *families):
        """Compile families of kernels.

        Raises
        ------
        RuntimeError
            Where the compiler gives none.
        """
        for family in families:
            for binary in self._binaries(family):
                binary.unlink()
        run = self._run([sys.executable, "-c", BUILD, *families])
        missing = [family for family in families if not self._binaries(family)]
        if missing:
            raise RuntimeError(
                f"{', '.join(missing)} cannot be compiled. The build said:\n"
                f"{run.stdout}{run.stderr}"
            )

    def _binaries(self, family):
        """Compiled kernels of a family."""
        kernels = self.root / "odalib" / "kernels"
        return [*kernels.glob(f"_{family}.*.so"), *kernels.glob(f"_{family}.*.pyd")]

    def tested(self, tests, seconds=None):
        """Run tests, by files or node ids, for so many seconds at the most.

        Returns
        -------
        Outcome
        """
        report = self.root / "report.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no"]
        command += ["-p", "no:cacheprovider", f"--junitxml={report}", *tests]
        try:
            run = self._run(command, timeout=seconds)
        except subprocess.TimeoutExpired:
            return Outcome(False, "", f"no end within {seconds} s")
        if run.returncode == 0:
            return Outcome(True, "", "")
        said = run.stdout.strip().rsplit("\n", 1)[-1]
        if run.returncode != 1:
            return Outcome(False, "", f"pytest ended with {run.returncode}: {said}")
        return Outcome(False, _first_objection(report), said)

    def _run(self, command, timeout=None):
        return subprocess.run(
            command,
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root)},
            capture_output=True,
            text=True,
            timeout=timeout,
        )


def _first_objection(report):
    """Name of the first test of a JUnit report that objects to a number."""
    for case in ElementTree.parse(report).iter("testcase"):
        for failure in case.findall("failure"):
            if OBJECTION.match(failure.get("message", "")):
                return case.get("name")
    return ""

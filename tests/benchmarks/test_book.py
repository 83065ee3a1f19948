"""The benchmark book: claims as JSON, sections that stay and go, what the page says."""

import json
import re
import subprocess

import pytest

from benchmarks import _book
from benchmarks._machine import pinned
from benchmarks._page import render
from benchmarks._report import RECORD, Claim, conclude

SOURCE = '''"""How fast a stone falls.

Claim: it takes at most
1.5 s.

Peers, each in its way:

- a feather,
- a coin
  of copper.

Measured: by ear.

Not a peer.
"""

THREADS = (1, 2)
parser.add_argument("--data", metavar="DIR")
'''
CIRCUMSTANCES = {
    "without_data": False,
    "threads": [1],
    "seconds": 61.4,
    "date": "2026-01-02",
    "commit": "abc1234",
    "processor": "Abacus 3000",
    "processors": 2,
    "load": 0.1,
    "python": "3.11.7",
    "numpy": "2.4.0",
    "scipy": "1.17.0",
    "scikit-learn": "1.9.1",
    "odalib": "0.1.0",
    "compiled": ["annealing"],
    "in NumPy": [],
}


def record(*claims, title="How fast a stone falls.", **changed):
    return {
        "title": title,
        "claim": "It falls.",
        "command": "python -m benchmarks.stone",
        "scope": "3 stones",
        "claims": [claim.as_record() for claim in claims],
        **CIRCUMSTANCES,
        **changed,
    }


REACHED = Claim("seconds", 1.25, 1.5)
MISSED = Claim("metres | yards", 3.0, 4.0, ">=")
FAILURE = {
    "failure": "ValueError: no stone\n  but ```wool```",
    "failed_on": "2026-02-03",
}


def failed():
    found = record(**FAILURE, title="Feathers.")
    del found["claims"], found["scope"]
    return found


def test_claims_are_written_where_the_variable_says(tmp_path, monkeypatch):
    path = tmp_path / "claims.json"
    monkeypatch.setenv(RECORD, str(path))
    assert conclude([REACHED, MISSED], "3 stones", strict=True) == 1
    found = json.loads(path.read_text())
    assert found["scope"] == "3 stones"
    assert [Claim(**claim) for claim in found["claims"]] == [REACHED, MISSED]


def test_claims_without_a_figure_survive_json():
    claim = Claim("seconds", float("nan"), 1.5)
    restored = Claim(**json.loads(json.dumps(claim.as_record())))
    assert restored.value != restored.value and not restored.reached


@pytest.mark.parametrize(
    "claim, excess",
    [
        (Claim("a", 3.0, 2.0), 0.5),
        (Claim("a", 1.0, 2.0), -0.5),
        (Claim("a", 1.0, 2.0, ">="), 0.5),
        (Claim("a", -3.0, -2.0, ">="), 0.5),
        (Claim("a", 0.25, 0.0), 0.25),
    ],
)
def test_excess_is_a_share_of_the_limit(claim, excess):
    assert claim.excess == excess


def test_scripts_are_read_without_being_run():
    script = _book.Script("stone", SOURCE)
    assert script.title == "How fast a stone falls."
    assert script.paragraphs == {
        "claim": "It takes at most 1.5 s.",
        "peers": "Each in its way:\n\n- a feather,\n- a coin\n  of copper.",
    }
    assert script.takes_data and script.threads == (1, 2)
    assert not script.needs_data and script.fault is None
    plain = _book.Script("stone", '"""Stones."""\nTHREADS = 2\n')
    assert not plain.takes_data and plain.threads == (2,)
    assert _book.Script("stone", '"""Stones."""\n').threads == (1,)


@pytest.mark.parametrize(
    "source, fault", [("1 / 0", "no docstring"), ("1 +", "SyntaxError: invalid syntax")]
)
def test_scripts_that_cannot_be_read_are_told_apart(source, fault):
    script = _book.Script("stone", source)
    assert script.title == "stone" and fault in script.fault
    found = _book.measure(script, None)
    assert found["failure"] == script.fault and "claims" not in found


@pytest.mark.parametrize("name", _book.script_names())
def test_every_script_says_what_it_claims(name):
    script = _book.Script.load(name)
    assert script.title.endswith(".")
    assert {"claim", "peers"} <= script.paragraphs.keys()
    assert script.fault is None and script.needs_data == (name == "published_demo")


def test_threads_of_all_pools_are_pinned():
    environment = pinned(2)
    for library in ("OPENBLAS", "OMP", "MKL"):
        assert environment[f"{library}_NUM_THREADS"] == "2"


def test_a_run_replaces_its_own_records_only():
    old = {"feather": record(date="old"), "stone": record(date="old"), "gone": record()}
    fresh = {"stone": record(date="new"), "coin": record(date="new")}
    merged = _book.merged(old, fresh, ["coin", "feather", "never_run", "stone"])
    assert [(name, found["date"]) for name, found in merged.items()] == [
        ("coin", "new"),
        ("feather", "old"),
        ("stone", "new"),
    ]


def fake_run(source, tmp_path, monkeypatch):
    """Measure a script of that source and return its record."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "stone.py").write_text(source)
    monkeypatch.setattr(_book, "ROOT", tmp_path)
    return _book.measure(_book.Script("stone", source), str(tmp_path / "data"))


def test_measuring_a_script_passes_threads_data_and_claims(tmp_path, monkeypatch):
    source = (
        '"""Stones.\n\nClaim: they fall."""\n'
        "import json, os, sys\n"
        "THREADS = (1, 2)\n"
        'def options(parser): parser.add_argument("--data")\n'
        'assert sys.argv[1] == "--data", sys.argv\n'
        'n = float(os.environ["OMP_NUM_THREADS"])\n'
        'claim = {"label": os.getcwd(), "value": n, "limit": 2, "relation": "<="}\n'
        f'with open(os.environ["{RECORD}"], "w") as file:\n'
        '    json.dump({"scope": sys.argv[2] + "/a", "claims": [claim]}, file)\n'
    )
    found = fake_run(source, tmp_path, monkeypatch)
    assert found["claims"][0]["value"] == 2.0 and found["threads"] == [1, 2]
    assert found["scope"] == "DIR/a" and found["claims"][0]["label"] == "."
    assert found["command"] == "python -m benchmarks.stone --data DIR"
    assert found["claim"] == "They fall." and _book.is_sound(found)
    assert {*CIRCUMSTANCES} <= found.keys()


def test_a_script_that_fails_says_so(tmp_path, monkeypatch, capsys):
    source = (
        '"""Stones."""\nimport os, sys\n'
        'raise ValueError(f"no\\n  {os.getcwd()}/stone\\nin {sys.argv[2]}")\n'
        'parser.add_argument("--data")\n'
    )
    found = fake_run(source, tmp_path, monkeypatch)
    assert found["failure"] == "ValueError: no\n  ./stone\nin DIR"
    assert "claims" not in found and not _book.is_sound(found)
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    "status, stderr, failure",
    [
        (0, "a warning\n", "ended without a summary"),
        (-9, "", "exit status -9"),
        (2, "usage: stone\nstone: error: no\n", "exit status 2: stone: error: no"),
    ],
)
def test_scripts_without_an_exception_say_how_they_ended(status, stderr, failure):
    done = subprocess.CompletedProcess([], status, stderr=stderr)
    assert _book.what_failed(done) == failure


def test_a_crash_after_the_summary_is_a_failure(tmp_path, monkeypatch):
    source = (
        '"""Stones."""\nimport os, sys\n'
        f'open(os.environ["{RECORD}"], "w").write(\'{{"claims": []}}\')\n'
        "sys.exit(3)\n"
    )
    found = fake_run(source, tmp_path, monkeypatch)
    assert found["failure"] == "exit status 3" and "claims" not in found


def test_a_failure_keeps_the_last_good_record():
    good = record(REACHED)
    kept = _book.merged({"stone": good}, {"stone": failed()}, ["stone"])["stone"]
    assert kept == good | FAILURE
    # Once more, and then a run that concludes.
    assert (
        _book.merged({"stone": kept}, {"stone": failed()}, ["stone"])["stone"] == kept
    )
    assert _book.merged({"stone": kept}, {"stone": good}, ["stone"])["stone"] == good
    assert _book.merged({}, {"stone": failed()}, ["stone"])["stone"] == failed()


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Folder of a book of its own, with room for scripts."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.setattr(_book, "ROOT", tmp_path)
    monkeypatch.setattr(_book, "FOLDER", folder)
    monkeypatch.setattr(_book, "RESULTS", folder / "results.json")
    monkeypatch.setattr(_book, "PAGE", tmp_path / "page.md")
    return folder


def test_a_script_that_needs_data_is_not_run_without(book, capsys):
    source = '"""Stones."""\nparser.add_argument("--data", required=True)\n'
    (book / "stone.py").write_text(source)
    _book.write_book({"stone": record(REACHED)})
    page = _book.PAGE.read_text()
    found = _book.run_book(["stone"], None)
    assert "needs --data DIR" in capsys.readouterr().out
    assert not _book.is_sound(found["stone"])
    assert _book.load_results() == {"stone": record(REACHED)}
    assert _book.PAGE.read_text() == page


def test_a_broken_script_leaves_the_others_alone(book):
    (book / "coin.py").write_text("1 / 0\n")
    (book / "feather.py").write_text('"""Feathers.\n\nClaim: they fly."""\n')
    (book / "stone.py").write_text('"""Stones."""\n1 / 0\n')
    _book.write_book({"stone": record(REACHED)})
    _book.run_book(["coin", "stone"], None)
    kept = _book.load_results()
    assert "no docstring" in kept["coin"]["failure"]
    assert kept["stone"]["failure"] == "ZeroDivisionError: division by zero"
    assert kept["stone"]["claims"] == [REACHED.as_record()]
    page = _book.PAGE.read_text()
    assert "| [feather](#feather) | Feathers | not run yet |" in page
    assert "**Claim.** They fly." in page and "\nNot run yet.\n" in page


def test_the_page_shows_figures_limits_and_verdicts():
    page = render({"stone": record(REACHED, MISSED), "feather": failed()})
    assert "| seconds | 1.25 | <= 1.5 | reached |" in page
    assert "| metres \\| yards | 3 | >= 4 | **missed** |" in page
    assert (
        "2026-01-02, commit abc1234, 61 s; 1 thread on 2 processors (Abacus 3000), "
        "load 0.1; Python 3.11.7, NumPy 2.4.0, SciPy 1.17.0, scikit-learn 1.9.1, "
        "odalib 0.1.0; kernels compiled: annealing."
    ) in page
    assert ">>>" not in page


def test_the_page_says_what_failed_below_what_was_measured():
    page = render({"stone": record(REACHED) | FAILURE})
    assert (
        page.index("| seconds | 1.25 |")
        < page.index("load 0.1")
        < page.index(
            "**Last run failed on 2026-02-03:**\n\n"
            "```text\nValueError: no stone\n  but '''wool'''\n```\n"
        )
    )
    assert "seconds: 1.25 (<= 1.5); last run failed on 2026-02-03 |" in page


def test_the_page_says_where_data_were_left_out():
    assert "\nRun: 3 stones.\n" in render({"stone": record(REACHED)})
    page = render({"stone": record(REACHED, without_data=True)})
    assert "\nRun without `--data`: 3 stones.\n" in page


def test_the_summary_counts_and_names_the_worst():
    page = render({"stone": record(REACHED, MISSED), "feather": failed()})
    rows = re.findall(r"^\| \[.*$", page, re.MULTILINE)
    assert rows == [
        "| [stone](#stone) | How fast a stone falls | **1 of 2** "
        "| **missed:** metres \\| yards: 3 (>= 4) |",
        "| [feather](#feather) | Feathers | **failed** | `ValueError: no stone` |",
    ]


def test_a_figure_that_is_none_is_the_worst():
    page = render({"stone": record(MISSED, Claim("broken", float("nan"), 1.0))})
    assert "**0 of 2** | **missed:** broken: nan (<= 1) |" in page


def test_the_page_of_the_repository_is_that_of_its_results():
    assert _book.PAGE.read_text() == _book.page(_book.load_results())


def test_the_page_of_the_repository_has_all_scripts():
    sections = re.findall(r"^## ([a-z]\w*)$", _book.PAGE.read_text(), re.MULTILINE)
    assert sections == _book.script_names()

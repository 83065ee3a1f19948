"""The benchmark book: claims as JSON, sections that stay and go, what the page says."""

import json
import re

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


def failed():
    found = record(failure="ValueError: no stone", title="Feathers.")
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
    plain = _book.Script("stone", '"""Stones."""\nTHREADS = 2\n')
    assert not plain.takes_data and plain.threads == (2,)
    assert _book.Script("stone", '"""Stones."""\n').threads == (1,)


@pytest.mark.parametrize("name", _book.script_names())
def test_every_script_says_what_it_claims(name):
    script = _book.Script.load(name)
    assert script.title.endswith(".")
    assert {"claim", "peers"} <= script.paragraphs.keys()


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
    return _book.measure(_book.Script("stone", source), str(tmp_path))


def test_measuring_a_script_passes_threads_data_and_claims(tmp_path, monkeypatch):
    source = (
        '"""Stones.\n\nClaim: they fall."""\n'
        "import json, os, sys\n"
        "THREADS = (1, 2)\n"
        'assert sys.argv[1] == "--data", sys.argv\n'
        'n = float(os.environ["OMP_NUM_THREADS"])\n'
        'claim = {"label": "n", "value": n, "limit": 2, "relation": "<="}\n'
        f'with open(os.environ["{RECORD}"], "w") as file:\n'
        '    json.dump({"scope": sys.argv[2], "claims": [claim]}, file)\n'
    )
    found = fake_run(source, tmp_path, monkeypatch)
    assert found["claims"][0]["value"] == 2.0 and found["threads"] == [1, 2]
    assert found["scope"] == str(tmp_path)
    assert found["command"] == "python -m benchmarks.stone --data DIR"
    assert found["claim"] == "They fall." and _book.is_sound(found)
    assert {*CIRCUMSTANCES} <= found.keys()


def test_a_script_that_fails_says_so(tmp_path, monkeypatch, capsys):
    found = fake_run('"""Stones."""\n1 / 0\n', tmp_path, monkeypatch)
    assert found["failure"] == "ZeroDivisionError: division by zero"
    assert "claims" not in found and not _book.is_sound(found)
    assert "Traceback" in capsys.readouterr().err


def test_the_page_shows_figures_limits_and_verdicts():
    page = render({"stone": record(REACHED, MISSED), "feather": failed()})
    assert "| seconds | 1.25 | <= 1.5 | reached |" in page
    assert "| metres \\| yards | 3 | >= 4 | **missed** |" in page
    assert (
        "2026-01-02, commit abc1234, 61 s; 1 thread on 2 processors (Abacus 3000), "
        "load 0.1; Python 3.11.7, NumPy 2.4.0, SciPy 1.17.0, scikit-learn 1.9.1, "
        "odalib 0.1.0; kernels compiled: annealing."
    ) in page
    assert "**Not measured:** `ValueError: no stone`" in page
    assert ">>>" not in page


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
        "| [feather](#feather) | Feathers | **not measured** "
        "| `ValueError: no stone` |",
    ]


def test_a_figure_that_is_none_is_the_worst():
    page = render({"stone": record(MISSED, Claim("broken", float("nan"), 1.0))})
    assert "**0 of 2** | **missed:** broken: nan (<= 1) |" in page


def test_the_page_of_the_repository_is_that_of_its_results():
    assert _book.PAGE.read_text() == render(_book.load_results())

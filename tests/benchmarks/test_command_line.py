"""What ``python -m benchmarks`` makes of its arguments, and its exit status."""

import pytest

from benchmarks import __main__ as command
from benchmarks._book import script_names
from benchmarks._tasks import TASKS

SOUND = {"claims": [{"label": "a", "value": 1, "limit": 2, "relation": "<="}]}
MISSED = {"claims": [{"label": "a", "value": 3, "limit": 2, "relation": "<="}]}
FAILED = {"failure": "ValueError"}


@pytest.fixture
def calls(monkeypatch):
    """Calls of the book, whose records are set, and of the comparison."""
    made = []

    def run_book(names, data_dir):
        made.append((names, data_dir))
        return {str(i): record for i, record in enumerate(run_book.records)}

    def compare_commits(*arguments):
        made.append(arguments)
        return 1

    run_book.records = [SOUND]
    monkeypatch.setattr(command, "run_book", run_book)
    monkeypatch.setattr(command, "compare_commits", compare_commits)
    made.append(run_book)
    return made


@pytest.mark.parametrize(
    "records, arguments, status",
    [
        ([SOUND], ["--strict"], 0),
        ([SOUND, MISSED], ["--strict"], 1),
        ([FAILED], ["--strict"], 1),
        ([MISSED, FAILED], [], 0),
    ],
)
def test_strict_runs_fail_where_something_is_missed(calls, records, arguments, status):
    calls[0].records = records
    assert command.main(arguments) == status


def test_all_scripts_run_unless_some_are_named(calls, tmp_path):
    command.main([])
    command.main(["path", "growth", "--data", str(tmp_path)])
    assert calls[1:] == [
        (script_names(), None),
        (["path", "growth"], str(tmp_path.resolve())),
    ]
    assert {"adf", "growth", "path"} <= set(script_names())


def test_names_given_twice_run_once(calls):
    command.main(["path", "growth", "path"])
    assert calls[1:] == [(["path", "growth"], None)]


def test_a_comparison_takes_tasks(calls):
    assert command.main(["--compare", "v1", "v2"]) == 1
    assert command.main(["--compare", "v1", "v2", "probit_fit"]) == 1
    assert calls[1:] == [("v1", "v2", list(TASKS)), ("v1", "v2", ["probit_fit"])]


@pytest.mark.parametrize("arguments", [["nosuch"], ["--compare", "a", "b", "path"]])
def test_unknown_names_are_refused(calls, arguments, capsys):
    with pytest.raises(SystemExit) as refusal:
        command.main(arguments)
    assert refusal.value.code == 2 and calls[1:] == []
    assert f"no {arguments[-1]} among" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--data", "no/such"], "--data: no/such is no folder"),
        (["--data", __file__], "is no folder"),
        (["--compare", "a", "b", "--strict"], "--compare takes neither"),
        (["--compare", "a", "b", "--data", "."], "--compare takes neither"),
    ],
)
def test_options_that_mean_nothing_are_refused(calls, arguments, said, capsys):
    with pytest.raises(SystemExit) as refusal:
        command.main(arguments)
    assert refusal.value.code == 2 and calls[1:] == []
    assert said in capsys.readouterr().err

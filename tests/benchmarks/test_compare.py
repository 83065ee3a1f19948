"""Comparison of two commits, on times that were made up."""

import subprocess
from pathlib import Path

import pytest

from benchmarks import _compare
from benchmarks._compare import (
    alternate_trees,
    checkout,
    compare_trees,
    is_slower,
    median_ratio,
    run_tasks,
)
from benchmarks._tasks import TASKS, compiled_families, seconds_of

TREES = ("old", "new")


def fake_runs(seconds):
    """Return what stands in for `run_tasks`, and the calls it has had.

    Parameters
    ----------
    seconds : dict
        Of (tree, task): seconds of every run in turn, the last one for all later.
    """
    calls, left = [], {key: list(values) for key, values in seconds.items()}

    def run(tree, names):
        calls.append((tree, *names))
        found = {}
        for name in names:
            values = left[tree, name]
            found[name] = values.pop(0) if len(values) > 1 else values[0]
        return {"seconds": found}

    return run, calls


def test_trees_run_in_turn(capsys):
    run, calls = fake_runs({("old", "fit"): [1.0], ("new", "fit"): [3.0]})
    pairs = alternate_trees(TREES, ["fit"], run, n_pairs=3)
    assert pairs == {"fit": [(1.0, 3.0)] * 3}
    assert [tree for tree, _ in calls] == ["old", "new", "new", "old", "old", "new"]
    assert capsys.readouterr().err.splitlines() == [
        f"fit: pair {turn} of 3" for turn in (1, 2, 3)
    ]


def test_ratio_is_the_median_over_pairs():
    # One disturbed run of either does not move it.
    assert median_ratio([(1.0, 1.1), (9.0, 1.0), (1.0, 1.2), (1.0, 9.0)]) == 1.15
    assert median_ratio([(1.0, None), (1.0, None)]) is None


@pytest.mark.parametrize("ratio, slower", [(1.15, False), (1.16, True), (None, False)])
def test_limit_of_a_slowdown(ratio, slower):
    assert is_slower(ratio) is slower


def test_a_slowdown_counts_where_it_repeats():
    run, calls = fake_runs(
        {
            ("old", "fit"): [1.0],
            ("new", "fit"): [1.2],
            ("old", "predict"): [1.0],
            ("new", "predict"): [1.3] * 5 + [1.0],
            ("old", "score"): [1.0],
            ("new", "score"): [0.5],
        }
    )
    assert compare_trees(TREES, ["fit", "predict", "score"], run) == ["fit"]
    # Both suspects were measured again, each alone.
    assert len(calls) == 30 and calls[10:] == (
        [(tree, "fit") for tree in ("old", "new", "new", "old") * 2 + TREES]
        + [(tree, "predict") for tree in ("old", "new", "new", "old") * 2 + TREES]
    )


def test_a_task_that_a_commit_lacks_is_said(capsys):
    run, _ = fake_runs({("old", "fit"): [None], ("new", "fit"): [2.0]})
    assert compare_trees(TREES, ["fit"], run) == []
    assert capsys.readouterr().out.splitlines()[-1].split() == (
        "fit not there 2.0000 no ratio".split()
    )


def test_worktrees_are_removed_after_failure(tmp_path, monkeypatch):
    commands = []

    def git(*arguments, cwd):
        commands.append(arguments[:2])
        if arguments[1] == "add":
            Path(arguments[3]).mkdir()

    monkeypatch.setattr(_compare, "git", git)
    with pytest.raises(ZeroDivisionError), checkout("HEAD", tmp_path / "tree"):
        assert (tmp_path / "tree").exists()
        _ = 1 / 0
    assert commands == [("worktree", "add"), ("worktree", "remove")]


def test_commits_that_are_none_are_named(monkeypatch):
    def git(*arguments):
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setattr(_compare, "git", git)
    with pytest.raises(SystemExit, match="'nosuch' is no commit"):
        _compare.resolve("nosuch")


def test_kernels_that_do_not_build_remove_the_worktree(tmp_path, monkeypatch, capfd):
    commands = []

    def git(*arguments, cwd):
        commands.append(arguments[:2])
        if arguments[1] == "add":
            Path(arguments[3]).mkdir()
            (Path(arguments[3]) / "setup.py").write_text("raise SystemExit(3)")

    monkeypatch.setattr(_compare, "git", git)
    with (
        pytest.raises(subprocess.CalledProcessError),
        checkout("HEAD", tmp_path / "tree"),
    ):
        pass
    assert commands == [("worktree", "add"), ("worktree", "remove")]


def test_tasks_run_with_the_tree_they_are_told(tmp_path):
    package = tmp_path / "odalib"
    package.mkdir()
    (package / "__init__.py").touch()
    found = run_tasks(tmp_path, ["clusterer_fit"])
    assert found == {
        "odalib": str(package / "__init__.py"),
        "compiled": [],
        "seconds": {"clusterer_fit": None},
    }


def test_tasks_of_a_commit_without_the_name_are_not_there():
    def lacking():
        raise ImportError("cannot import name 'ODAClusterer' from 'odalib'")

    assert seconds_of(lacking) is None
    assert seconds_of(lambda: lambda: sum(range(100))) > 0


def test_other_failures_of_tasks_are_not_hidden():
    def broken():
        raise ValueError

    with pytest.raises(ValueError):
        seconds_of(lambda: broken)


def test_compiled_families_are_the_extension_modules(tmp_path):
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    for name in ("_adf.abi3.so", "_adf.pyx", "adf.py", "__init__.py"):
        (kernels / name).touch()
    assert compiled_families(tmp_path) == ["adf"]


def test_there_are_a_dozen_tasks():
    assert len(TASKS) >= 12

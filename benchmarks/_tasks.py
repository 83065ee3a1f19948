"""Small tasks that are timed at two commits, each of about 0.05 to 1 s.

Run as a file in the environment of a commit, with the names of tasks: prints, as JSON,
where odalib was found, which of its kernels are compiled, and the processor seconds of
every task, None where the commit lacks what the task needs. Kernels are timed by public
calls that spend their time in them, since public names outlive signatures of kernels.

Nothing here may import from benchmarks, whose older versions lack this file.
"""

import json
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from math import ceil
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
import scipy.sparse as sp

N_RUNS = 3
# Quicker tasks are called as often as this takes, since clocks are coarse.
SHORTEST_RUN = 0.1


def mixture(n_rows, n_features, n_components=20):
    """Draw rows about normal centres, and the components they belong to."""
    rng = np.random.default_rng(0)
    centres = 2.0 * rng.standard_normal((n_components, n_features))
    component = rng.integers(n_components, size=n_rows)
    return centres[component] + rng.standard_normal((n_rows, n_features)), component


def two_classes(n_rows, n_features):
    """Draw normal rows with classes by a linear function and noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    noise = rng.standard_normal(n_rows)
    return X, X @ rng.standard_normal(n_features) + noise > 0


def couplings(n_spins, density):
    """Draw a symmetric sparse matrix of weak couplings and fields."""
    rng = np.random.default_rng(0)
    half = sp.triu(sp.random_array((n_spins, n_spins), density=density, rng=rng), 1)
    half.data = 0.5 * (half.data - 0.5)
    return (half + half.T).tocsr(), 0.3 * rng.standard_normal(n_spins)


def clusterer_fit():
    from odalib import ODAClusterer

    X, _ = mixture(8_000, 16)
    return lambda: ODAClusterer(20, random_state=0).fit(X)


def clusterer_path():
    from odalib import ODAClusterer

    X, _ = mixture(2_000, 8)
    return lambda: ODAClusterer(random_state=0).fit(X).at(n_clusters=10)


def clusterer_batches():
    from odalib import ODAClusterer

    X, _ = mixture(64_000, 64)
    model = ODAClusterer(100, batch_size=1024, random_state=0).partial_fit(X)

    def stream():
        for start in range(0, len(X), 1024):
            model.partial_fit(X[start : start + 1024])

    return stream


def clusterer_rows():
    from odalib import ODAClusterer

    X, _ = mixture(20_000, 10)
    model = ODAClusterer(20, random_state=0).fit(X[:4_000]).set_params(batch_size=1)
    return lambda: model.partial_fit(X[:4_000])


def clusterer_predict():
    from odalib import ODAClusterer

    X, _ = mixture(200_000, 16)
    model = ODAClusterer(50, random_state=0).fit(X[:5_000])
    return lambda: (model.predict(X), model.predict_proba(X[:50_000]))


def tree_predict():
    from odalib import ODAClusterer

    X, _ = mixture(100_000, 16)
    resolutions = [None, None, None]
    model = ODAClusterer(200, resolutions=resolutions, random_state=0).fit(X[:10_000])
    return lambda: model.predict(X)


def classifier_fit():
    from odalib import ODAClassifier

    X, y = mixture(1_000, 10)
    return lambda: ODAClassifier(40, random_state=0).fit(X, y % 4)


def classifier_predict():
    from odalib import ODAClassifier

    X, y = mixture(100_000, 10)
    model = ODAClassifier(40, random_state=0).fit(X[:1_000], y[:1_000] % 4)
    return lambda: model.predict_proba(X)


def regressor_fit():
    from odalib import ODARegressor

    X, _ = mixture(3_000, 10)
    return lambda: ODARegressor(30, random_state=0).fit(X, np.sin(X[:, 0]) + X[:, 1])


def probit_fit():
    from odalib import EPProbitClassifier

    X, y = two_classes(20_000, 30)
    return lambda: EPProbitClassifier().fit(X, y)


def process_fit():
    from sklearn.gaussian_process.kernels import RBF

    from odalib import EPGaussianProcessClassifier

    X, y = two_classes(500, 5)
    kernel = 1.0 * RBF(2.0)
    return lambda: EPGaussianProcessClassifier(kernel, optimizer=None).fit(X, y)


def filtering_full():
    from odalib import ADFProbitClassifier

    X, y = two_classes(10_000, 20)
    return lambda: ADFProbitClassifier().partial_fit(X, y, classes=[False, True])


def filtering_diagonal():
    from odalib import ADFProbitClassifier

    rng = np.random.default_rng(0)
    columns = rng.integers(20_000, size=5_000 * 30)
    ends = 30 * np.arange(5_001)
    X = sp.csr_array((np.ones(len(columns)), columns, ends), shape=(5_000, 20_000))
    X.sum_duplicates()
    y = rng.random(5_000) > 0.5
    return lambda: ADFProbitClassifier(covariance="diagonal").partial_fit(
        X, y, classes=[False, True]
    )


def belief_propagation():
    from odalib import infer_ising

    J, B = couplings(20_000, 3e-4)
    # So small a tolerance is never met: all sweeps are made.
    sweeps = {"tol": 1e-300, "max_iter": 30}
    return lambda: infer_ising(J, B, "belief_propagation", **sweeps)


def adaptive_tap():
    from odalib import infer_ising

    J, B = couplings(400, 1.0)
    J = J.toarray() / 20.0
    return lambda: infer_ising(J, B, "adaptive_tap")


def ising_fit():
    from odalib import IsingModel

    rng = np.random.default_rng(0)
    X = (rng.random((2_000, 15)) > rng.random(15)).astype(float)
    return lambda: IsingModel(random_state=0).fit(X)


def ising_sample():
    from odalib import IsingModel

    rng = np.random.default_rng(0)
    X = (rng.random((500, 30)) > rng.random(30)).astype(float)
    model = IsingModel(random_state=0).fit(X)
    return lambda: model.sample(2_000)


TASKS = {
    task.__name__: task
    for task in (
        clusterer_fit,
        clusterer_path,
        clusterer_batches,
        clusterer_rows,
        clusterer_predict,
        tree_predict,
        classifier_fit,
        classifier_predict,
        regressor_fit,
        probit_fit,
        process_fit,
        filtering_full,
        filtering_diagonal,
        belief_propagation,
        adaptive_tap,
        ising_fit,
        ising_sample,
    )
}


def seconds_of(prepare):
    """Return the processor seconds of a call of a task, None where it is not there.

    The first call is not counted: it pays for late imports. Then the median of runs.

    Parameters
    ----------
    prepare : callable
        Returns the task.
    """
    try:
        task = prepare()
        task()
    except (ImportError, AttributeError, TypeError):
        # A name, a method or a parameter that this commit does not have yet.
        return None
    n_calls = ceil(SHORTEST_RUN / max(run_seconds(task, 1), 1e-6))
    return median(run_seconds(task, n_calls) for _ in range(N_RUNS)) / n_calls


def run_seconds(task, n_calls):
    """Return the processor seconds of some calls."""
    start = process_time()
    for _ in range(n_calls):
        task()
    return process_time() - start


def compiled_families(package):
    """Return which families of kernels are compiled in a package's folder."""
    files = [
        path.name.removesuffix(suffix)
        for suffix in EXTENSION_SUFFIXES
        for path in (package / "kernels").glob(f"_*{suffix}")
    ]
    # The suffixes end on one another.
    return sorted({name.split(".")[0].removeprefix("_") for name in files})


def main(names):
    """Print what was found as JSON."""
    import odalib

    found = {
        "odalib": odalib.__file__,
        "compiled": compiled_families(Path(odalib.__file__).parent),
        "seconds": {name: seconds_of(TASKS[name]) for name in names},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])

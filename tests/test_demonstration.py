"""The demonstration, ``python -m odalib``: what it prints is true."""

import contextlib
import io
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    make_friedman1,
)
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from odalib import (
    EPProbitClassifier,
    ODAClassifier,
    ODAClusterer,
    ODARegressor,
    __main__,
)

# It takes as long as it shows; .ci/run shows it to every change.
pytestmark = pytest.mark.nightly

X, DIGITS = load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    """Folder of one run, and what it printed."""
    folder, output = tmp_path_factory.mktemp("demonstration"), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(output):
        __main__.main()
    plt.close("all")
    return folder, output.getvalue()


@pytest.fixture(scope="module")
def printed(demonstration):
    return demonstration[1]


@pytest.fixture(scope="module")
def model():
    return ODAClusterer(n_clusters=50, random_state=0).fit(X)


def table_below(heading, text):
    """Numbers of the lines that follow a line that starts so, up to an empty one."""
    block = re.search(rf"^{heading}.*\n((?:.+\n)+)", text, re.MULTILINE).group(1)
    return np.array(
        [re.findall(r"[\d.]+", line) for line in block.splitlines()], dtype=float
    )


def test_prints_the_annealing_path(printed, model):
    path = model.annealing_path_
    expected = np.c_[path.temperature, path.n_codevectors, path.distortion]
    table = table_below("temperature  codevectors", printed)
    assert table.shape == expected.shape
    assert (abs(table - expected) <= [0.006, 0.0, 0.06]).all()


def test_compares_levels_of_the_path_with_kmeans(printed, model):
    numbers, ours, theirs, ratio, _ = table_below("clusters  annealing", printed).T
    assert numbers.tolist() == [5, 20, 50]
    scores = [-model.at(n_clusters=int(k)).score(X) for k in numbers]
    np.testing.assert_allclose(ours, scores, rtol=0, atol=0.06)
    np.testing.assert_allclose(ratio, ours / theirs, rtol=0, atol=0.001)
    # Ten starts of k-means are within a few per cent of the best there is.
    assert ratio.max() < 1.05


def test_searches_in_a_pipeline(printed):
    components = re.search(r"Rand score\): (\d+) components, score (\S+)\.\n", printed)
    assert components.group(1) in {"10", "20", "40"}
    clusters = re.search(r"over 29 numbers .*: (\d+) clusters, score (\S+),", printed)
    # The search over numbers includes the ten clusters of the grid search, and rules
    # of choice give up at most one standard error.
    assert float(clusters.group(2)) > float(components.group(2)) - 0.05
    assert "by 4 fits where a grid search needs 88." in printed


def test_stream_is_as_good_as_a_fit_however_it_is_cut(printed):
    assert "the same codevectors bit for bit: yes." in printed
    stream, fitted = re.search(r"(\d+\.\d) as a stream, (\d+\.\d)", printed).groups()
    by_hand = -ODAClusterer(n_clusters=10, random_state=0).fit(X).score(X)
    assert float(fitted) == pytest.approx(by_hand, abs=0.06)
    assert float(stream) < 1.02 * float(fitted)


def test_writes_a_picture(demonstration):
    folder, printed = demonstration
    assert "is in annealing_path.png." in printed
    assert (folder / "annealing_path.png").read_bytes().startswith(b"\x89PNG")


def test_classifies_by_codevectors(printed):
    kept, accuracies, losses = table_below(" +keeps", printed).T
    assert kept.tolist() == [30, 898]
    X_train, X_test, y_train, y_test = train_test_split(
        X, DIGITS, test_size=0.5, random_state=0
    )
    models = (ODAClassifier(30, random_state=0), KNeighborsClassifier())
    for model, accuracy, loss in zip(models, accuracies, losses, strict=True):
        probabilities = model.fit(X_train, y_train).predict_proba(X_test)
        right = (model.classes_[probabilities.argmax(axis=1)] == y_test).mean()
        assert accuracy == pytest.approx(right, abs=0.0006)
        assert loss == pytest.approx(log_loss(y_test, probabilities), abs=0.0006)
    sure, digit, codevector, decided = re.search(
        r"probability (\S+), of an image of the digit (\d):\n"
        r"codevector (\d+) decided, of the digit (\d)\.",
        printed,
    ).groups()
    probabilities = models[0].predict_proba(X_test)
    closest = probabilities.max(axis=1).argmin()
    assert float(sure) == pytest.approx(probabilities[closest].max(), abs=0.006)
    assert int(digit) == y_test[closest]
    assert int(decided) == probabilities[closest].argmax()
    assert models[0].codevector_classes_[int(codevector)] == int(decided)


def test_regresses(printed):
    rows, values = make_friedman1(1000, noise=1.0, random_state=0)
    table = table_below(" +R2", printed)
    model = ODARegressor(40, random_state=0)
    models = (
        model,
        ODARegressor(40, metric=None, random_state=0),
        RandomForestRegressor(random_state=0),
        Ridge(),
    )
    for fitted, score in zip(models, table[:, 0], strict=True):
        values_said = fitted.fit(rows[:500], values[:500]).predict(rows[500:])
        wrong = np.square(values[500:] - values_said).sum()
        spread = np.square(values[500:] - values[500:].mean()).sum()
        assert score == pytest.approx(1.0 - wrong / spread, abs=0.0006)
    found = re.search(r"gives (\d+)% of the weight.*\n.*out, (\d+)% are", printed)
    weights = model.metric_.diagonal()
    mean, deviation = model.predict(rows[500:], return_std=True)
    within = abs(values[500:] - mean) <= 2.0 * deviation
    percent = [100.0 * weights[:5].sum() / weights.sum(), 100.0 * within.mean()]
    np.testing.assert_allclose(
        [float(part) for part in found.groups()], percent, atol=0.6
    )


def test_goes_from_coarse_to_fine(printed):
    iris = load_iris()
    lines = re.findall(r"^( *)(\d+) (\w+), (\d+) rows(?:, class (\w+))?", printed, re.M)
    root, *nodes = lines
    assert root == ("", "0", "root", "150", "")
    by_depth = {"  ": [], "    ": []}
    for indent, _, status, rows, kind in nodes:
        assert (status == "leaf") == (indent == "    ")
        assert kind in iris.target_names
        by_depth[indent].append(int(rows))
    assert len(by_depth["    "]) == 9
    assert [sum(rows) for rows in by_depth.values()] == [150, 150]
    assert "sepal length" in re.search(r"^  1 open.*", printed, re.M).group()
    assert "petal" not in re.search(r"^  1 open.*", printed, re.M).group()


def held_out_losses(model, rows, labels):
    """Log loss of every fold, and how many rows it has."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = make_pipeline(StandardScaler(), model)
    scores = cross_val_score(model, rows, labels, cv=folds, scoring="neg_log_loss")
    return -scores, [len(test) for _, test in folds.split(rows, labels)]


def test_classifies_with_evidence(printed):
    rows, labels = load_breast_cancer(return_X_y=True)
    table = table_below("features  evidence", printed)
    columns = [np.s_[:10], np.s_[10:20], np.s_[20:], np.s_[:]]
    assert len(table) == len(columns)
    for (evidence, left_out, ours, theirs, ratio), chosen in zip(
        table, columns, strict=True
    ):
        some = rows[:, chosen]
        classifier = EPProbitClassifier("evidence")
        for printed_loss, model in ((ours, classifier), (theirs, LogisticRegression())):
            losses, sizes = held_out_losses(model, some, labels)
            by_hand = np.average(losses, weights=sizes)
            assert printed_loss == pytest.approx(by_hand, abs=0.0006)
        assert ratio == pytest.approx(ours / theirs, abs=0.02)
        classifier.fit((some - some.mean(axis=0)) / some.std(axis=0), labels)
        assert -evidence == pytest.approx(classifier.log_evidence_[0], abs=0.06)
        loss = log_loss(labels, classifier.loo_predict_proba())
        assert left_out == pytest.approx(loss, abs=0.0006)
    # What it says of the evidence: its order is that of the losses of held-out rows.
    evidence, _, ours, _, _ = table.T
    assert np.argsort(evidence).tolist() == np.argsort(ours).tolist()

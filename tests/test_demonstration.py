"""The demonstration, ``python -m odalib``: what it prints is true."""

import contextlib
import io
import re
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_digits

from odalib import ODAClusterer, __main__

X = load_digits().data


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


def test_without_matplotlib_it_says_how_to_get_it(model, tmp_path, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    __main__.draw(model)
    assert "pip install 'odalib[plot]'" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []

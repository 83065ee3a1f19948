"""TreeDisplay: bars are as wide as nodes are heavy, and stand below their parents."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from odalib import ODAClassifier, ODAClusterer
from odalib.inspection import TreeDisplay

DIGITS = load_digits().data
IRIS = load_iris()


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    maps = [slice(16, 24), slice(16, 48), None]
    return ODAClusterer(20, resolutions=maps, random_state=0).fit(DIGITS)


def ends(bar):
    return bar.get_x(), bar.get_x() + bar.get_width()


def test_bars_are_as_wide_as_nodes_are_heavy(model):
    display, tree = TreeDisplay.from_estimator(model), model.tree_
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, tree.n_samples, rtol=1e-9)
    middles = [bar.get_y() + bar.get_height() / 2 for bar in display.bars_]
    np.testing.assert_allclose(middles, tree.level, atol=1e-12)


def test_children_fill_the_width_of_their_parent_in_order(model):
    display, tree = TreeDisplay.from_estimator(model), model.tree_
    for node in range(tree.n_nodes - tree.n_leaves):
        left, right = ends(display.bars_[node])
        for child in tree.children(node):
            start, end = ends(display.bars_[child])
            assert start == pytest.approx(left, abs=1e-6)
            left = end
        assert left == pytest.approx(right, abs=1e-6)


def test_children_share_the_width_whatever_a_stream_has_seen():
    stream = ODAClusterer(9, resolutions=[[2], None], random_state=0)
    for rows in np.array_split(np.tile(IRIS.data, (40, 1)), 6):
        stream = stream.partial_fit(rows)
    display, tree = TreeDisplay.from_estimator(stream), stream.tree_
    for node in range(tree.n_nodes - tree.n_leaves):
        children = tree.children(node)
        widths = np.array([display.bars_[child].get_width() for child in children])
        assert widths.sum() == pytest.approx(display.bars_[node].get_width())
        shares = tree.n_samples[children] / tree.n_samples[children].sum()
        np.testing.assert_allclose(widths / widths.sum(), shares, rtol=1e-9)


def test_lines_are_named_by_resolution(model):
    axes = TreeDisplay.from_estimator(model).ax_
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        "root",
        *(
            f"resolution {level}\n{number} codevectors"
            for level, number in enumerate(model.tree_.n_codevectors, start=1)
        ),
    ]
    bottom, top = axes.get_ylim()
    assert bottom > top


def test_bars_tell_weights_within_their_ends(model):
    display, tree = TreeDisplay.from_estimator(model), model.tree_
    assert display.texts_[0].get_text() == "1797 rows"
    inner = set(range(1, 1 + tree.n_codevectors[0]))
    assert inner <= set(display.texts_) < set(range(tree.n_nodes))
    to_data = display.ax_.transData.inverted()
    for node, text in display.texts_.items():
        if node:
            assert text.get_text() == f"{tree.n_samples[node]:.6g}"
        letters = text.get_window_extent()
        (start, low), (end, high) = to_data.transform(letters.get_points())
        left, right = ends(display.bars_[node])
        assert left < start < end < right
        assert abs(low - high) < display.bars_[node].get_height()


def test_bars_of_a_classifier_tell_classes():
    names = IRIS.target_names[IRIS.target]
    model = ODAClassifier(8, resolutions=[[2], None], random_state=0)
    display = TreeDisplay.from_estimator(model.fit(IRIS.data, names))
    tree, labels = model.tree_, np.concatenate(model.tree_.classes)
    for node, text in display.texts_.items():
        if node:
            told, weight = text.get_text().split("\n")
            assert told == labels[node - 1]
            assert float(weight) == pytest.approx(tree.n_samples[node], rel=1e-5)
    looks = {
        label: {
            (bar.get_facecolor(), bar.get_hatch())
            for bar, own in zip(display.bars_[1:], labels, strict=True)
            if own == label
        }
        for label in model.classes_
    }
    assert all(len(look) == 1 for look in looks.values())
    assert len({hatch for ((_, hatch),) in looks.values()}) == 3


def test_estimator_without_resolutions_is_a_root_and_its_leaves():
    model = ODAClusterer(5, random_state=0).fit(IRIS.data)
    display = TreeDisplay.from_estimator(model)
    widths = [bar.get_width() for bar in display.bars_]
    assert widths[0] == 150.0
    np.testing.assert_allclose(widths[1:], np.bincount(model.labels_), rtol=1e-9)

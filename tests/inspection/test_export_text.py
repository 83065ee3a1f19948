"""export_text: what it says of a tree is what the tree holds."""

import re
from textwrap import dedent

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from odalib import ODAClassifier, ODAClusterer, ODARegressor
from odalib.inspection import export_text

# Two places on the first axis, 4 and 3 rows; two and one on the plane.
X = np.array([[0, 0], [0, 0], [0, 0], [0, 2], [9, 5], [9, 5], [9, 5]], dtype=float)
COARSE_TO_FINE = [[0], None]


def paths(text):
    """Every line below those that it is indented under; siblings have no order.

    Numbers of nodes are left out.
    """
    above, result = [], []
    for line in dedent(text).strip("\n").splitlines():
        content = line.lstrip()
        depth = (len(line) - len(content)) // 2
        above = [*above[:depth], re.sub(r"^\d+ ", "", content)]
        result.append(tuple(above))
    return sorted(result)


def clusters(**parameters):
    model = ODAClusterer(3, resolutions=COARSE_TO_FINE, random_state=0)
    return model.set_params(**parameters)


def test_writes_known_cells():
    assert paths(export_text(clusters().fit(X))) == paths("""
        root, 7 rows
          open, 4 rows: x0 0.00
            leaf, 3 rows: x0 0.00, x1 0.00
            leaf, 1 row: x0 0.00, x1 2.00
          closed, 3 rows: x0 9.00
            leaf, 3 rows: x0 9.00, x1 5.00
    """)


def test_tells_the_weight_of_rows():
    model = ODAClusterer(1).fit(X[3:5], sample_weight=[0.5, 0.75])
    assert export_text(model) == (
        "0 root, 1.25 rows\n  1 leaf, 1.25 rows: x0 5.40, x1 3.80"
    )


@pytest.mark.parametrize(
    "resolutions",
    [
        [["a"], ["b", "a"]],
        [[0], [1, 0]],
        [[True, False], [1, 0]],
        [slice(0, 1), slice(None, None, -1)],
    ],
)
def test_names_the_features_that_a_resolution_sees(resolutions):
    model = clusters(resolutions=resolutions).fit(pd.DataFrame(X, columns=["a", "b"]))
    assert "open, 4 rows: a 0.00\n" in export_text(model)
    assert "leaf, 1 row: b 2.00, a 0.00" in export_text(model)
    renamed = export_text(model, feature_names=["width", "height"])
    assert "leaf, 1 row: height 2.00, width 0.00" in renamed


def test_what_is_made_of_features_has_no_names():
    def difference_and_sum(rows):
        return np.c_[rows[:, 0] - rows[:, 1], rows.sum(axis=1)]

    model = clusters(resolutions=[[0], difference_and_sum]).fit(X)
    assert "leaf, 1 row: -2.00, 2.00" in export_text(model)


def test_long_codevectors_are_cut_and_zero_has_no_sign():
    pixels = load_digits().data
    model = ODAClusterer(4, random_state=0).fit(pixels)
    lines = export_text(model, decimals=3).splitlines()
    for line, point in zip(lines[1:], model.cluster_centers_, strict=True):
        values = re.findall(r"x(\d+) (\S+?)(?:,|$)", line)
        shown = [0, 1, 2, 61, 62, 63]
        assert [int(column) for column, _ in values] == shown
        found = np.array([value for _, value in values], dtype=float)
        np.testing.assert_allclose(found, point[shown], rtol=0, atol=0.0005)
        assert ", ..., " in line
        assert "-0.000" not in line


def test_every_line_stands_below_its_parent():
    pixels = load_digits().data
    maps = [slice(16, 24), slice(16, 48), None]
    model = ODAClusterer(20, resolutions=maps, random_state=0).fit(pixels)
    tree, above = model.tree_, []
    seen = []
    for line in export_text(model).splitlines():
        indent, node, status, rows = re.match(
            r"( *)(\d+) (\w+), ([\d.]+) rows?(?::|$)", line
        ).groups()
        node, depth = int(node), len(indent) // 2
        above = [*above[:depth], node]
        assert tree.level[node] == depth
        assert tree.parent[node] == (above[depth - 1] if depth else -1)
        assert status == tree.status(node)
        assert float(rows) == pytest.approx(tree.n_samples[node], rel=1e-12)
        seen.append(node)
    assert sorted(seen) == list(range(tree.n_nodes))


def test_coarsest_nodes_come_first_and_the_rest_is_counted():
    pixels = load_digits().data
    model = ODAClusterer(20, resolutions=[slice(16, 24), None], random_state=0)
    tree = model.fit(pixels).tree_
    assert tree.n_codevectors == [3, 20]
    for last in range(tree.n_nodes):
        lines = export_text(model, max_nodes=last + 1).splitlines()
        nodes = [
            int(number) for number in re.findall(r"^ *(\d+)", "\n".join(lines), re.M)
        ]
        assert sorted(nodes) == list(range(last + 1))
        left_out = [re.fullmatch(r"( *)\.\.\. (\d+) more", line) for line in lines]
        counts = [
            (len(found[1]) // 2, int(found[2]))
            for found in left_out
            if found is not None
        ]
        hidden = [(tree.level[node], tree.parent[node]) for node in range(last + 1, 24)]
        expected = [
            (level, hidden.count((level, parent)))
            for level, parent in set(hidden)
            if parent <= last
        ]
        assert sorted(counts) == sorted(expected)


def test_tells_the_class_of_every_node_whatever_the_order_of_a_stream():
    rows = [[20.0, 1.0], [0.0, 0.0], [9.0, 5.0]]
    model = ODAClassifier(3, resolutions=COARSE_TO_FINE, polish=None, random_state=0)
    for row, label in zip(rows, ["elm", "oak", "ash"], strict=True):
        model = model.partial_fit([row, row], [label, label])
    assert paths(export_text(model)) == paths("""
        root, 6 rows
          closed, 2 rows, class ash: x0 9.00
            leaf, 2 rows, class ash: x0 9.00, x1 5.00
          closed, 2 rows, class elm: x0 20.00
            leaf, 2 rows, class elm: x0 20.00, x1 1.00
          closed, 2 rows, class oak: x0 0.00
            leaf, 2 rows, class oak: x0 0.00, x1 0.00
    """)


def test_tells_what_the_models_of_a_regressor_say_at_their_leaves():
    # A linear function of all rows is the fit of every cell.
    y = 2.0 * X[:, 0] + 3.0 * X[:, 1] + 1.0
    model = ODARegressor(3, resolutions=COARSE_TO_FINE, metric=None, random_state=0)
    assert paths(export_text(model.fit(X, y), decimals=1)) == paths("""
        root, 7 rows
          open, 4 rows: x0 0.0
            leaf, 3 rows, y 1.0: x0 0.0, x1 0.0
            leaf, 1 row, y 7.0: x0 0.0, x1 2.0
          closed, 3 rows: x0 9.0
            leaf, 3 rows, y 34.0: x0 9.0, x1 5.0
    """)
    both = export_text(model.fit(X, np.c_[y, -y]), decimals=1)
    assert "leaf, 1 row, y [7.0 -7.0]: x0 0.0, x1 2.0" in both


def test_a_node_is_one_line_whatever_is_written():
    """Targets are cut to their ends as codevectors are; line breaks are escaped."""
    many = ODARegressor(1, metric=None, random_state=0).fit(X, np.tile(X[:, :1], 40))
    text = export_text(many, decimals=1)
    assert len(text.splitlines()) == 2
    assert ", y [3.9 3.9 3.9 ... 3.9 3.9 3.9]: x0 3.9" in text
    labels = np.array(["of\ntwo", "one"])[(X[:, 0] > 1).astype(int)]
    model = ODAClassifier(2, metric=None, polish=None, random_state=0).fit(X, labels)
    text = export_text(model, feature_names=["a\nb", "c"])
    assert len(text.splitlines()) == 3
    assert r"class of\ntwo: a\nb 0.00" in text


def test_tells_what_was_fitted_whatever_the_parameters_are_now():
    model = clusters().fit(X)
    text = export_text(model)
    assert export_text(model.set_params(resolutions=[[1], [0]])) == text
    assert export_text(model.set_params(resolutions=None)) == text


def test_learners_are_not_asked():
    model = ODARegressor(3, local_model=SGDRegressor(random_state=0), random_state=0)
    text = export_text(model.fit(X, X[:, 1]))
    assert "3 rows: x0 9.00, x1 5.00" in text
    assert ", y" not in text


def test_needs_a_fitted_estimator_with_a_tree():
    with pytest.raises(NotFittedError):
        export_text(ODAClusterer(2))
    kmeans = KMeans(2, n_init=1, random_state=0).fit(X)
    with pytest.raises(TypeError, match="KMeans has none"):
        export_text(kmeans)
    with pytest.raises(TypeError, match="Of a pipeline, give the last step"):
        export_text(make_pipeline(StandardScaler(), ODAClusterer(2)).fit(X))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"feature_names": ["a"]}, "holds 1 names, and X has 2 features"),
        ({"feature_names": "ab"}, "'ab' is one name; give a list"),
        ({"decimals": -1}, "decimals"),
        ({"max_nodes": 0}, "max_nodes"),
    ],
)
def test_refuses_options_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        export_text(clusters().fit(X), **options)


@pytest.mark.parametrize("option", ["decimals", "max_nodes"])
@pytest.mark.parametrize("value", [True, 1.5])
def test_refuses_what_is_not_an_integer(option, value):
    with pytest.raises(TypeError, match=option):
        export_text(clusters().fit(X), **{option: value})

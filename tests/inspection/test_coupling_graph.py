"""CouplingGraphDisplay: edges are couplings, in place, width and style."""

import string
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from odalib import IsingModel, ODAClusterer
from odalib.inspection import CouplingGraphDisplay
from odalib.inspection._layout import (
    _graph_distances,
    _guttman,
    circle,
    corner,
    name_directions,
    stress,
    stress_layout,
)

NAMES = list("abcde")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    first = rng.random((300, 1)) < 0.5
    flips = rng.random((300, 5)) < [0.0, 0.1, 0.2, 0.3, 0.5]
    X = first ^ flips ^ [False, False, True, False, False]
    return IsingModel().fit(pd.DataFrame(X, columns=NAMES))


def couplings(**pairs):
    """Symmetric matrix of five columns from pairs of letters."""
    J = np.zeros((5, 5))
    for (first, second), value in pairs.items():
        i, j = NAMES.index(first), NAMES.index(second)
        J[i, j] = J[j, i] = value
    return J


def drawn(**options):
    return CouplingGraphDisplay(feature_names=NAMES, **options).plot()


def edges_of(display, collection):
    """Pairs of names at the ends of lines, with their widths."""
    ends = np.array(collection.get_segments()).reshape(-1, 2, 2)
    gaps = ends[:, :, None] - display.positions_
    nearest = (gaps**2).sum(axis=3).argmin(axis=2)
    np.testing.assert_allclose(display.positions_[nearest], ends)
    pairs = ["".join(display.feature_names[i] for i in pair) for pair in nearest]
    return dict(zip(pairs, collection.get_linewidths(), strict=True))


def test_edges_are_those_of_the_model(model):
    display = CouplingGraphDisplay.from_estimator(model)
    expected = {a + b: value for a, b, value in model.edges()}
    found = edges_of(display, display.positive_edges_)
    assert list(found) == [pair for pair, value in expected.items() if value > 0]
    opposed = edges_of(display, display.negative_edges_)
    assert list(opposed) == [pair for pair, value in expected.items() if value < 0]
    assert len(found) >= 3 and len(opposed) >= 3
    strongest = max(abs(value) for value in expected.values())
    widths = found | opposed
    widest = max(widths.values())
    for pair, value in expected.items():
        assert widths[pair] / widest == pytest.approx(abs(value) / strongest)


def test_signs_differ_by_dashes_as_well_as_by_colour():
    display = drawn(coupling=couplings(ab=1.0, cd=-0.5))
    ((_, solid),) = display.positive_edges_.get_linestyle()
    ((_, dashed),) = display.negative_edges_.get_linestyle()
    assert solid is None and len(dashed) == 2
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["alike, up to 1", "opposed, up to -0.5"]


def test_strongest_edges_are_kept_and_the_rest_is_counted():
    J = couplings(ab=0.1, bc=-0.9, cd=0.5, de=-0.2)
    display = drawn(coupling=J, max_edges=2)
    assert list(edges_of(display, display.positive_edges_)) == ["cd"]
    assert list(edges_of(display, display.negative_edges_)) == ["bc"]
    legend = display.ax_.get_legend()
    assert legend.get_title().get_text() == "2 strongest of 4 couplings"
    assert drawn(coupling=J).ax_.get_legend().get_title().get_text() == ""


def test_columns_stand_on_a_circle_in_their_order():
    display = drawn(coupling=couplings(ab=1.0))
    angle = 2.0 * np.pi * np.arange(5) / 5.0
    expected = np.column_stack([np.sin(angle), np.cos(angle)])
    np.testing.assert_allclose(display.positions_, expected, atol=1e-15)
    np.testing.assert_allclose(display.nodes_.get_offsets(), expected, atol=1e-15)
    for label, place, name in zip(display.labels_, expected, NAMES, strict=True):
        assert label.get_text() == name
        np.testing.assert_allclose(label.xy, place, atol=1e-15)


def test_spring_layout_puts_coupled_columns_near_each_other():
    groups = couplings(ab=1.0, ac=1.0, bc=1.0, de=-1.0)
    display = drawn(coupling=groups, layout="spring")
    difference = display.positions_[:, None] - display.positions_
    distance = np.sqrt((difference**2).sum(axis=2))
    coupled = groups != 0.0
    assert distance[coupled].mean() < 0.7 * distance[:3, 3:].mean()
    assert np.hypot(*display.positions_.T).max() == pytest.approx(1.0)


def test_spring_layout_of_a_chain_is_as_long_as_its_edges():
    """Distances along a chain can all be had at once, and stress is then zero."""
    places = stress_layout(np.abs(couplings(ab=2.0, bc=2.0, cd=2.0, de=2.0)))
    distance = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    steps = np.abs(np.arange(5)[:, None] - np.arange(5))
    np.testing.assert_allclose(distance, 0.5 * steps, atol=1e-3)


def test_rounds_of_the_spring_layout_never_raise_the_stress():
    rng = np.random.default_rng(1)
    strength = np.triu(rng.random((12, 12)) * (rng.random((12, 12)) < 0.3), 1)
    strength += strength.T
    wanted = _graph_distances(strength)
    weights = np.where(wanted > 0.0, 1.0, 0.0)
    weights[wanted > 0.0] = wanted[wanted > 0.0] ** -2.0
    laplacian = np.diag(weights.sum(axis=1)) - weights
    places = rng.standard_normal((12, 2))
    before = stress(places, wanted, weights)
    for _ in range(30):
        places = _guttman(places, wanted, weights, np.linalg.pinv(laplacian))
        after = stress(places, wanted, weights)
        assert after <= before * (1.0 + 1e-12)
        before = after


def test_spring_edges_are_one_over_the_root_of_their_strength():
    strength = np.zeros((3, 3))
    strength[0, 1] = strength[1, 0] = 4.0
    strength[1, 2] = strength[2, 1] = 2.0
    places = stress_layout(strength)
    short, long = (np.hypot(*(places[1] - places[end])) for end in (0, 2))
    assert long / short == pytest.approx(np.sqrt(2.0), rel=1e-2)


@pytest.mark.parametrize("layout", ["circular", "spring"])
@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_few_columns_and_no_coupling_at_all(layout, n_columns, tmp_path):
    display = CouplingGraphDisplay(
        coupling=np.zeros((n_columns, n_columns)),
        feature_names=NAMES[:n_columns],
        layout=layout,
    ).plot()
    assert np.isfinite(display.positions_).all()
    assert len(np.unique(display.positions_.round(6), axis=0)) == n_columns
    assert display.positive_edges_.get_segments() == []
    assert display.ax_.get_legend() is None
    display.figure_.savefig(tmp_path / "graph.png")


def shared_area(places, sizes, gap, sides):
    """Area that boxes of names share, over all pairs."""
    lower = np.array(
        [
            corner(place + gap * side, size, side)
            for place, size, side in zip(places, sizes, sides, strict=True)
        ]
    )
    area = 0.0
    for i, j in combinations(range(len(places)), 2):
        upper = np.minimum(lower[i] + sizes[i], lower[j] + sizes[j])
        area += np.prod(np.maximum(upper - np.maximum(lower[i], lower[j]), 0.0))
    return area


def test_names_give_way_where_they_would_overlap():
    places, sizes = 60.0 * circle(17), np.full((17, 2), [70.0, 10.0])
    sides = name_directions(places, sizes, 5.0)
    np.testing.assert_allclose(np.hypot(*sides.T), 1.0)
    outward = shared_area(places, sizes, 5.0, circle(17))
    assert outward > 100.0
    assert shared_area(places, sizes, 5.0, sides) < 0.25 * outward


def test_names_on_a_circle_stand_outside():
    places = 100.0 * circle(8)
    sides = name_directions(places, np.full((8, 2), 10.0), 5.0)
    np.testing.assert_allclose(sides, circle(8), atol=1e-12)


def test_names_are_given_and_long_ones_are_cut_at_hyphens(model):
    names = ["a", "price ($) to cost ($)", "export-administration-act", "d", "e"]
    display = CouplingGraphDisplay.from_estimator(model, feature_names=names)
    texts = [label.get_text() for label in display.labels_]
    assert texts == [
        "a",
        r"price (\$) to cost (\$)",
        "export-administration-\nact",
        "d",
        "e",
    ]
    display.figure_.draw_without_rendering()
    from_frame = CouplingGraphDisplay.from_estimator(model)
    assert [label.get_text() for label in from_frame.labels_] == NAMES


def test_names_end_inside_the_figure(model):
    names = ["-".join([letter * 20] * 2) for letter in NAMES]
    display = CouplingGraphDisplay.from_estimator(model, feature_names=names)
    display.figure_.draw_without_rendering()
    width, height = display.figure_.bbox.size
    for label in display.labels_:
        box = label.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= width
        assert box.y0 >= 0 and box.y1 <= height


def test_draws_into_given_axes(model):
    figure, axes = plt.subplots()
    display = CouplingGraphDisplay.from_estimator(model, ax=axes)
    assert display.figure_ is figure and display.ax_ is axes
    assert display.plot() is display
    assert display.figure_ is not figure
    assert len(display.labels_) == 5


def test_same_picture_every_time(model):
    first, second = (
        CouplingGraphDisplay.from_estimator(model, layout="spring") for _ in range(2)
    )
    np.testing.assert_array_equal(first.positions_, second.positions_)


def test_refuses_what_has_no_couplings(model):
    with pytest.raises(NotFittedError):
        CouplingGraphDisplay.from_estimator(IsingModel())
    clusterer = ODAClusterer(2, random_state=0).fit(np.eye(5))
    with pytest.raises(TypeError, match="ODAClusterer has none"):
        CouplingGraphDisplay.from_estimator(clusterer)
    with pytest.raises(TypeError, match="Of a pipeline, give the last step"):
        CouplingGraphDisplay.from_estimator(make_pipeline(model))


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"layout": "random"}, ValueError, "layout='random' must be one of"),
        ({"max_edges": 0}, ValueError, "must be at least 1"),
        ({"max_edges": 2.5}, TypeError, "must be an integer"),
        ({"max_edges": True}, TypeError, "must be an integer"),
        ({"feature_names": ["a"]}, ValueError, "holds 1 names, and X has 5"),
        ({"feature_names": "abcde"}, ValueError, "is one name; give a list"),
    ],
)
def test_refuses_options_that_do_not_fit(model, options, error, message):
    with pytest.raises(error, match=message):
        CouplingGraphDisplay.from_estimator(model, **options)


@pytest.mark.parametrize("layout", ["circular", "spring"])
def test_small_axes_have_numbers_where_names_would_hide_each_other(layout):
    coupling = np.random.default_rng(0).standard_normal((17, 17))
    coupling = np.triu(coupling, 1) + np.triu(coupling, 1).T
    names = [
        f"a rather long name of column {letter}" for letter in string.ascii_letters
    ]
    figure, axes = plt.subplots(3, 4)
    display = CouplingGraphDisplay(
        coupling=coupling, feature_names=names[:17], layout=layout
    ).plot(ax=axes[1, 1])
    assert [label.get_text() for label in display.labels_] == [*map(str, range(17))]
    title = display.ax_.get_legend().get_title().get_text()
    assert title == "50 strongest of 136 couplings\ncolumns by number, from 0"
    figure.draw_without_rendering()
    low, high = np.stack(
        [label.get_window_extent().get_points() for label in display.labels_], axis=1
    )
    shared = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    hidden = np.triu((shared > 0.0).all(axis=2), 1).sum()
    assert hidden <= 1
    # Given room, the same display has its names.
    texts = [label.get_text() for label in display.plot().labels_]
    assert texts[0] == "a rather long name of\ncolumn a"

"""CodebookDisplay: marks are codevectors, lines are where two are equally near."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

from odalib import ODAClassifier, ODAClusterer, ODARegressor, Resolution
from odalib.inspection import CodebookDisplay

IRIS = load_iris()
X, NAMES = IRIS.data[:, 2:], IRIS.target_names[IRIS.target]
# Two places, with three rows and one.
PAIR = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [5.0, 4.0]])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def classifier():
    return ODAClassifier(9, random_state=0).fit(X, NAMES)


def vertices(contours):
    """Points of the lines of some contour sets."""
    paths = [path for one in contours for path in one.get_paths()]
    return np.concatenate([path.vertices for path in paths])


def positions(collections):
    return np.concatenate([np.asarray(one.get_offsets()) for one in collections])


def same_points(found, expected):
    assert sorted(map(tuple, found)) == sorted(map(tuple, np.asarray(expected, float)))


def test_border_of_two_codevectors_is_their_bisector():
    display = CodebookDisplay.from_estimator(ODAClusterer(2).fit(PAIR), PAIR)
    (borders,) = display.borders_
    assert len(borders) == 2
    middle, difference = np.array([3.0, 3.0]), np.array([4.0, 2.0])
    for border in borders:
        points = vertices([border])
        np.testing.assert_allclose((points - middle) @ difference, 0.0, atol=1e-12)
        # From one end of the picture to the other.
        assert np.ptp(points[:, 1]) == pytest.approx(
            np.ptp(display.axes_[0].get_ylim())
        )


def test_border_is_that_of_the_divergence():
    model = ODAClusterer(2, divergence="kullback_leibler").fit(PAIR)
    display = CodebookDisplay.from_estimator(model)
    # sum x log(x / mu) - x + mu is the same for both where this is zero.
    points, (one, other) = vertices(display.borders_[0]), PAIR[[0, 3]]
    lead = points @ np.log(one / other) - (one - other).sum()
    np.testing.assert_allclose(lead, 0.0, atol=1e-12)


def test_cells_of_a_tree_end_where_those_above_do():
    rows = np.array([[0.0, 0], [0, 0], [0, 2], [9, 5], [9, 5]])
    model = ODAClusterer(3, resolutions=[[0], None], random_state=0).fit(rows)
    display = CodebookDisplay.from_estimator(model, rows)
    points = vertices(display.borders_[0])
    at_root = np.isclose(points[:, 0], 4.5, atol=1e-12)
    between = np.isclose(points[:, 1], 1.0, atol=1e-12)
    # A corner is cut where both borders cross one square of the grid.
    step = np.diff(display.plane.across)[0]
    corner = np.abs(points - [4.5, 1.0]).max(axis=1) < 2 * step
    assert (at_root | between | corner).all()
    assert points[between, 0].max() < 4.5 + step
    assert at_root.sum() > 200


@pytest.mark.parametrize("divergence", ["squared_euclidean", "itakura_saito"])
@pytest.mark.parametrize("resolutions", [None, [[1], [0, 1], [1, 0]]])
def test_cells_are_those_that_rows_fall_into(divergence, resolutions):
    model = ODAClusterer(
        9, divergence=divergence, resolutions=resolutions, random_state=0
    ).fit(X)
    display = CodebookDisplay.from_estimator(model, X)
    margins = display.panels[0].margins
    inside = margins.argmax(axis=0).ravel() + model.tree_.first_nodes[-1]
    np.testing.assert_array_equal(inside, model.apply(display.plane.rows))
    assert ((margins > 0).sum(axis=0) <= 1).all()
    assert (margins.max(axis=0) >= 0).all()


def test_nodes_that_no_row_descends_to_have_no_cells():
    # Three classes on either side of zero, where one of them has its mean.
    side, classes = np.linspace(5.0, 6.0, 20), np.repeat([0, 1, 2], 40)
    across = [-side, side, -side - 0.25, side - 0.15, 0.15 - side, side + 0.25]
    rows = np.column_stack([np.concatenate(across), classes + np.sin(range(120))])
    levels = [Resolution([0], n_codevectors=3), None]
    model = ODAClassifier(6, resolutions=levels, metric=None, random_state=0)
    tree = model.fit(rows, classes).tree_
    assert "empty" in [tree.status(node) for node in range(tree.n_nodes)]
    display = CodebookDisplay.from_estimator(model, rows)
    margins = display.panels[0].margins
    assert (margins.max(axis=0) >= 0).all()
    inside = margins.argmax(axis=0).ravel() + tree.first_nodes[-1]
    np.testing.assert_array_equal(inside, model.apply(display.plane.rows))


def test_one_class_is_an_area_without_end():
    model = ODAClassifier().partial_fit(X[:40], NAMES[:40])
    display = CodebookDisplay.from_estimator(model, X)
    ((area,),) = display.regions_
    extent = area.get_paths()[0].get_extents()
    (axes,) = display.axes_
    np.testing.assert_allclose(extent.intervalx, axes.get_xlim(), rtol=1e-12)
    np.testing.assert_allclose(extent.intervaly, axes.get_ylim(), rtol=1e-12)


def test_areas_and_marks_tell_classes(classifier):
    display = CodebookDisplay.from_estimator(classifier, X, NAMES)
    predicted = classifier.predict(display.plane.rows)
    leads = display.panels[0].regions
    np.testing.assert_array_equal(
        classifier.classes_[leads.argmax(axis=0).ravel()], predicted
    )
    assert len(display.regions_[0]) == len(set(predicted)) == 3
    assert len({area.hatches[0] for area in display.regions_[0]}) == 3
    for marks, dots, label in zip(
        display.codevectors_[0], display.rows_[0], classifier.classes_, strict=True
    ):
        own = classifier.codevector_classes_ == label
        same_points(positions([marks]), classifier.codevectors_[own])
        same_points(positions([dots]), X[label == NAMES])
        assert (
            to_rgba(marks.get_facecolor()[0])[:3]
            == to_rgba(dots.get_facecolor()[0])[:3]
        )
    (legend,) = [axes.get_legend() for axes in display.axes_]
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["setosa", "versicolor", "virginica"]


def test_marks_are_larger_where_more_rows_are():
    display = CodebookDisplay.from_estimator(ODAClusterer(2).fit(PAIR), PAIR)
    ((marks,),), ((dots,),) = display.codevectors_, display.rows_
    order = np.argsort(positions([marks])[:, 0])
    np.testing.assert_allclose(positions([marks])[order], PAIR[[0, 3]], rtol=1e-12)
    small, step = 40.0, 160.0 / 4.0
    sizes = marks.get_sizes()[order]
    assert sizes[0] / sizes[1] == pytest.approx((small + 3 * step) / (small + step))
    same_points(positions([dots]), PAIR)


def test_path_gives_a_panel_for_each_number(classifier):
    display = CodebookDisplay.from_path(classifier, X, n_codevectors=[3, 5, 9])
    titles = [axes.get_title() for axes in display.axes_]
    assert titles == ["3 codevectors", "5 codevectors", "9 codevectors"]
    for number, marks in zip([3, 5, 9], display.codevectors_, strict=True):
        level = classifier.at(n_codevectors=number)
        same_points(positions(marks), level.codevectors_)
    assert len(display.figure_.axes) == 3


def test_path_gives_a_panel_for_each_temperature():
    model = ODAClusterer(8, random_state=0).fit(X)
    display = CodebookDisplay.from_path(model, temperatures=[8.0, 0.5])
    cold = model.at(temperature=0.5)
    assert [axes.get_title() for axes in display.axes_] == [
        "temperature 8\n1 codevector",
        f"temperature 0.5\n{cold.n_clusters_} codevectors",
    ]
    same_points(positions(display.codevectors_[1]), cold.cluster_centers_)
    assert display.borders_[0] == display.rows_[0] == display.regions_[0] == []


def test_path_spreads_its_panels_where_nobody_chose():
    model = ODARegressor(32, random_state=0).fit(X, IRIS.data[:, 0])
    display = CodebookDisplay.from_path(model, X)
    numbers = [len(panel.codevectors) for panel in display.panels]
    assert numbers == [1, 2, 4, 8, 16, 32]
    assert len(display.axes_) == len(display.figure_.axes) == 6


def test_shows_a_section_of_more_features():
    rows = np.column_stack([PAIR[:, 1], [0.0, 0.0, 0.0, 2.0], PAIR[:, 0]])
    frame = pd.DataFrame(rows, columns=["up", "hidden", "across"])
    model = ODAClusterer(2).fit(frame)
    display = CodebookDisplay.from_estimator(model, frame, features=["across", "up"])
    (axes,) = display.axes_
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("across", "up")
    assert axes.get_title() == "2 codevectors\nother features at their mean"
    same_points(positions(display.rows_[0]), PAIR)
    # Of the hidden feature 0 and 2, with three rows and one, the mean is a half.
    points = np.insert(vertices(display.borders_[0]), 1, 0.5, axis=1)
    nearness = [((points - row[[2, 1, 0]]) ** 2).sum(axis=1) for row in rows[[0, 3]]]
    np.testing.assert_allclose(*nearness, rtol=1e-12)
    by_number = CodebookDisplay.from_estimator(model, frame, features=(2, 0))
    np.testing.assert_array_equal(by_number.plane.rows, display.plane.rows)


@pytest.mark.parametrize(
    "divergence, lower, upper", [("itakura_saito", 0.0, np.inf), ("logistic", 0.0, 1.0)]
)
def test_picture_ends_where_the_domain_does(divergence, lower, upper):
    rows = np.array([[0.001, 0.2], [0.5, 0.999], [0.4, 0.7]])
    model = ODAClusterer(2, divergence=divergence, random_state=0).fit(rows)
    (axes,) = CodebookDisplay.from_estimator(model, rows).axes_
    assert lower < axes.get_xlim()[0] < 0.001
    assert 0.999 < axes.get_ylim()[1] < upper


def test_drawing_changes_nothing(classifier):
    before = classifier.predict_proba(X)
    rows = X.copy()
    rows.flags.writeable = False
    CodebookDisplay.from_path(classifier, rows, NAMES, n_codevectors=[4])
    np.testing.assert_array_equal(classifier.predict_proba(X), before)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"X": IRIS.data}, "X has 4 features, but ODAClassifier is expecting 2"),
        ({"y": NAMES}, "y takes the labels of the rows in X"),
        ({"X": X, "y": NAMES[:9]}, "inconsistent numbers of samples"),
        ({"X": X[:1], "y": ["oak"]}, "'oak', which is none of the classes"),
        ({"features": [0]}, "two different features"),
        ({"features": [1, 1]}, "two different features"),
        ({"features": [0, 2]}, "no feature 2; X has columns 0 to 1"),
        ({"features": [0, "width"]}, "no feature 'width'"),
    ],
)
def test_refuses_what_does_not_fit(classifier, options, message):
    with pytest.raises(ValueError, match=message):
        CodebookDisplay.from_estimator(classifier, **options)


def test_sparse_rows_are_shown():
    model = ODAClusterer(3, random_state=0).fit(csr_array(X))
    display = CodebookDisplay.from_estimator(model, csr_array(X))
    same_points(positions(display.rows_[0]), X)


def test_two_of_more_features_are_to_be_named():
    model = ODAClusterer(3, random_state=0).fit(IRIS.data)
    with pytest.raises(ValueError, match="fitted to 4 features"):
        CodebookDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="for a classifier"):
        CodebookDisplay.from_estimator(model, IRIS.data, NAMES, features=(0, 1))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"n_codevectors": [4], "temperatures": [1.0]}, "not both"),
        ({"n_codevectors": []}, "give one level at least"),
        ({"n_codevectors": [40]}, "n_codevectors=40 is not on the path"),
        ({"temperatures": [1e-9]}, "below the last level"),
    ],
)
def test_refuses_levels_that_are_not_on_the_path(classifier, options, message):
    with pytest.raises(ValueError, match=message):
        CodebookDisplay.from_path(classifier, **options)


@pytest.mark.parametrize(
    "draw", [CodebookDisplay.from_estimator, CodebookDisplay.from_path]
)
def test_a_classifier_of_a_data_frame_is_drawn_without_a_warning(draw):
    data = load_iris(as_frame=True)
    petals = data.data.iloc[:, 2:]
    model = ODAClassifier(6, random_state=0).fit(petals, data.target)
    draw(model)
    assert list(model.feature_names_in_) == list(petals.columns)

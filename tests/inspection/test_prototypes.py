"""PrototypesDisplay: images are codevectors, in order, within a grid."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_digits

from odalib import ODAClassifier, ODAClusterer
from odalib.inspection import PrototypesDisplay

X, Y = (rows[::3] for rows in load_digits(return_X_y=True))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def clusterer():
    return ODAClusterer(14, random_state=0).fit(X)


def drawn(image):
    return np.asarray(image.get_array())


def corner(image):
    left, _, _, top = image.get_extent()
    return left, top


def test_images_are_codevectors_by_falling_weight(clusterer):
    display = PrototypesDisplay.from_estimator(clusterer, (8, 8))
    weights = clusterer.cluster_weights_[display.order_]
    assert (np.diff(weights) <= 0).all()
    assert sorted(display.order_) == list(range(14))
    for image, codevector in zip(display.images_, display.order_, strict=True):
        np.testing.assert_array_equal(
            drawn(image).ravel(), clusterer.cluster_centers_[codevector]
        )
    texts = [text.get_text() for text in display.texts_]
    assert texts == [f"{100 * weight:.1f} %" for weight in weights]


def test_images_share_a_scale(clusterer):
    display = PrototypesDisplay.from_estimator(clusterer, (8, 8), cmap="gray")
    points = clusterer.cluster_centers_
    limits = {image.get_clim() for image in display.images_}
    assert limits == {(points.min(), points.max())}
    assert {image.get_cmap().name for image in display.images_} == {"gray"}


@pytest.mark.parametrize("shape", [(8, 8), (4, 16), (32, 2)])
def test_images_stand_side_by_side_in_reading_order(clusterer, shape):
    display = PrototypesDisplay.from_estimator(clusterer, shape)
    assert drawn(display.images_[0]).shape == shape
    corners = [corner(image) for image in display.images_]
    assert sorted(corners, key=lambda one: (round(one[1], 9), one[0])) == corners
    spans = np.array([image.get_extent() for image in display.images_])
    np.testing.assert_allclose(spans[:, 1] - spans[:, 0], 1.0)
    np.testing.assert_allclose(spans[:, 2] - spans[:, 3], shape[0] / shape[1])
    for first in range(14):
        for second in range(first):
            gap = spans[first] - spans[second][[1, 0, 3, 2]]
            apart = [gap[0] > 0, gap[1] < 0, gap[3] > 0, gap[2] < 0]
            assert any(apart)
    left, right = display.ax_.get_xlim()
    bottom, top = display.ax_.get_ylim()
    assert left < spans[:, 0].min()
    assert right > spans[:, 1].max()
    assert top < spans[:, 3].min() < spans[:, 2].max() < bottom


@pytest.mark.parametrize(
    "rows, beside", [(Y < 10, False), (Y < 2, True)], ids=["ten", "two"]
)
def test_images_of_a_classifier_are_grouped_by_class(rows, beside):
    """In columns where there are many classes, in lines where there are few."""
    labels = np.array([f"digit {digit}" for digit in Y[rows]])
    model = ODAClassifier(30, decision="nearest", metric=None, random_state=0).fit(
        X[rows], labels
    )
    display = PrototypesDisplay.from_estimator(model, (8, 8))
    classes = model.codevector_classes_[display.order_]
    assert list(classes) == sorted(classes)
    along, across = (display.ax_.yaxis, 1) if beside else (display.ax_.xaxis, 0)
    names = [text.get_text() for text in along.get_ticklabels()]
    assert names == list(model.classes_)
    weights = model.tree_.n_samples[1:] / model.tree_.n_samples[1:].sum()
    for label, tick in zip(names, along.get_ticklocs(), strict=True):
        own = [index for index, found in enumerate(classes) if found == label]
        assert (np.diff(weights[display.order_[own]]) <= 0).all()
        assert tick == pytest.approx(corner(display.images_[own[0]])[across] + 0.5)
        # No image of another class stands in the lines or columns of this one.
        lines = {round(corner(display.images_[index])[across], 6) for index in own}
        others = {
            round(corner(display.images_[index])[across], 6)
            for index in range(30)
            if index not in own
        }
        assert not lines & others


def test_small_pictures_leave_out_what_could_not_be_read():
    model = ODAClusterer(100, random_state=0).fit(X)
    _, axes = plt.subplots(figsize=(3.2, 2.4))
    assert PrototypesDisplay.from_estimator(model, (8, 8), ax=axes).texts_ == []


@pytest.mark.parametrize(
    "shape, message",
    [
        ((8, 9), "has 72 pixels, and the estimator was fitted to 64 features"),
        (64, "two whole numbers"),
        ((4, 4, 4), "two whole numbers"),
        ((8.0, 8.0), "two whole numbers"),
        ((-8, -8), "two whole numbers"),
    ],
)
def test_refuses_shapes_that_do_not_fit(clusterer, shape, message):
    with pytest.raises(ValueError, match=message):
        PrototypesDisplay.from_estimator(clusterer, shape)

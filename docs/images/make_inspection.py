"""Draw docs/images/inspection.png: six displays of odalib.inspection.

Needs matplotlib. Run it after a change of what the displays show::

    python docs/images/make_inspection.py
"""

from pathlib import Path

import matplotlib
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.preprocessing import scale

from odalib import (
    EPGaussianProcessClassifier,
    EPProbitClassifier,
    IsingModel,
    ODAClassifier,
    ODAClusterer,
)
from odalib.inspection import (
    AnnealingPathDisplay,
    CodebookDisplay,
    CouplingGraphDisplay,
    PosteriorDisplay,
    PredictiveProbabilityDisplay,
    PrototypesDisplay,
)

TARGET = Path(__file__).with_name("inspection.png")
PETAL = [2, 3]


def draw_codevectors(figures, iris):
    """Draw a path, cells and prototypes."""
    clusterer = ODAClusterer(n_clusters=None, random_state=0).fit(iris.data)
    panels = figures[0].subplots(2, 1, sharex=True)
    AnnealingPathDisplay.from_estimator(clusterer, ax=panels)

    petals = iris.data[:, PETAL]
    classifier = ODAClassifier(8, random_state=0).fit(petals, iris.target)
    cells = CodebookDisplay.from_estimator(
        classifier, petals, iris.target, ax=figures[1].subplots()
    )
    cells.axes_[0].set(xlabel="petal length (cm)", ylabel="petal width (cm)")

    images = ODAClassifier(20, metric=None, polish=None, random_state=0)
    images = images.fit(*load_digits(return_X_y=True))
    PrototypesDisplay.from_estimator(images, (8, 8), ax=figures[2].subplots())


def draw_distributions(figures, iris):
    """Draw weights, a probability and couplings."""
    cancer = load_breast_cancer()
    y = cancer.target_names[cancer.target]
    linear = EPProbitClassifier("evidence").fit(scale(cancer.data), y)
    PosteriorDisplay.from_estimator(
        linear,
        feature_names=cancer.feature_names,
        max_features=10,
        ax=figures[0].subplots(),
    )

    kinds = iris.target > 0
    flowers = iris.data[kinds][:, PETAL]
    names = iris.target_names[iris.target[kinds]]
    process = EPGaussianProcessClassifier(random_state=0).fit(flowers, names)
    probability = PredictiveProbabilityDisplay.from_estimator(
        process, flowers, names, ax=figures[1].subplots()
    )
    probability.ax_.set(xlabel="petal length (cm)", ylabel="petal width (cm)")

    columns = [name.removesuffix(" (cm)") for name in iris.feature_names]
    above = iris.data > iris.data.mean(axis=0)
    ising = IsingModel(random_state=0).fit(above)
    CouplingGraphDisplay.from_estimator(
        ising, feature_names=columns, ax=figures[2].subplots()
    )


def main():
    """Draw all six, and write the picture."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    iris = load_iris()
    figure = plt.figure(figsize=(12.0, 7.4), layout="constrained")
    above, below = figure.subfigures(2, 3)
    draw_codevectors(above, iris)
    draw_distributions(below, iris)
    figure.savefig(TARGET, dpi=100)
    print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()

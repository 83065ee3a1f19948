"""
Local linear models
===================

Predict how diabetes progresses, with as many local linear models as the data bear.

`ODARegressor` cuts the rows into cells and has a linear model in each. One cell is
linear regression; with more the surface may bend. A large fit holds all smaller ones,
so that cross-validation along the path needs one fit per fold. The standard deviation
of a prediction is that of held-out rows about it::

    python docs/examples/local_linear_models.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_score

from odalib import ODARegressor, PathSearchCV

FEATURE = "bmi"
NUMBERS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]
FOLDS = KFold(10, shuffle=True, random_state=0)
SHOWN = (2, 24)


def search_path(X, y):
    """R2 on held-out rows over the number of local models."""
    regressor = ODARegressor(max(NUMBERS), metric=None, random_state=0)
    return PathSearchCV(regressor, values=NUMBERS, cv=FOLDS, rule="best").fit(X, y)


def draw(search, linear, x, y):
    """Draw the scores, and curves of one feature with their deviations."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
    left.plot(
        NUMBERS,
        search.cv_results_["mean_test_score"],
        "o-",
        color="#1b3a5c",
        label="local linear models",
    )
    left.axhline(linear, color="#8a8a8a", linestyle="--", label="linear regression")
    left.set(
        xscale="log", xlabel="number of local models", ylabel="R² of held-out rows"
    )
    left.set_xticks(NUMBERS, NUMBERS, minor=False)
    left.minorticks_off()
    left.set_title("all ten features")
    left.legend()

    right.plot(x[:, 0], y, ".", color="#8a8a8a", markersize=4)
    grid = np.linspace(x.min(), x.max(), 300)[:, np.newaxis]
    styles = (("-", "#e0701a"), ("--", "#1b3a5c"))
    for number, (line, color) in zip(SHOWN, styles, strict=True):
        model = ODARegressor(number, metric=None, random_state=0).fit(x, y)
        mean, deviation = model.predict(grid, return_std=True)
        label = f"{len(model.codevectors_)} local models"
        right.plot(grid[:, 0], mean, line, color=color, label=label)
        if number == SHOWN[0]:
            right.fill_between(
                grid[:, 0], mean - deviation, mean + deviation, color=color, alpha=0.2
            )
    right.set(xlabel="body mass index, kg/m²", ylabel="progression after a year")
    right.set_title("one feature, with one deviation")
    right.legend()


def main():
    """Print the scores along the path, and draw them."""
    data = load_diabetes(scaled=False)
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    y = data.target
    search = search_path(X, y)
    linear = cross_val_score(LinearRegression(), X, y, cv=FOLDS).mean()
    print("local models  R2 of held-out rows")
    for number, score in zip(
        NUMBERS, search.cv_results_["mean_test_score"], strict=True
    ):
        print(f"{number:12d}  {score:19.3f}")
    print(f"\nLinear regression {linear:.3f}; best {search.best_params_}.")
    draw(search, linear, data.data[:, [data.feature_names.index(FEATURE)]], y)
    plt.show()


if __name__ == "__main__":
    main()

"""
Local models as cells grow in number
====================================

Fit constants and lines in cells, in one and two dimensions, and halve the cells.

The paper: "Multi-Resolution Online Deterministic Annealing" (Mavridis and Baras) learns
a model in every cell of the partition at the same time as the partition, by stochastic
approximation on two time scales, and shows functions of one and two variables
approximated the better the more cells there are.

Shown here: a sine of the distance from the origin, in one and in two dimensions d, from
4,000 rows with noise each. One fit of up to 64 cells gives all smaller numbers K
(``at``); the error is the root mean square against the function without noise. Once
cells are smaller than a wave it falls about as fast as approximation theory says, as
the width of a cell, K^(-1/d), for constants, and as its square for lines; until, for
lines in one dimension, what is left is noise, of each cell's own fit.

Differences: the functions, of which the text at hand of the paper gives no formula; all
rows are iterated in the place of stochastic steps; and cells are hard
(``blend=False``) as in the paper, where odalib blends them by default. Against the best
fits in equal cells, and on real data::

    python -m benchmarks.regression

This script::

    python docs/examples/papers/local_models.py
"""

import matplotlib.pyplot as plt
import numpy as np

from odalib import ODARegressor

N_ROWS, NOISE = 4000, 0.02
N_CELLS = (1, 2, 4, 8, 16, 32, 64)
SHOWN = (2, 8, 32)
# Cells from smaller than a wave to the noise, by number of features.
FALLING = {1: (4, 16), 2: (8, 64)}
DARK, BRIGHT, GREY = "#1b3a5c", "#e0701a", "#8a8a8a"
OPTIONS = {"blend": False, "metric": None, "random_state": 0}


def function(X):
    """Return a sine of the distance from the origin."""
    return np.sin(2.0 * np.pi * np.linalg.norm(X, axis=1))


def grid(n_features, side):
    """Return the points of a grid over the unit cube."""
    axis = (np.arange(side) + 0.5) / side
    return np.stack(np.meshgrid(*[axis] * n_features), axis=-1).reshape(-1, n_features)


def draw_rows(n_features):
    """Return rows and targets with noise."""
    rng = np.random.default_rng(n_features)
    X = rng.uniform(size=(N_ROWS, n_features))
    return X, function(X) + NOISE * rng.standard_normal(N_ROWS)


def root_errors(model, n_features):
    """Return the root mean square error of each number of cells."""
    points = grid(n_features, 4000 if n_features == 1 else 200)
    errors = [
        model.at(n_codevectors=number).predict(points) - function(points)
        for number in N_CELLS
    ]
    return np.sqrt(np.mean(np.square(errors), axis=1))


def fit_all():
    """Return models and errors by number of features and kind of local model."""
    found = {}
    print("root mean square error against the function")
    print("cells                 " + "".join(f"{number:8d}" for number in N_CELLS))
    for n_features in (1, 2):
        X, y = draw_rows(n_features)
        for kind in ("constant", "linear"):
            model = ODARegressor(N_CELLS[-1], local_model=kind, **OPTIONS).fit(X, y)
            errors = root_errors(model, n_features)
            found[n_features, kind] = model, errors
            print(f"{n_features} feature(s), {kind:8s}", end="")
            print("".join(f"{error:8.4f}" for error in errors))
    return found


def draw_one(ax, model, number):
    """Draw the local models of one feature, and the function."""
    x = grid(1, 2000)
    fitted = model.at(n_codevectors=number)
    values = fitted.predict(x)
    # A line that ends where a cell does.
    values[1:][np.diff(fitted.apply(x)) != 0] = np.nan
    ax.plot(x, function(x), color=BRIGHT, lw=1.2, ls="--", label="function")
    ax.plot(x, values, color=DARK, lw=2.5, label="local models")
    ax.set(xlabel="x", ylim=(-1.7, 1.7))
    ax.set_title(f"K = {number}", fontsize=10)


def draw_two(ax, model, number):
    """Draw the predictions over two features."""
    side = 200
    values = model.at(n_codevectors=number).predict(grid(2, side))
    image = ax.imshow(
        values.reshape(side, side),
        origin="lower",
        extent=(0, 1, 0, 1),
        cmap="Greys_r",
        vmin=-1.2,
        vmax=1.2,
    )
    ax.set(xlabel="$x_0$")
    ax.set_title(f"K = {number}", fontsize=10)
    return image


def draw_errors(ax, found, n_features):
    """Draw the errors over the number of cells, with the slopes of theory."""
    for kind, color, marker, power in (
        ("constant", BRIGHT, "s--", 1),
        ("linear", DARK, "o-", 2),
    ):
        errors = found[n_features, kind][1]
        ax.plot(N_CELLS, errors, marker, color=color, label=kind)
        ends = np.array(FALLING[n_features])
        first = errors[N_CELLS.index(ends[0])]
        slope = first * (ends / ends[0]) ** (-power / n_features)
        ax.plot(ends, slope, color=GREY, lw=1, ls=":")
    ax.set(xscale="log", yscale="log", xlabel="cells K")
    ax.set_xticks(N_CELLS, N_CELLS)
    ticks = [0.003, 0.01, 0.03, 0.1, 0.3] if n_features == 1 else [0.03, 0.1, 0.3]
    ax.set_yticks(ticks, ticks)
    ax.minorticks_off()
    ax.set_title("error; dotted: theory's slope", fontsize=10)
    ax.legend(fontsize="small", loc="lower left")


def draw(found):
    """Draw linear models in both dimensions, and all errors."""
    _, axes = plt.subplots(2, 4, figsize=(12, 5.6), layout="constrained")
    for row, draw_models in enumerate((draw_one, draw_two)):
        for ax, number in zip(axes[row], SHOWN, strict=False):
            draw_models(ax, found[row + 1, "linear"][0], number)
        draw_errors(axes[row, 3], found, row + 1)
    axes[0, 0].set_ylabel("y")
    axes[0, 0].legend(fontsize="small")
    axes[1, 0].set_ylabel("$x_1$")
    plt.show()


def main():
    """Print the errors and how they fall, check them, and draw."""
    found = fit_all()
    print("\nfactor by which the error falls, and in theory")
    for (n_features, kind), (_, errors) in found.items():
        first, last = FALLING[n_features]
        power = (1 if kind == "constant" else 2) / n_features
        theory = (last / first) ** power
        factor = errors[N_CELLS.index(first)] / errors[N_CELLS.index(last)]
        print(
            f"{n_features} feature(s), {kind:8s} from {first} to {last:2d} cells",
            end="",
        )
        print(f"  {factor:5.1f}  {theory:5.1f}")
        assert 0.8 * theory < factor < 1.3 * theory
    # The noise of a line's two coefficients, of the rows of its cell.
    left = found[1, "linear"][1][-1] / (NOISE * np.sqrt(2 * N_CELLS[-1] / N_ROWS))
    print(f"\nlines in {N_CELLS[-1]} cells of one feature: {left:.2f} times the noise")
    assert left < 1.3
    draw(found)


if __name__ == "__main__":
    main()

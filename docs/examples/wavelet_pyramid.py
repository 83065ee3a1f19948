"""
A wavelet pyramid
=================

Cluster time series coarse to fine: a wavelet pyramid, beside one level of all times.

A Haar wavelet halves a series again and again: sums of neighbours go on, differences
are kept as details of that scale. Every series here has one of three slow shapes, of
varying height, and on it a fast ripple, of one of two signs, in a place that depends on
the shape: six kinds. The ripple is small beside what the height varies by, so that one
level of all times cuts the shapes by their height. The pyramid tells the shapes apart
by the coarsest sums, and then, within each, the ripples by details of one scale::

    python docs/examples/wavelet_pyramid.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import FunctionTransformer

from odalib import ODAClusterer, Resolution

N_SERIES, N_TIMES = 1000, 64
N_SUMS = 4
HEIGHT, RIPPLE, NOISE = 3.0, 0.5, 0.3


def draw(rng):
    """Draw series, and the kind of each, twice its shape plus one of two signs."""
    times = np.arange(N_TIMES) / N_TIMES
    shapes = np.array(
        [
            np.sin(2.0 * np.pi * times),
            1.5 * np.exp(-(((times - 0.5) / 0.15) ** 2)),
            2.0 * times - 1.0,
        ]
    )
    starts = np.array([[0.0], [0.375], [0.75]])
    square_wave = np.where(np.arange(N_TIMES) % 4 < 2, 1.0, -1.0)
    ripples = square_wave * ((times >= starts) & (times < starts + 0.25))

    shape, sign = rng.integers(3, size=N_SERIES), rng.integers(2, size=N_SERIES)
    height = HEIGHT * rng.uniform(0.5, 1.5, size=(N_SERIES, 1))
    series = height * shapes[shape] + RIPPLE * (2 * sign[:, None] - 1) * ripples[shape]
    return series + NOISE * rng.standard_normal(series.shape), 2 * shape + sign


def haar(series):
    """Coarsest sums of series, and their details at every scale from coarse to fine."""
    details = []
    while series.shape[1] > N_SUMS:
        even, odd = series[:, ::2], series[:, 1::2]
        details.append((even - odd) / np.sqrt(2.0))
        series = (even + odd) / np.sqrt(2.0)
    return series, details[::-1]


def sums(series):
    """Coarsest sums, four for each series."""
    return haar(series)[0]


def details(series, width):
    """Details that compare the halves of stretches of so many times."""
    found = {N_TIMES // part.shape[1]: part for part in haar(series)[1]}
    return found[width]


def show_clusters(X, kind, labels):
    """Draw the mean series of each cluster, and the share of its largest kind."""
    _, panels = plt.subplots(
        len(labels),
        6,
        figsize=(9.5, 4.6),
        sharex=True,
        sharey=True,
        layout="constrained",
    )
    for line, (name, found) in zip(panels, labels.items(), strict=True):
        largest = [np.bincount(kind[found == cluster]).argmax() for cluster in range(6)]
        for ax, cluster in zip(line, np.argsort(largest, kind="stable"), strict=True):
            rows = found == cluster
            ax.plot(X[rows][:20].T, color="#8a8a8a", linewidth=0.3)
            ax.plot(X[rows].mean(axis=0), color="#e0701a")
            share = (kind[rows] == largest[cluster]).mean()
            ax.set_title(f"{share:.0%} of one kind", fontsize=8)
        line[0].set_ylabel(name, fontsize=8)


def main():
    """Print how well six clusters of each sort agree with the kinds of series."""
    X, kind = draw(np.random.default_rng(0))
    models = {
        "all times, by KMeans": KMeans(6, n_init=10, random_state=0),
        "all times": ODAClusterer(6, random_state=0),
    }
    for width in (16, 8, 4, 2):
        shapes = Resolution(FunctionTransformer(sums), n_codevectors=3)
        ripples = FunctionTransformer(details, kw_args={"width": width})
        models[f"sums, then details over {width:2d} times"] = ODAClusterer(
            6, resolutions=[shapes, ripples], random_state=0
        )

    print(f"{N_SERIES} series of {N_TIMES} times, of six kinds.\n")
    print("six clusters of                  agreement with the kinds")
    labels = {name: model.fit_predict(X) for name, model in models.items()}
    for name, found in labels.items():
        agreement = adjusted_rand_score(kind, found)
        print(f"{name:31s}  {agreement:24.2f}")
    print(
        "\nAgreement is the adjusted Rand score: 1 for the same groups, 0 for chance.\n"
        "The ripple has a period of four times, and shows in the details over these."
    )
    shown = ("all times", "sums, then details over  4 times")
    show_clusters(X, kind, {name: labels[name] for name in shown})
    plt.show()


if __name__ == "__main__":
    main()

"""
Clusters that drift
===================

Follow the colours of a photograph that is read line by line, and see when they change.

The stream is the pixels of a photograph of a temple, from the sky downwards. With
``step="constant"`` old rows are forgotten, and codevectors follow; `drift_score_` tells
how far each call has moved them. A second model, of ``step="decreasing"``, remembers
all lines alike. Each line is first described by the colours that the models have, and
then learnt::

    python docs/examples/drifting_colours.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from odalib import ODAClusterer

N_COLOURS = 6
LINES = 4
MEMORY = 5_000


def follow(model, bands):
    """Error of every band before it is learnt, drift, and the palette after it."""
    errors, drifts, palettes = [], [], []
    for number, band in enumerate(bands):
        if number:
            errors.append(-model.score(band))
        model.partial_fit(band)
        drifts.append(model.drift_score_)
        order = np.argsort(model.cluster_centers_.sum(axis=1))
        palettes.append(model.cluster_centers_[order])
    return np.array(errors), np.array(drifts), np.array(palettes)


def draw(photograph, told):
    """Draw the photograph, the palette that follows it, the errors and the drift."""
    figure, (image, palette, error, drift) = plt.subplots(
        1,
        4,
        sharey=True,
        figsize=(9.5, 4.2),
        width_ratios=(3, 1, 2, 2),
        layout="constrained",
    )
    n_lines = len(photograph)
    image.imshow(photograph, aspect="auto")
    image.set(xticks=[], ylabel="line", title="stream, from top to bottom")
    # A codevector that has just been put elsewhere can lie beyond white.
    colours = np.clip(told["follows"][2], 0.0, 1.0)
    palette.imshow(colours, aspect="auto", extent=(0, N_COLOURS, n_lines, 0))
    palette.set(xticks=[], title="codevectors")
    lines = LINES * np.arange(len(colours))
    for (name, (errors, _, _)), style in zip(told.items(), ("-", "--"), strict=True):
        error.plot(errors, lines[1:], style, label=name, linewidth=1.2)
    error.set(xscale="log", xlabel="mean divergence", title="error of the next lines")
    error.legend(fontsize=8)
    drift.plot(told["follows"][1], lines, color="#1b3a5c", linewidth=1.2)
    drift.set(xscale="log", xlabel="drift_score_", title="how far colours move")
    return figure


def main():
    """Print the mean errors and where colours move most, and draw them."""
    photograph = load_sample_image("china.jpg")
    pixels = photograph.astype(np.float32) / 255.0
    n_bands = len(photograph) // LINES
    bands = pixels[: n_bands * LINES].reshape(n_bands, -1, 3)
    models = {
        "follows": ODAClusterer(
            N_COLOURS, step="constant", memory_samples=MEMORY, random_state=0
        ),
        "remembers all": ODAClusterer(N_COLOURS, random_state=0),
    }
    told = {name: follow(model, bands) for name, model in models.items()}
    print(f"{bands.shape[0]} calls of {bands.shape[1]} pixels, {N_COLOURS} colours.\n")
    print("step            mean error of lines before they are learnt")
    for name, (errors, _, _) in told.items():
        print(f"{name:14s}  {errors.mean():42.5f}")
    drifts = told["follows"][1]
    print(
        f"\nColours move most at line {LINES * int(np.argmax(drifts))}, by "
        f"{drifts.max():.4f}; the median call moves them by {np.median(drifts):.1e}."
    )
    draw(photograph, told)
    plt.show()


if __name__ == "__main__":
    main()

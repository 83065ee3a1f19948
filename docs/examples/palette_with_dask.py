"""
Clusters where the rows are
===========================

Find the colours of two photographs on the workers of a Dask cluster.

Half a million pixels are a Dask array, whose blocks the workers read themselves.
`odalib.distributed.ODAClusterer` sends codebooks to the workers and adds up what comes
back; what it returns is an ordinary estimator, that of a fit in memory up to rounding.
Here the cluster is two threads; a Client of a real one takes its place::

    python docs/examples/palette_with_dask.py
"""

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client
from sklearn.datasets import load_sample_image

import odalib
from odalib.distributed import ODAClusterer, predict

N_COLOURS = 12
FILES = ("china.jpg", "flower.jpg")


def read(name):
    """Pixels of a photograph, a row for each."""
    return load_sample_image(name).reshape(-1, 3) / 255.0


def fit_and_recolour():
    """Fit on a cluster; the estimator it gives, bytes that moved, the new colours."""
    blocks = [
        da.from_delayed(dask.delayed(read)(name), (np.nan, 3), float) for name in FILES
    ]
    X = da.concatenate(blocks, allow_unknown_chunksizes=True)
    with Client(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ):
        X = X.persist()
        estimator = ODAClusterer(N_COLOURS, random_state=0)
        model = estimator.fit(X)
        labels = predict(model, X).compute()
    return model, estimator.bytes_moved_, model.cluster_centers_[labels]


def draw(photographs, recoloured, palette):
    """Draw the photographs, the same in few colours, and these."""
    figure, panels = plt.subplots(
        2, 3, figsize=(9.5, 4.4), width_ratios=(4, 4, 1), layout="constrained"
    )
    for (before, after), pair in zip(
        panels[:, :2], zip(photographs, recoloured, strict=True), strict=True
    ):
        for axes, image in zip((before, after), pair, strict=True):
            axes.imshow(image)
            axes.set_axis_off()
    panels[0, 0].set_title("as they are")
    panels[0, 1].set_title(f"in {len(palette)} colours")
    for axes in panels[:, 2]:
        axes.remove()
    axes = figure.add_subplot(panels[0, 2].get_gridspec()[:, 2])
    order = np.argsort(palette.sum(axis=1))
    axes.imshow(palette[order][:, np.newaxis], aspect="auto")
    axes.set_axis_off()


def main():
    """Print how the fit compares with one in memory, and draw the pictures."""
    photographs = [load_sample_image(name) for name in FILES]
    pixels = np.concatenate([read(name) for name in FILES])
    model, moved, colours = fit_and_recolour()
    memory = odalib.ODAClusterer(N_COLOURS, random_state=0).fit(pixels)
    apart = np.abs(model.cluster_centers_ - memory.cluster_centers_).max()
    print(f"{len(pixels)} pixels in {len(FILES)} blocks, {pixels.nbytes} bytes")
    print(f"bytes that moved between client and workers: {moved}")
    print(f"largest difference from a fit in memory: {apart:.0e}")
    recoloured = np.split(colours, [photographs[0].size // 3])
    recoloured = [
        part.reshape(image.shape)
        for part, image in zip(recoloured, photographs, strict=True)
    ]
    draw(photographs, recoloured, model.cluster_centers_)
    plt.show()


if __name__ == "__main__":
    main()

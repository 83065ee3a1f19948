"""Draw docs/images/ising_errors.png: errors of 100 spins' magnetisations.

Needs matplotlib, and the long Gibbs runs that tests/data/make_ising_gibbs.py has made.
Run it after a change of what the picture shows::

    python docs/images/make_ising_errors.py
"""

from pathlib import Path

import matplotlib
import numpy as np

from odalib import infer_ising

TARGET = Path(__file__).with_name("ising_errors.png")
RUNS = Path(__file__).parents[2] / "tests" / "data" / "ising_gibbs.npz"
MODELS = {
    "sherrington_kirkpatrick": "independent couplings\nSK, $\\beta=0.5$",
    "hopfield": "couplings of patterns\nHopfield, $\\alpha=0.5, \\beta=0.35$",
    "negative_hopfield": "sign turned\nnegative Hopfield, $\\alpha=0.5, \\beta=1$",
}
# Lightness and marker tell them apart as well, for print in grey.
METHODS = {
    "mean_field": ("mean field", "#b8b8b8", "s"),
    "belief_propagation": ("belief propagation", "#8a8a8a", "v"),
    "tap": ("TAP", "#e0701a", "o"),
    "adaptive_tap": ("adaptive TAP", "#1b3a5c", "D"),
}


def draw(axes, runs, name):
    """Draw the errors of all methods, each sorted, and those of the runs."""
    exact = runs[f"{name}_magnetisations"]
    share = (np.arange(len(exact)) + 0.5) / len(exact)
    for method, (label, colour, marker) in METHODS.items():
        J, B = runs[f"{name}_couplings"], runs[f"{name}_fields"]
        off = np.sort(np.abs(infer_ising(J, B, method).magnetisations - exact))
        axes.plot(
            share, off, color=colour, marker=marker, markevery=(5, 15), label=label
        )
    axes.axhspan(
        0.0, runs[f"{name}_standard_errors"].mean(), color="0.9", label="Gibbs runs"
    )
    axes.set_title(MODELS[name], fontsize="medium")
    axes.set(xlabel="share of the spins", yscale="log")


def main():
    """Infer, and write the picture."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 3, figsize=(11, 4), sharey=True)
    with np.load(RUNS) as runs:
        for axes, name in zip(panels, MODELS, strict=True):
            draw(axes, runs, name)
    panels[0].set(ylabel="error of a magnetisation", ylim=(1e-6, 1.0))
    panels[0].legend(loc="lower right", framealpha=1.0)
    figure.savefig(TARGET, dpi=150, bbox_inches="tight")
    print(f"wrote {TARGET.name}: {len(MODELS)} models, {len(METHODS)} methods")


if __name__ == "__main__":
    main()

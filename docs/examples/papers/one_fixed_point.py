"""
Three algorithms, one fixed point
=================================

Solve adaptive TAP, expectation propagation and the double loop, and compare.

The paper: the lecture notes "Expectation Propagation" (Raymond, Manoel and Opper)
derive adaptive TAP twice, from the field on a spin without itself and from Gaussian
factors that match the first two moments, say that expectation propagation (EP) with a
Gaussian has the same fixed points (after Csato, Opper and Winther, 2001), and give a
double loop that is sure to find a minimum of the same free energy.

Shown here: on 60 spins with Hopfield couplings, the equations of adaptive TAP iterated
as they stand in the notes, in a few lines below; EP, parallel and sequential; and the
double loop. All end in the same magnetisations, covariances and log partition function.
Then EP and the double loop on real data: a Gaussian process classifier of two species
of iris.

Differences: the notes state it without an experiment, and print the Gaussian factor
with ``- gamma x``; here, as in odalib, it is ``+ gamma x``. After every eight outer
steps the double loop of odalib tries plain EP from where it has come to, and keeps what
has no higher free energy; the first eight steps here are the double loop alone. This
script::

    python docs/examples/papers/one_fixed_point.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF

from odalib import EPGaussianProcessClassifier, infer_ising

N_SPINS, BETA, FIELD, TOL = 60, 0.35, 0.3, 1e-10
# Outer steps of the double loop before plain EP is tried.
N_ALONE = 8
SOLVERS = {
    "EP, parallel": {"method": "adaptive_tap", "solver": "parallel"},
    "EP, sequential": {"method": "adaptive_tap", "solver": "sequential"},
    "double loop": {"method": "double_loop"},
}
STYLES = (
    {"color": "#8a8a8a", "ls": "-", "lw": 4},
    {"color": "#e0701a", "ls": "--", "lw": 2},
    {"color": "#1b3a5c", "ls": ":", "lw": 2},
    {"color": "#1b3a5c", "ls": "-", "lw": 1.2},
)


def draw_model():
    """Return Hopfield couplings of n / 2 patterns, and fields."""
    rng = np.random.default_rng(0)
    patterns = rng.choice([-1.0, 1.0], size=(N_SPINS // 2, N_SPINS))
    J = BETA / N_SPINS * patterns.T @ patterns
    np.fill_diagonal(J, 0.0)
    return J, FIELD * rng.standard_normal(N_SPINS)


def iterate_equations(J, B):
    """Iterate the equations of adaptive TAP; return m, chi, log Z and residuals.

    a and V are mean and variance of the field on a spin without itself, Lambda and
    gamma the Gaussian factor in the place of the spin's two states.
    """
    a, V = np.zeros(N_SPINS), np.sum(J**2, axis=1)
    residuals = []
    for _ in range(100):
        m = np.tanh(B + a)
        variance = 1.0 - m**2
        Lambda, gamma = V + 1.0 / variance, m / variance - a
        chi = np.linalg.inv(np.diag(Lambda) - J)
        own = np.diag(chi)
        mean = chi @ gamma
        residuals.append(np.abs(mean - m).max() + np.abs(own - variance).max())
        if residuals[-1] < TOL:
            break
        # The field and its variance, from the moments of the Gaussian.
        a, V = mean / own - gamma, Lambda - 1.0 / own
    assert residuals[-1] < TOL
    spins = np.logaddexp(B + a, -B - a) + V / 2.0
    _, log_determinant = np.linalg.slogdet(np.diag(Lambda) - J)
    joint = (N_SPINS * np.log(2 * np.pi) - log_determinant + gamma @ mean) / 2.0
    single = (np.log(2 * np.pi * own) + mean**2 / own) / 2.0
    return m, chi, spins.sum() + joint - single.sum(), residuals


def compare_spins():
    """Print how far the solutions are apart; return them and their residuals."""
    J, B = draw_model()
    m, chi, log_partition, residuals = iterate_equations(J, B)
    # The relation that the notes derive adaptive TAP from: a = J m - V m.
    V = np.diag(np.linalg.inv(chi) + J) - 1.0 / np.diag(chi)
    identity = np.abs(np.arctanh(m) - B - (J @ m - V * m)).max()
    print(f"{N_SPINS} spins: log Z = {log_partition:.10f} by the equations,")
    print(f"which hold to {identity:.0e}; the others are away from that by\n")
    print("                iterations  magnetisations  covariances    log Z")
    found = {"equations of adaptive TAP": (m, residuals)}
    assert identity < 1e-8
    for name, options in SOLVERS.items():
        inference = infer_ising(J, B, tol=1e-9, max_iter=5000, **options)
        assert inference.converged, inference.failure
        apart = (
            np.abs(inference.magnetisations - m).max(),
            np.abs(inference.correlations - chi).max(),
            abs(inference.log_partition - log_partition),
        )
        print(f"{name:14s}  {inference.n_iter:10d}", end="")
        print("  {:14.0e}  {:11.0e}  {:7.0e}".format(*apart))
        assert max(apart) < 1e-6
        found[name] = inference.magnetisations, inference.residuals
    alone = found["double loop"][1][:N_ALONE]
    print(f"\nthe double loop alone: residuals from {alone[0]:.0e} to {alone[-1]:.0e}")
    assert alone[-1] < 0.01 * alone[0]
    return found


def compare_flowers():
    """Print how far the probabilities of a Gaussian process classifier are apart."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    models = [
        EPGaussianProcessClassifier(RBF(1.0), optimizer=None, solver=solver).fit(X, y)
        for solver in ("parallel", "sequential", "double_loop")
    ]
    first, *others = models
    evidence = first.log_marginal_likelihood_value_
    print(f"\n{len(y)} flowers: log evidence {evidence:.8f} by parallel EP\n")
    print("             probabilities  log evidence")
    for model in others:
        apart = (
            np.abs(model.predict_proba(X) - first.predict_proba(X)).max(),
            abs(model.log_marginal_likelihood_value_ - evidence),
        )
        print("{:11s}  {:13.0e}  {:12.0e}".format(model.solver, *apart))
        assert max(apart) < 1e-5


def draw(found):
    """Draw the way to the fixed point, and the magnetisations at it."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    markers = ({"ms": 9, "mfc": "none"}, {"ms": 6, "mfc": "none"}, {"ms": 4}, {"ms": 3})
    order = np.argsort(found["equations of adaptive TAP"][0])
    for (name, (m, residuals)), style, marker, symbol in zip(
        found.items(), STYLES, markers, "os^.", strict=True
    ):
        left.plot(1 + np.arange(len(residuals)), residuals, label=name, **style)
        right.plot(m[order], symbol, color=style["color"], label=name, **marker)
    left.set(xlabel="iteration", ylabel="residual", yscale="log")
    left.set_ylim(top=1e3)
    left.set_title("different ways")
    left.legend(fontsize="small", loc="upper right")
    right.set(xlabel="spin, sorted", ylabel="magnetisation", title="one fixed point")
    right.legend(fontsize="small")
    plt.show()


def main():
    """Print both comparisons, check them, and draw."""
    found = compare_spins()
    compare_flowers()
    draw(found)


if __name__ == "__main__":
    main()

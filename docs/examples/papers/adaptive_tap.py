"""
Adaptive TAP against TAP
========================

Estimate the variance of the field on a spin where couplings are independent, and not.

The paper: the TAP equations need V_i, the variance of the field on spin i in the
absence of that spin. The lecture notes "Expectation Propagation" (Raymond, Manoel and
Opper) derive ``V_i = sum_j J_ij^2 (1 - m_j^2)`` for independent couplings (the
Sherrington-Kirkpatrick model), and say with figure 2 that it fails for couplings of the
kind of Hopfield's, which are made of patterns; adaptive TAP asks instead that the
response ``chi_ii`` agree with the variance of the spin.

Shown here: for couplings of each kind, V by both against its exact value, which is the
variance of ``sum_j J_ij x_j`` in the model without spin i, by enumeration; errors of V
and of the magnetisations; and how far the two Vs are apart as the number of spins
grows: they agree in the limit for independent couplings, and only there.

Differences: 16 spins rather than many, since enumeration makes the comparison exact;
negative Hopfield couplings, which repel the patterns, are there too. The notes at hand
give no numbers for their figure. More families and methods, and 100 spins against long
Gibbs runs::

    python -m benchmarks.ising_accuracy
    python -m benchmarks.ising_gibbs

This script::

    python docs/examples/papers/adaptive_tap.py
"""

import matplotlib.pyplot as plt
import numpy as np

from odalib import infer_ising

N_SPINS, N_INSTANCES, FIELD = 16, 20, 0.3
LARGER = (16, 64, 256)
DARK, BRIGHT, GREY = "#1b3a5c", "#e0701a", "#8a8a8a"


def spin_glass(rng, n):
    """Draw independent couplings: Sherrington-Kirkpatrick, beta 0.5."""
    upper = np.triu(rng.standard_normal((n, n)), 1)
    return 0.5 / np.sqrt(n) * (upper + upper.T)


def hopfield(rng, n, beta=0.5):
    """Draw couplings of n / 2 random patterns."""
    patterns = rng.choice([-1.0, 1.0], size=(n // 2, n))
    J = beta / n * patterns.T @ patterns
    np.fill_diagonal(J, 0.0)
    return J


def negative_hopfield(rng, n):
    """Draw couplings that repel n / 2 random patterns."""
    return hopfield(rng, n, beta=-1.0)


FAMILIES = {
    "Sherrington-Kirkpatrick": spin_glass,
    "Hopfield": hopfield,
    "negative Hopfield": negative_hopfield,
}


def tap(J, B):
    """Return magnetisations and V by TAP, None where it does not converge."""
    inference = infer_ising(J, B, "tap")
    if not inference.converged:
        return None
    m = inference.magnetisations
    return m, J**2 @ (1.0 - m**2)


def adaptive_tap(J, B):
    """Return magnetisations and V by adaptive TAP.

    Its Gaussian has the covariance chi = (Lambda - J)^-1, and V = Lambda - 1 / chi_ii.
    """
    inference = infer_ising(J, B, "adaptive_tap")
    assert inference.converged, inference.failure
    chi = inference.correlations
    own_precision = np.diag(np.linalg.inv(chi) + J)
    return inference.magnetisations, own_precision - 1.0 / np.diag(chi)


def exact(J, B):
    """Return magnetisations and V by enumeration."""
    V = np.empty(len(B))
    for i, row in enumerate(J):
        others = np.arange(len(B)) != i
        without = infer_ising(J[np.ix_(others, others)], B[others], "exact")
        V[i] = row[others] @ without.correlations @ row[others]
    return infer_ising(J, B, "exact").magnetisations, V


def root_mean_square(values):
    """Return the root of the mean of the squares."""
    return np.sqrt(np.mean(np.square(values)))


def draw_model(family, n, seed):
    """Return couplings and fields."""
    rng = np.random.default_rng(seed)
    return family(rng, n), FIELD * rng.standard_normal(n)


def compare(family):
    """Return magnetisations and V of all instances, shape (2, spins), per method.

    Of the instances on which TAP converges; and how many those are.
    """
    found = []
    for seed in range(N_INSTANCES):
        model = draw_model(family, N_SPINS, seed)
        plain = tap(*model)
        if plain is not None:
            found.append((plain, adaptive_tap(*model), exact(*model)))
    return [np.hstack(of_method) for of_method in zip(*found, strict=True)], len(found)


def apart(family, n):
    """Return how far the two Vs are apart, relative to their mean."""
    model = draw_model(family, n, seed=1)
    (_, plain), (_, adaptive) = tap(*model), adaptive_tap(*model)
    return root_mean_square(plain - adaptive) / adaptive.mean()


def draw(panels):
    """Draw V by both methods against its exact value."""
    _, axes = plt.subplots(1, 3, figsize=(10, 3.9), layout="constrained")
    for ax, (name, (plain, adaptive, truth)) in zip(axes, panels.items(), strict=True):
        both = np.concatenate([plain[1], adaptive[1], truth[1]])
        ends = [both.min() - 0.01, both.max() + 0.01]
        ax.plot(ends, ends, color=GREY, lw=1, zorder=0)
        ax.plot(truth[1], plain[1], "s", color=BRIGHT, ms=4, mfc="none", label="TAP")
        ax.plot(truth[1], adaptive[1], ".", color=DARK, ms=5, label="adaptive TAP")
        ax.set(title=name, xlabel="exact $V_i$", xlim=ends, ylim=ends, aspect="equal")
        ax.locator_params(nbins=5)
    axes[0].set_ylabel("$V_i$ of the method")
    axes[0].legend(loc="upper left")
    plt.show()


def main():
    """Print errors of V and of the magnetisations, check them, and draw."""
    print(f"{N_SPINS} spins, {N_INSTANCES} instances: root mean square errors")
    print("                                   V             magnetisations")
    print("               TAP converges    TAP  adaptive       TAP  adaptive")
    panels, gains = {}, {}
    for name, family in FAMILIES.items():
        panels[name], n_converged = compare(family)
        plain, adaptive, truth = panels[name]
        errors = [
            root_mean_square((method - truth)[which])
            for which in (1, 0)
            for method in (plain, adaptive)
        ]
        print(f"{name:24s}{n_converged:4d}", end="")
        print("{:7.4f}{:10.4f}{:10.4f}{:10.4f}".format(*errors))
        gains[name] = errors[0] / errors[1], errors[2] / errors[3]
    print("\nV of TAP and of adaptive TAP apart, relative to V")
    print("spins                   " + "".join(f"{n:8d}" for n in LARGER))
    distances = {}
    for name, family in FAMILIES.items():
        distances[name] = [apart(family, n) for n in LARGER]
        print(f"{name:24s}" + "".join(f"{d:8.3f}" for d in distances[name]))
    # Adaptive TAP has the better V and the better magnetisations.
    assert all(min(gain) > 1.5 for gain in gains.values())
    assert min(gains["negative Hopfield"]) > 10
    # The two agree in the limit for independent couplings, and only there.
    independent = distances["Sherrington-Kirkpatrick"]
    assert independent[2] < 0.06 and independent[2] < 0.5 * independent[0]
    assert distances["Hopfield"][2] > 0.2 and distances["negative Hopfield"][2] > 0.2
    draw(panels)


if __name__ == "__main__":
    main()

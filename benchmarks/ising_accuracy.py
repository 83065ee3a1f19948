"""Errors of the methods for pairwise models, against enumeration.

Claim: on 15 or 16 spins, adaptive TAP's error of the magnetisations is at most half
that of TAP on Sherrington-Kirkpatrick couplings (beta 0.5), a third on Hopfield
couplings (alpha 0.5, beta 0.5), and at most 0.003 on negative Hopfield couplings
(beta 1). Belief propagation's is below 0.02 on sparse graphs and 4 x 4 grids (beta
0.5). The pair correction cuts the error of the log partition function five times on
Sherrington-Kirkpatrick couplings and ten times on the grid.

Peers: the other methods of infer_ising.

Measured: the same couplings and fields for all methods. Magnetisations and covariances
of all pairs by their root mean square errors, the log partition function by its
absolute error; of all three the medians over the instances on which the method
converged, and beside them how many those are. Covariances only where linear response
exists: on some instances the fixed point of a method is no minimum.
"""

import sys

import numpy as np

from benchmarks._couplings import FAMILIES, fields
from benchmarks._report import Claim, Table, argument_parser, conclude
from odalib import infer_ising

METHODS = ("mean_field", "tap", "belief_propagation", "adaptive_tap")


def root_mean_square(values):
    return np.sqrt(np.mean(np.square(values)))


def errors_of(inference, exact):
    """Errors of magnetisations, log partition and covariances of all pairs."""
    if not inference.converged:
        return np.full(3, np.nan)
    return np.array(
        [
            root_mean_square(inference.magnetisations - exact.magnetisations),
            abs(inference.log_partition - exact.log_partition),
            covariance_error(inference, exact),
        ]
    )


def covariance_error(inference, exact):
    """Error of the covariances of all pairs, NaN where there is no linear response."""
    try:
        covariances = inference.linear_response()
    except ValueError:
        return np.nan
    return root_mean_square(covariances - exact.correlations)


def compare(family, n_instances):
    """Return the errors of every method, each of shape (instances, 3)."""
    errors = {method: [] for method in (*METHODS, "pairs corrected")}
    for seed in range(n_instances):
        rng = np.random.default_rng(seed)
        J = family(rng)
        B = fields(rng, len(J))
        exact = infer_ising(J, B, "exact")
        for method in METHODS:
            inference = infer_ising(J, B, method)
            errors[method].append(errors_of(inference, exact))
        # The last one was adaptive TAP.
        errors["pairs corrected"].append(errors_of(inference.pair_corrected(), exact))
    return {method: np.array(found) for method, found in errors.items()}


def tabulate(n_instances):
    """Print all errors and return their medians."""
    table = Table(
        {
            "couplings": "<26",
            "method": "<20",
            "converged": ">9d",
            "magnetisations": ">14.5f",
            "log Z": ">9.5f",
            "covariances": ">11.5f",
        }
    )
    medians = {}
    for name, family in FAMILIES.items():
        for method, errors in compare(family, n_instances).items():
            kept = errors[~np.isnan(errors[:, 0])]
            median = np.nanmedian(kept, axis=0) if len(kept) else np.full(3, np.nan)
            medians[name, method] = median
            table.row(name, method, len(kept), *median)
    return medians


def claims_of(medians):
    """Hold the medians against their limits."""

    def magnetisation(name, method):
        return medians[name, method][0]

    def tap_ratio(name):
        return magnetisation(name, "tap") / magnetisation(name, "adaptive_tap")

    def correction(name):
        plain, corrected = (
            medians[name, method][1] for method in ("adaptive_tap", "pairs corrected")
        )
        return plain / corrected

    sk, hopfield, grid = "SK, beta 0.5", "Hopfield, beta 0.5", "grid, beta 0.5"
    negative, sparse = "negative Hopfield, beta 1", "sparse graph, beta 0.5"
    return [
        Claim("TAP / adaptive TAP, SK", tap_ratio(sk), 2, ">="),
        Claim("Hopfield", tap_ratio(hopfield), 3, ">="),
        Claim(
            "adaptive TAP, negative Hopfield",
            magnetisation(negative, "adaptive_tap"),
            0.003,
        ),
        Claim("BP, sparse", magnetisation(sparse, "belief_propagation"), 0.02),
        Claim("BP, grid", magnetisation(grid, "belief_propagation"), 0.02),
        Claim("pair correction, SK", correction(sk), 5, ">="),
        Claim("pair correction, grid", correction(grid), 10, ">="),
    ]


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("ising_accuracy", __doc__)
    parser.add_argument("--instances", type=int, default=20, help="of each family")
    options = parser.parse_args(arguments)
    medians = tabulate(options.instances)
    scope = f"{options.instances} instances of each family"
    return conclude(claims_of(medians), scope, options.strict)


if __name__ == "__main__":
    sys.exit(main())

"""Time of inference in pairwise models.

Claim: one iteration of adaptive TAP on 1000 spins, all coupled, takes at most as long
as 4 Cholesky factorisations of that size. 100 sweeps of belief propagation over 100,000
spins and 300,000 edges take less than 10 seconds on one core, and the time of a sweep
grows as the number of edges (to the power of 1.3 at the most, since long arrays leave
the caches). Compiled kernels pass messages at least 1.5 times, and draw 100 spins in 32
chains at least five times as fast as those in NumPy.

Peers: a Cholesky factorisation by LAPACK; the kernels in NumPy; the sum over all states
by NumPy, all of them in one array; pgmpy's variable elimination, where pgmpy is
installed.

Measured: an iteration is the difference of runs of 25 and of 5 iterations, over 20;
its unit is the median of as many factorisations in the same turns, one thread for
both. Sweeps of belief propagation are timed in one call that may not end sooner.
Kernels take turns, and the growth is the slope of the logarithms of their least times
over three numbers of edges.
"""

import sys
from importlib.util import find_spec
from statistics import median
from time import perf_counter

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf
from threadpoolctl import threadpool_limits

from benchmarks._couplings import fields, grid, spin_glass
from benchmarks._report import Claim, Table, argument_parser, conclude
from odalib import infer_ising
from odalib.kernels import pairwise as kernels
from odalib.kernels.reference import pairwise as reference

SHORT, LONG = 5, 25
# A residual that is not reached.
NEVER = 1e-300
N_STATES = 18


def seconds_of(task):
    start = perf_counter()
    task()
    return perf_counter() - start


def claim_iteration(n_spins, n_runs):
    """Time an iteration of adaptive TAP in factorisations."""
    rng = np.random.default_rng(0)
    J, B = spin_glass(rng, n_spins, 0.5), fields(rng, n_spins)
    matrix = np.asfortranarray(2.0 * np.eye(n_spins) - J)

    def propagate(n_iter):
        infer_ising(J, B, "adaptive_tap", solver="parallel", max_iter=n_iter, tol=NEVER)

    ratios = []
    for _ in range(n_runs):
        short, long = (seconds_of(lambda n=n: propagate(n)) for n in (SHORT, LONG))
        factorisation = median(
            seconds_of(lambda: dpotrf(matrix, lower=1)) for _ in range(LONG - SHORT)
        )
        iteration = (long - short) / (LONG - SHORT)
        ratios.append(iteration / factorisation)
        print(
            f"adaptive TAP, {n_spins} spins: {1e3 * iteration:.1f} ms an iteration, "
            f"{1e3 * factorisation:.1f} ms a factorisation"
        )
    return Claim("factorisations an iteration", median(ratios), 4.0)


def random_graph(rng, n_spins, n_edges):
    """Draw distinct edges: both ends and the coupling of each."""
    first, second = rng.integers(n_spins, size=(2, 2 * n_edges))
    low, high = np.minimum(first, second), np.maximum(first, second)
    edges = np.unique(low[low < high] * n_spins + high[low < high])
    edges = np.sort(rng.choice(edges, n_edges, replace=False))
    return edges // n_spins, edges % n_spins, 0.3 * rng.standard_normal(n_edges)


def claim_sweeps(n_spins, n_edges):
    """Time 100 sweeps of belief propagation on a random graph."""
    rng = np.random.default_rng(0)
    first, second, coupling = random_graph(rng, n_spins, n_edges)
    half = sp.coo_array((coupling, (first, second)), shape=(n_spins, n_spins))
    J, B = (half + half.T).tocsr(), fields(rng, n_spins)
    seconds = seconds_of(
        lambda: infer_ising(J, B, "belief_propagation", tol=NEVER, max_iter=100)
    )
    print(f"belief propagation: {n_spins} spins, {n_edges} edges: {seconds:.2f} s")
    return Claim("100 sweeps, seconds", seconds, 10.0)


def kernel_seconds(name, compiled_task, reference_task, n_runs):
    """Seconds of the runs of a kernel, compiled and in NumPy, in turns."""
    ours, theirs = [], []
    for _ in range(n_runs):
        ours.append(seconds_of(compiled_task))
        theirs.append(seconds_of(reference_task))
    figures = 1e3 * median(ours), 1e3 * median(theirs)
    print(f"{name}: {figures[0]:.3f} ms compiled, {figures[1]:.3f} ms in NumPy")
    return ours, theirs


def claim_messages(n_spins, n_runs):
    """Time one sweep of messages on three graphs, compiled and in NumPy."""
    sizes, ours = [n_spins // 4, n_spins // 2, n_spins], []
    for size in sizes:
        rng = np.random.default_rng(0)
        first, second, coupling = random_graph(rng, size, 3 * size)
        graph = first, second, coupling, fields(rng, size)
        messages = 0.1 * rng.standard_normal(6 * size)
        own, other = kernel_seconds(
            f"messages over {3 * size} edges",
            lambda m=messages, graph=graph: kernels.passed_messages(m, *graph),
            lambda m=messages, graph=graph: reference.passed_messages(m, *graph),
            10 * n_runs,
        )
        ours.append(min(own))
    growth = np.polyfit(np.log(sizes), np.log(ours), 1)[0]
    return [
        Claim("messages, times NumPy's speed", median(other) / median(own), 1.5, ">="),
        Claim("growth in the number of edges", growth, 1.3),
    ]


def claim_gibbs(n_spins, n_chains, n_runs):
    """Time sweeps over many chains, compiled and in NumPy."""
    rng = np.random.default_rng(0)
    J = spin_glass(rng, n_spins, 0.5)
    spins = rng.choice((-1.0, 1.0), size=(n_spins, n_chains))
    local = spins.T @ J + fields(rng, n_spins)
    uniforms = rng.random((100, spins.size))

    def sweep_by(module):
        chains, own = spins.copy(), local.copy()
        for numbers in uniforms:
            module.gibbs_sweep(chains, own, J, numbers)

    ours, theirs = kernel_seconds(
        f"100 sweeps over {n_spins} spins in {n_chains} chains",
        lambda: sweep_by(kernels),
        lambda: sweep_by(reference),
        n_runs,
    )
    return Claim(
        "Gibbs sweeps, times NumPy's speed", median(theirs) / median(ours), 5.0, ">="
    )


def sum_states(J, B):
    """Sum over all states at once: the textbook's way."""
    n = len(B)
    states = 1.0 - 2.0 * ((np.arange(1 << n)[:, np.newaxis] >> np.arange(n)) & 1)
    logs = 0.5 * np.einsum("si,si->s", states @ J, states) + states @ B
    masses = np.exp(logs - logs.max())
    return masses @ states / masses.sum()


def eliminate_by_pgmpy(J, B):
    """Magnetisations by pgmpy, one query after the other."""
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteMarkovNetwork

    network = DiscreteMarkovNetwork()
    names = [f"x{i}" for i in range(len(B))]
    network.add_nodes_from(names)
    for i, name in enumerate(names):
        network.add_factors(DiscreteFactor([name], [2], np.exp([-B[i], B[i]])))
    for i, j in np.argwhere(np.triu(J)):
        network.add_edge(names[i], names[j])
        table = np.exp(J[i, j] * np.array([[1.0, -1.0], [-1.0, 1.0]]))
        network.add_factors(DiscreteFactor([names[i], names[j]], [2, 2], table))
    eliminate = VariableElimination(network)
    tables = [eliminate.query([name], show_progress=False).values for name in names]
    return np.array([(up - down) / (up + down) for down, up in tables])


def show_small_models():
    """Print the seconds of all ways to the magnetisations of small models."""
    rng = np.random.default_rng(0)
    table = Table({"model": "<12", "way": "<24", "seconds": ">9.4f", "error": ">9.1e"})
    models = {
        "SK, 18": spin_glass(rng, N_STATES, 0.5),
        "grid, 4 x 4": grid(rng, 4, 0.5),
        "grid, 10 x 10": grid(rng, 10, 0.5),
    }
    if find_spec("pgmpy"):
        # The first call pays for the import.
        eliminate_by_pgmpy(np.zeros((2, 2)), np.zeros(2))
    for name, J in models.items():
        B = fields(rng, len(J))
        exact = infer_ising(J, B, "exact").magnetisations
        ways = {
            f"odalib, {method}": lambda m=method, J=J, B=B: (
                infer_ising(J, B, m).magnetisations
            )
            for method in ("exact", "belief_propagation", "adaptive_tap")
        }
        if len(B) <= N_STATES:
            ways["all states at once"] = lambda J=J, B=B: sum_states(J, B)
        if find_spec("pgmpy") and name.startswith("grid"):
            ways["pgmpy, elimination"] = lambda J=J, B=B: eliminate_by_pgmpy(J, B)
        for way, task in ways.items():
            start = perf_counter()
            magnetisations = task()
            seconds = perf_counter() - start
            table.row(name, way, seconds, np.abs(magnetisations - exact).max())
    if not find_spec("pgmpy"):
        print("pgmpy is not installed, and left out")


def main(arguments=None):
    """Run the benchmark and return the exit status."""
    parser = argument_parser("ising_speed", __doc__)
    parser.add_argument("--spins", type=int, default=1000, help="of the dense model")
    parser.add_argument("--nodes", type=int, default=100_000, help="of the graph")
    parser.add_argument("--runs", type=int, default=5, help="turns of the claims")
    options = parser.parse_args(arguments)
    with threadpool_limits(1):
        show_small_models()
        claims = [
            claim_iteration(options.spins, options.runs),
            claim_sweeps(options.nodes, 3 * options.nodes),
            *claim_messages(options.nodes, options.runs),
            claim_gibbs(100, 32, options.runs),
        ]
    scope = f"{options.spins} and {options.nodes} spins, {options.runs} runs"
    return conclude(claims, scope, options.strict)


if __name__ == "__main__":
    sys.exit(main())

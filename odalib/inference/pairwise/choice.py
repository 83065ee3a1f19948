"""``method='auto'``: which method, and why."""

from odalib.inference.ep.solve import AUTOMATIC, fits
from odalib.inference.pairwise import adaptive_tap as gaussian
from odalib.inference.pairwise.belief_propagation import belief_propagation
from odalib.inference.pairwise.elimination import tree_width
from odalib.inference.pairwise.exact import MOST_SPINS
from odalib.inference.pairwise.exact_solution import exact

__all__ = ["infer_automatically"]

# Elimination is used without being asked for up to so many neighbours of a spin that
# goes, and looked for up to so many edges.
NARROW, MOST_EDGES = 12, 20_000
# Messages are nearly independent where spins have so few neighbours, on average.
SPARSE_DEGREE = 4.0


def infer_automatically(couplings, site, **limits):
    """Take the most exact method that is affordable; another where it stalls.

    Returns
    -------
    Estimate
    reason : str
    """
    if site is not None:
        estimate = gaussian.adaptive_tap(couplings, site=site, **limits)
        return estimate, f"site=: only the EP methods serve it{stalls(estimate)}"
    affordable = exact_reason(couplings)
    if affordable is not None:
        return exact(couplings), affordable
    degree = 2.0 * len(couplings.edges[0]) / couplings.n_spins
    too_many = couplings.n_spins > gaussian.LARGEST
    if degree <= SPARSE_DEGREE or too_many:
        estimate = belief_propagation(couplings, **limits)
        reason = (
            f"more than {gaussian.LARGEST} spins"
            if too_many
            else f"sparse: {degree:.1f} neighbours of a spin on average"
        )
        if too_many or not estimate.failure:
            return estimate, reason
        reason += "; belief propagation did not converge"
    else:
        reason = f"dense: {degree:.1f} neighbours of a spin on average"
    estimate = gaussian.adaptive_tap(couplings, **limits)
    return estimate, reason + stalls(estimate)


def stalls(estimate):
    """Say which solvers stalled, where some did."""
    if estimate.failure:
        problem = estimate.solution.inference.problem
        tried = ", ".join(name for name in AUTOMATIC if fits(name, problem))
        return f"; no solver of expectation propagation converged of {tried}"
    if estimate.method != "double_loop":
        return ""
    return "; parallel and sequential expectation propagation did not converge"


def exact_reason(couplings):
    """Why exact inference is affordable, or None."""
    if couplings.n_spins <= MOST_SPINS:
        return f"exact is affordable: at most {MOST_SPINS} spins"
    if couplings.is_forest:
        return "exact is affordable: a graph without loops"
    if len(couplings.edges[0]) > MOST_EDGES:
        return None
    width = tree_width(couplings)
    if width is None or width > NARROW:
        return None
    return f"exact is affordable: a graph of tree-width at most {width}"

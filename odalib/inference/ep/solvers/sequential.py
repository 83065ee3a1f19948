"""Sequential expectation propagation: sites one after the other, by blocks."""

import numpy as np

from odalib.inference.ep.gaussians.model import LostDefiniteness
from odalib.inference.ep.likelihood import Cavity
from odalib.inference.ep.solvers.copies import match_copies
from odalib.inference.ep.solvers.problem import Run, Sites, Solver

__all__ = ["BLOCK", "Sequential", "SinglePass", "sweep"]

# Sites of a block: few enough that the inner problem is cheap beside the rest.
BLOCK = 64
# Sweeps without halving the residual after which there is no hope that they will.
STALLED = 60


class Sequential(Solver):
    """Sweeps over the sites; each sees the posterior that the one before it left.

    Within a block only the block's own marginals follow every site, and all others
    follow once at its end: the iterates are those of one site at a time, for a
    fraction of the memory traffic. A site whose cavity is improper waits for the
    next sweep, which starts from a fresh factorisation.

    Needs no damping. All copies of a site are matched at once, to each other too.

    Parameters
    ----------
    block_size : int
        1 is a rank-one update of the posterior for every site.
    """

    def __init__(self, block_size):
        self.block_size = block_size

    def run(self, problem, sites, tol, max_iter):
        iterate = problem.iterate(problem.first_sites() if sites is None else sites)
        # Sites to start from may be those looked for.
        residuals = [] if sites is None else [problem.residual(iterate)]
        n_improper, best, waited = 0, np.inf, 0
        while len(residuals) < max_iter and not (residuals and residuals[-1] <= tol):
            if waited == STALLED:
                break
            try:
                sites, skipped = sweep(problem, iterate, self.block_size)
                following = problem.iterate(sites)
            except LostDefiniteness:
                # The same would be lost again: the last iterate is all there is.
                residuals.append(problem.residual(iterate))
                break
            n_improper += skipped
            iterate = following
            residuals.append(problem.residual(iterate))
            waited += 1
            if residuals[-1] <= best / 2:
                best, waited = residuals[-1], 0
        return Run(iterate, residuals, residuals[-1] <= tol, n_improper)


class SinglePass(Solver):
    """Assumed density filtering: one sweep from no sites, where cavity = posterior.

    The result depends on the order of the sites, and so does its evidence.
    """

    def run(self, problem, sites, tol, max_iter):
        iterate = problem.iterate(problem.first_sites())
        sites, skipped = sweep(problem, iterate, BLOCK)
        return Run(problem.iterate(sites), [], True, skipped)


@np.errstate(over="ignore", invalid="ignore")
def sweep(problem, iterate, block_size):
    """Match every site once, in order.

    Returns
    -------
    sites : Sites
        Perhaps not finite, where moments are more than floats hold.
    n_improper : int
        Sites passed over.
    """
    posterior = iterate.posterior.moving()
    precision = iterate.sites.precision.copy()
    shift = iterate.sites.shift.copy()
    n_improper = 0
    for start in range(0, len(precision), block_size):
        block = slice(start, start + block_size)
        before = precision[block].copy(), shift[block].copy()
        n_improper += match_block(
            problem,
            posterior.local(block),
            block,
            precision[block],
            shift[block],
        )
        counts = problem.counts[block]
        posterior.update(
            block,
            counts * (precision[block] - before[0]),
            counts * (shift[block] - before[1]),
        )
    return Sites(precision, shift), n_improper


def match_block(problem, local, block, precision, shift):
    """Match the sites of a block one after the other, in place; count improper ones."""
    moments = local.dense()
    if moments is not None and (problem.counts[block] == 1.0).all():
        skipped = problem.likelihood.match_in_turn(*moments, block, precision, shift)
        if skipped is not None:
            return skipped
    n_improper = 0
    for i in range(len(precision)):
        site = slice(i, i + 1)
        mean, variance = local.block(site)
        cavity = Cavity.of(mean, variance[0], precision[site], shift[site])
        if problem.improper(cavity)[0]:
            n_improper += 1
            continue
        number = slice(block.start + i, block.start + i + 1)
        matched = match_site(problem, cavity, number, precision[i], shift[i])
        sharpened, moved = matched[0] - precision[i], matched[1] - shift[i]
        precision[i], shift[i] = matched
        if len(precision) > 1:
            counts = problem.counts[number]
            local.update(site, counts * sharpened, counts * moved)
    return n_improper


def match_site(problem, cavity, number, precision, shift):
    """Precision and shift of one copy that match, given those it has now."""
    likelihood, count = problem.likelihood, problem.counts[number][0]
    match = likelihood.match(cavity, number)
    site = match.precision[0], match.shift[0]
    if count == 1.0 or not (likelihood.log_concave and site[0] > 0):
        return site
    if cavity.posterior_variance[0] == 0:
        return site
    rest = (
        cavity.precision[0] - (count - 1.0) * precision,
        cavity.shift[0] - (count - 1.0) * shift,
    )
    return match_copies(
        likelihood, number.start, count, rest, match, (precision, shift)
    )

"""Sequential expectation propagation: sites one after the other, by blocks."""

import numpy as np

from odalib.inference.ep.likelihood import Cavity
from odalib.inference.ep.solvers.problem import Run, Sites, Solver

__all__ = ["Sequential", "SinglePass"]


class Sequential(Solver):
    """Sweeps over the sites; each sees the posterior that the one before it left.

    Within a block only the block's own marginals follow every site, and all others
    follow once at its end: the iterates are those of one site at a time, for a
    fraction of the memory traffic. Needs no damping. A site whose cavity is
    improper waits for the next sweep, which starts from a fresh factorisation.

    Parameters
    ----------
    block_size : int
        1 is a rank-one update of the posterior for every site.
    """

    def __init__(self, block_size):
        self.block_size = block_size

    def run(self, problem, sites, tol, max_iter):
        sites = problem.first_sites() if sites is None else sites
        residuals: list[float] = []
        n_improper = 0
        while len(residuals) < max_iter:
            iterate = problem.iterate(sites)
            improper = problem.improper(iterate.cavity)
            if not improper.any():
                match = problem.likelihood.match(iterate.cavity)
                residuals.append(iterate.residual(match))
                if residuals[-1] <= tol:
                    return Run(iterate, residuals, True, n_improper)
            else:
                residuals.append(np.inf)
            sites, skipped = sweep(problem, iterate, self.block_size)
            n_improper += skipped
        return Run(problem.iterate(sites), residuals, False, n_improper)


class SinglePass(Solver):
    """Assumed density filtering: one sweep from no sites, where cavity = posterior.

    The result depends on the order of the sites, and so does its evidence.
    """

    def run(self, problem, sites, tol, max_iter):
        iterate = problem.iterate(problem.first_sites())
        sites, skipped = sweep(problem, iterate, block_size=64)
        return Run(problem.iterate(sites), [], True, skipped)


def sweep(problem, iterate, block_size):
    """Match every site once, in order.

    Returns
    -------
    sites : Sites
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
            problem, posterior.local(block), block, precision[block], shift[block]
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
    n_improper = 0
    for i in range(len(precision)):
        site = slice(i, i + 1)
        mean, variance = local.block(site)
        cavity = Cavity.of(mean, variance[0], precision[site], shift[site])
        if problem.improper(cavity)[0]:
            n_improper += 1
            continue
        number = slice(block.start + i, block.start + i + 1)
        match = problem.likelihood.match(cavity, number)
        counts = problem.counts[number]
        if len(precision) > 1:
            local.update(
                site,
                counts * (match.precision - precision[site]),
                counts * (match.shift - shift[site]),
            )
        precision[site], shift[site] = match.precision, match.shift
    return n_improper

"""All mutations."""

from tests.mutations import annealing, compiled, pairwise, propagation, streams

__all__ = ["MUTATIONS"]

MUTATIONS = tuple(
    mutation
    for module in (annealing, compiled, propagation, pairwise, streams)
    for mutation in module.MUTATIONS
)

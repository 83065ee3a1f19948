"""What all distributed estimators are: the one for memory, and where rows are."""

from typing import Any

__all__ = ["DistributedEstimator"]


class DistributedEstimator:
    """Base of the distributed estimators.

    Not an estimator of scikit-learn: it holds the parameters of one and a client, and
    ``fit`` returns that estimator, fitted.

    Attributes
    ----------
    estimator : estimator
        Unfitted, with the parameters that were given.
    client : distributed.Client or None
    n_rounds_ : int
        Rounds of the last fit.
    bytes_moved_ : int
        Bytes that they moved at the most.
    """

    estimator: Any
    client: Any
    n_rounds_: int
    bytes_moved_: int

    def __repr__(self):
        return f"odalib.distributed.{self.estimator!r}"

    def _note_costs(self, blocks):
        """Tell what the rounds of a fit have cost."""
        # At once, so that an interrupt leaves both as they were.
        vars(self).update(n_rounds_=blocks.rounds, bytes_moved_=blocks.bytes_moved)

"""Weights where a unit of weight is an update."""

__all__ = ["check_updates"]

# Of more than these besides one for every row, the unit of the weights is a mistake.
MAX_COPIES = 1e7


def check_updates(weights):
    """Refuse weights that ask for more updates than anybody means.

    Parameters
    ----------
    weights : array of shape (n,)

    Raises
    ------
    ValueError
        Where they sum to 1e7 more than there are rows.
    """
    total = weights.sum()
    if total - len(weights) > MAX_COPIES:
        raise ValueError(
            f"sample_weight sums to {total:.3g} for {len(weights)} rows, and a unit of "
            "weight is an update; divide it, so that its sum exceeds the number of "
            f"rows by {MAX_COPIES:.0e} at the most."
        )

"""Weights where a unit of weight is an update, or stands beside a penalty."""

__all__ = ["check_beside_penalty", "check_updates"]

# Weights of all rows whose ratio to that of a penalty has digits either way.
SMALLEST_TOTAL, LARGEST_TOTAL = 1e-100, 1e100
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


def check_beside_penalty(weights):
    """Raise ValueError for weights beside which a penalty is zero or infinite.

    Parameters
    ----------
    weights : array of shape (n,)
    """
    total = float(weights.sum())
    if not SMALLEST_TOTAL < total < LARGEST_TOTAL:
        raise ValueError(
            f"sample_weight sums to {total:.3g}, beside which the penalty, of the "
            f"weight of some rows, has no digits; scale sample_weight to between "
            f"{SMALLEST_TOTAL:.0e} and {LARGEST_TOTAL:.0e}."
        )

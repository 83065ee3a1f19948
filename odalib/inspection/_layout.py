"""Places of the nodes of a graph in a picture, and of their names."""

import numpy as np

__all__ = ["circle", "corner", "name_directions", "stress", "stress_layout"]

# Rounds of majorisation, which ends earlier where a round gains next to nothing.
MAX_ROUNDS, GAIN_TOL = 500, 1e-6
# In lengths of the shortest edge: the longest, and how much farther apart nodes without
# a path between them are than the farthest with one.
LONGEST, APART = 2.0, 0.5
# Where a name may stand: around its node, clockwise from above.
COMPASS = 16
# Sweeps over all names, and the least cosine between where a name stands and where it
# would be away from other nodes.
SWEEPS, LEAST_COSINE = 3, 0.3
# In areas that names share: to turn a name, and to hide a part of a node.
TURN, HIDDEN = 20.0, 8.0


def circle(n_nodes):
    """Places on the unit circle, clockwise from the top, (n_nodes, 2)."""
    angle = 2.0 * np.pi * np.arange(n_nodes) / n_nodes
    return np.column_stack([np.sin(angle), np.cos(angle)])


def stress_layout(strength):
    """Places whose distances are near those along the graph, (n_nodes, 2).

    From those of classical scaling, the stress is majorised: every round places each
    node where those of the others want it on average, and none makes the stress larger.

    Parameters
    ----------
    strength : array of shape (n_nodes, n_nodes)
        Of the edges, symmetric and not negative; zero where there is none. An edge is
        the shorter the stronger it is.

    References
    ----------
    E. Gansner, Y. Koren and S. North, "Graph drawing by stress majorization", GD 2004.
    """
    wanted = _graph_distances(strength)
    n_nodes = len(wanted)
    if n_nodes < 3:
        return _within_unit_circle(circle(n_nodes))
    # A little of the circle, since nodes that are in one place would stay there.
    places = _classical_scaling(wanted) + 1e-3 * circle(n_nodes)
    weights = wanted + np.eye(n_nodes)
    weights = weights**-2.0 * (1.0 - np.eye(n_nodes))
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian, hermitian=True)
    before = stress(places, wanted, weights)
    for _ in range(MAX_ROUNDS):
        places = _guttman(places, wanted, weights, inverse)
        after = stress(places, wanted, weights)
        if before - after <= GAIN_TOL * before:
            break
        before = after
    return _within_unit_circle(places)


def _classical_scaling(wanted):
    """Places along the two leading axes of all distances."""
    centring = np.eye(len(wanted)) - 1.0 / len(wanted)
    values, vectors = np.linalg.eigh(-centring @ wanted**2 @ centring / 2.0)
    values, vectors = values[-2:], vectors[:, -2:]
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[largest, [0, 1]]) * np.sqrt(values.clip(0.0))


def stress(places, wanted, weights):
    """Weighted sum of squared errors of all distances."""
    return float((weights * (_distances(places) - wanted) ** 2).sum() / 2.0)


def _guttman(places, wanted, weights, inverse):
    """Places that minimise a quadratic function above the stress, which touches it."""
    distances = _distances(places)
    pull = np.zeros_like(distances)
    np.divide(weights * wanted, distances, out=pull, where=distances > 0.0)
    return inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ places)


def _distances(places):
    difference = places[:, None, :] - places[None, :, :]
    return np.sqrt((difference**2).sum(axis=2))


def _graph_distances(strength):
    """Lengths of the shortest paths, finite, (n_nodes, n_nodes)."""
    largest = strength.max(initial=0.0)
    lengths = np.full(strength.shape, np.inf)
    is_edge = strength > 0.0
    lengths[is_edge] = np.minimum(np.sqrt(largest / strength[is_edge]), LONGEST)
    np.fill_diagonal(lengths, 0.0)
    for node in range(len(lengths)):
        through = lengths[:, node, None] + lengths[None, node, :]
        np.minimum(lengths, through, out=lengths)
    is_finite = np.isfinite(lengths)
    apart = lengths[is_finite].max(initial=0.0) + APART
    return np.where(is_finite, lengths, apart)


def _within_unit_circle(places):
    """Places about their centre, the farthest at a distance of one."""
    places = places - places.mean(axis=0)
    return places / (np.sqrt((places**2).sum(axis=1)).max() or 1.0)


def name_directions(places, sizes, gap):
    """Choose on which side of its node each name stands, to overlap least.

    By turns each name takes the best of those of sixteen directions that lead away from
    other nodes, while other names stay.

    Parameters
    ----------
    places : array of shape (n, 2)
        Of the nodes, in points.
    sizes : array of shape (n, 2)
        Width and height of the names, in points.
    gap : float
        From a node to its name, in points.

    Returns
    -------
    directions : array of shape (n, 2)
        Unit vectors.
    """
    compass = circle(COMPASS)
    cosines = _away_from_others(places) @ compass.T
    corners = np.stack(
        [corner(places + gap * side, sizes, side) for side in compass], axis=1
    )
    nodes, node_sizes = places - gap / 2.0, np.full_like(sizes, gap)
    own_costs = np.where(cosines < LEAST_COSINE, np.inf, TURN * (1.0 - cosines))
    for name in range(len(places)):
        others = np.arange(len(places)) != name
        hidden = _overlap(corners[name], sizes[name], nodes[others], node_sizes[others])
        own_costs[name] += HIDDEN * hidden
    # By turns from either end, since from one it may end where no single move helps.
    orders = np.arange(len(places)), np.arange(len(places))[::-1]
    found = [_by_turns(order, own_costs, corners, sizes) for order in orders]
    return compass[min(found, key=lambda choice: choice[1])[0]]


def shared_area(places, sizes, gap, directions):
    """Area that names beside their nodes share with each other, in square points.

    Parameters
    ----------
    places : array of shape (n, 2)
        Of the nodes, in points.
    sizes : array of shape (n, 2)
        Width and height of the names, in points.
    gap : float
        From a node to its name, in points.
    directions : array of shape (n, 2)
        Those of `name_directions`.

    Returns
    -------
    area : float
    """
    corners = corner(places + gap * directions, sizes, directions)
    return sum(
        float(_overlap(corners[[n]], sizes[n], corners[:n], sizes[:n])[0])
        for n in range(len(places))
    )


def _by_turns(order, own_costs, corners, sizes):
    """Choose for each name while others stay, and again; choices and their cost."""
    everyone = np.arange(len(order))
    chosen = own_costs.argmin(axis=1)
    for _ in range(SWEEPS):
        total = 0.0
        for name in order:
            others = everyone != name
            boxes = corners[everyone, chosen][others]
            cost = own_costs[name] + _overlap(
                corners[name], sizes[name], boxes, sizes[others]
            )
            chosen[name] = np.argmin(cost)
            total += cost[chosen[name]]
    return chosen, total


def corner(anchors, sizes, side):
    """Lower left corners of boxes that stand on a side of their anchors, (n, 2)."""
    return anchors - sizes * (1.0 - np.sign(np.round(side, 6))) / 2.0


def _overlap(corners, size, others, other_sizes):
    """Area that boxes of one size share with others, summed over these."""
    upper = np.minimum((corners + size)[:, None], others + other_sizes)
    lower = np.maximum(corners[:, None], others)
    return np.maximum(upper - lower, 0.0).prod(axis=2).sum(axis=1)


def _away_from_others(places):
    """Point from each place away from others, the near ones first; unit vectors."""
    difference = places[:, None, :] - places[None, :, :]
    distance = _distances(places)
    push = np.zeros_like(distance)
    np.divide(1.0, distance**3, out=push, where=distance > 0.0)
    away = (push[:, :, None] * difference).sum(axis=1)
    length = np.hypot(*away.T)[:, None]
    is_pushed = length > 1e-9 * (push.sum(axis=1) ** (2.0 / 3.0))[:, None]
    return np.where(is_pushed, away / np.where(is_pushed, length, 1.0), [0.0, 1.0])

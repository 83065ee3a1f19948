"""Algorithm 1 of online deterministic annealing: slow, obvious, in plain Python.

A codebook is a list of ``[rho, sigma]`` pairs, ``mu = sigma / rho``; the divergence
enters as ``d(x, mu)`` and in no other way. At every temperature: perturb all
codevectors, pass over the rows until none moves, merge those that did not part, drop
the idle ones, cool.
"""

import math
from dataclasses import dataclass

__all__ = ["Record", "Rule", "algorithm1", "mean_step"]


@dataclass(frozen=True)
class Rule:
    """Thresholds, named as in the paper, and the step rule.

    A codevector may move by ``epsilon_c`` temperatures, and by that share of the
    divergence to its nearest neighbour: a pair that parts slowly is waited for. But a
    pair nearer than ``fallen_back`` of the merging distance has fallen back together.

    ``online`` takes one row at a time with step ``1 / (age + 1)``, ``age`` rows
    counting for the codebook that a temperature starts with; otherwise every pass is
    one step to the conditional means.
    """

    gamma: float
    epsilon_c: float
    epsilon_n: float
    epsilon_r: float
    fallen_back: float
    k_max: int
    t_min: float
    max_passes: int
    online: bool
    age: float = 0.0


@dataclass(frozen=True)
class Record:
    temperature: float
    points: list
    weights: list
    n_passes: int


def mean(codevector):
    rho, sigma = codevector
    return [s / rho for s in sigma]


def association(d, x, codebook, temperature):
    logs = [math.log(rho) - d(x, mean((rho, s))) / temperature for rho, s in codebook]
    largest = max(logs)
    odds = [math.exp(value - largest) for value in logs]
    return [odd / math.fsum(odds) for odd in odds]


def online_pass(d, rows, codebook, temperature, age):
    """Stochastic approximation, row by row."""
    for x in rows:
        age += 1.0
        step = 1.0 / age
        p = association(d, x, codebook, temperature)
        codebook = [
            [
                rho + step * (p_i - rho),
                [s + step * (p_i * x_j - s) for s, x_j in zip(sigma, x, strict=True)],
            ]
            for p_i, (rho, sigma) in zip(p, codebook, strict=True)
        ]
    return codebook, age


def mean_step(d, rows, codebook, temperature):
    """One step to mean associations and conditional means over all rows."""
    associations = [association(d, x, codebook, temperature) for x in rows]
    n, n_features = len(rows), len(rows[0])
    return [
        [
            math.fsum(p[i] for p in associations) / n,
            [
                math.fsum(p[i] * x[j] for p, x in zip(associations, rows, strict=True))
                / n
                for j in range(n_features)
            ],
        ]
        for i in range(len(codebook))
    ]


def nearest_other(d, codebook, i):
    others = [mean(c) for j, c in enumerate(codebook) if j != i]
    mu = mean(codebook[i])
    return min((min(d(mu, nu), d(nu, mu)) for nu in others), default=math.inf)


def allowed(d, codebook, i, temperature, rule):
    nearest = nearest_other(d, codebook, i)
    if nearest < rule.fallen_back * rule.epsilon_n * temperature:
        nearest = math.inf
    return rule.epsilon_c * min(temperature, nearest)


def converge(d, rows, codebook, temperature, rule):
    """Pass over the rows until no codevector moves, relative to T and neighbours."""
    age, n_passes, moving = rule.age, 0, True
    while moving and n_passes < rule.max_passes:
        n_passes += 1
        before = codebook
        if rule.online:
            codebook, age = online_pass(d, rows, codebook, temperature, age)
        else:
            codebook = mean_step(d, rows, codebook, temperature)
        left = drop_idle(codebook, rule.epsilon_r)
        if len(left) < len(codebook):
            codebook = left
            continue
        moving = any(
            d(mean(new), mean(old)) > allowed(d, codebook, i, temperature, rule)
            for i, (new, old) in enumerate(zip(codebook, before, strict=True))
        )
    return codebook, n_passes


def drop_idle(codebook, epsilon_r):
    kept = [c for c in codebook if c[0] >= epsilon_r]
    total = math.fsum(rho for rho, _ in kept)
    return [[rho / total, [s / total for s in sigma]] for rho, sigma in kept]


def merge_unparted(d, codebook, temperature, epsilon_n):
    """Merge the closest pair until all are ``epsilon_n`` temperatures apart."""
    codebook = list(codebook)
    while len(codebook) > 1:
        pairs = [(i, j) for i in range(len(codebook)) for j in range(i)]
        closeness, i, j = min(
            (
                min(
                    d(mean(codebook[i]), mean(codebook[j])),
                    d(mean(codebook[j]), mean(codebook[i])),
                ),
                i,
                j,
            )
            for i, j in pairs
        )
        if closeness / temperature >= epsilon_n:
            break
        (rho, sigma), (other_rho, other_sigma) = codebook[j], codebook.pop(i)
        codebook[j] = [
            rho + other_rho,
            [a + b for a, b in zip(sigma, other_sigma, strict=True)],
        ]
    return codebook


def double(codebook, displacements):
    """Two of half the weight for each codevector, to either side: firsts, seconds."""
    doubled = []
    for sign in (1.0, -1.0):
        for (rho, sigma), shift in zip(codebook, displacements, strict=True):
            moved = [s / rho + sign * v for s, v in zip(sigma, shift, strict=True)]
            doubled.append([rho / 2.0, [rho / 2.0 * m for m in moved]])
    return doubled


def algorithm1(d, rows, temperature, rule, displacement, between_levels=None):
    """Codebooks of all temperatures.

    Parameters
    ----------
    d : callable
        Divergence of two points.
    rows : list of list of float
    temperature : float
        Of the first level.
    rule : Rule
    displacement : callable
        Number of the level and codebook to one displacement per codevector.
    between_levels : callable, default=None
        ``(d, rows, codebook, temperature)`` to the codebook that the next level
        begins with; None goes on from the one it has.

    Returns
    -------
    list of Record
    """
    n = len(rows)
    average = [math.fsum(x[j] for x in rows) / n for j in range(len(rows[0]))]
    codebook, records = [[1.0, average]], []
    while temperature >= rule.t_min and len(codebook) < rule.k_max:
        codebook = double(codebook, displacement(len(records), codebook))
        codebook, n_passes = converge(d, rows, codebook, temperature, rule)
        codebook = merge_unparted(d, codebook, temperature, rule.epsilon_n)
        points, weights = [mean(c) for c in codebook], [rho for rho, _ in codebook]
        records.append(Record(temperature, points, weights, n_passes))
        if between_levels is not None and len(codebook) < rule.k_max:
            codebook = between_levels(d, rows, codebook, temperature)
        codebook = drop_idle(codebook, rule.epsilon_r)
        temperature *= rule.gamma
    return records

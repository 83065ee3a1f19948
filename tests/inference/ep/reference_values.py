"""Values that another implementation of expectation propagation gave, and exact ones.

Expectation propagation converged to 1e-6 or better. The exact values are a dense grid
(A and B), randomised quasi-Monte-Carlo with standard error 7e-5 (C) and orthant
probabilities.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = [
    "FIVE_LATENT_VALUES",
    "FIVE_LATENT_VALUES_GRADIENT",
    "FIVE_POINTS",
    "FIVE_POINT_LABELS",
    "LOG_EVIDENCE_OF_DIGITS_3_AND_5",
    "PAIRS",
    "PROBIT_REGRESSIONS",
    "Moments",
    "ProbitRegression",
]

DATA = Path(__file__).parents[2] / "data" / "probit_regression.json"


@dataclass(frozen=True)
class Moments:
    log_evidence: float
    mean: list
    sd: list


@dataclass(frozen=True)
class ProbitRegression:
    """The first column of X is the intercept's."""

    X: np.ndarray
    y: np.ndarray
    variances: np.ndarray
    ep: Moments
    exact: Moments


def read_regression(name, variance, ep, exact):
    stored = json.loads(DATA.read_text())[name]
    features = np.array(stored["features"])
    X = np.column_stack([np.ones(len(features)), features])
    y = np.array([1.0 if label == "+" else -1.0 for label in stored["labels"]])
    return ProbitRegression(X, y, np.full(X.shape[1], variance), ep, exact)


PROBIT_REGRESSIONS = {
    "A": read_regression(
        "A",
        4.0,
        Moments(
            -18.734995614119917,
            [-0.0856451308092581, 1.3381599306358818],
            [0.26554903350713066, 0.4401023305494368],
        ),
        Moments(
            -18.72626206,
            [-0.085736, 1.339001],
            [0.266987, 0.449403],
        ),
    ),
    "B": read_regression(
        "B",
        100.0,
        Moments(
            -7.283683862284809,
            [2.6569021225936407, 14.441637835440478, -10.741999693363548],
            [1.0511682895077314, 4.054923709500077, 3.2822966445428077],
        ),
        Moments(
            -7.16106861,
            [2.635072, 14.318069, -10.612184],
            [1.166015, 5.01051, 3.907947],
        ),
    ),
    "C": read_regression(
        "C",
        1.0,
        Moments(
            -99.03582039844386,
            [
                0.1720668390577509,
                1.1369408567895452,
                -0.9067989978461042,
                0.4207453292604221,
                0.08360571866743272,
                -0.16614574842142177,
                0.741749739991698,
                -0.42668016507433504,
            ],
            [
                0.11648472319912757,
                0.1745440795607088,
                0.17391201686823993,
                0.13888461274277372,
                0.1519114205574295,
                0.15644983642952578,
                0.1760212989341543,
                0.15723428146461604,
            ],
        ),
        Moments(
            -99.02820756,
            [
                0.172095,
                1.136981,
                -0.906823,
                0.420796,
                0.083616,
                -0.166163,
                0.74172,
                -0.426692,
            ],
            [
                0.116769,
                0.175911,
                0.17479,
                0.139155,
                0.15223,
                0.15681,
                0.17682,
                0.157707,
            ],
        ),
    ),
}

# Kernel 2.25 exp(-r^2 / 8): length scale 2, signal deviation 1.5.
FIVE_POINTS = np.array(
    [
        [-1.07932, -1.83544],
        [1.15768, 2.91702],
        [3.26631, -3.85663],
        [1.79009, 0.11949],
        [-3.66051, 1.75159],
    ]
)
FIVE_POINT_LABELS = np.array([-1.0, 1.0, 1.0, 1.0, -1.0])
FIVE_LATENT_VALUES = {"ep": -3.38359489003545, "exact": -3.38347}
# With respect to the logs of length scale and signal deviation.
FIVE_LATENT_VALUES_GRADIENT = (0.0552142617551, 0.0538024122865)

# scikit-learn's digits 3 (label +1) and 5 (-1), all rows over 16, RBF kernel of length
# scale 2 and signal variance 4.
LOG_EVIDENCE_OF_DIGITS_3_AND_5 = -36.92222291

# Correlation of two noisy latent values, exact probability that both are positive, and
# what expectation propagation makes of it.
PAIRS = [
    (0.3, 0.29849334, 0.29840545),
    (0.8, 0.39758362, 0.39185141),
    (-0.6, 0.14758362, 0.14774949),
]

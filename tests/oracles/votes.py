"""Votes of codevectors for classes, row by row in plain Python.

A codevector is a point with a weight and a class. The divergence enters as
``d(x, mu)``.
"""

import math

__all__ = ["class_votes", "log_probabilities", "pulls"]


def class_votes(divergences, weights, classes, n_classes, temperature, decision):
    """Logarithm of the vote for every class, given the divergences of one row."""
    votes = []
    for code in range(n_classes):
        terms = [
            -apart / temperature + (math.log(weight) if decision == "bayes" else 0.0)
            for apart, weight, own in zip(divergences, weights, classes, strict=True)
            if own == code
        ]
        if not terms:
            votes.append(-math.inf)
        elif decision == "nearest":
            votes.append(max(terms))
        else:
            largest = max(terms)
            total = math.fsum(math.exp(term - largest) for term in terms)
            votes.append(largest + math.log(total))
    return votes


def log_probabilities(votes):
    """Logarithms that differ as the votes do, of numbers that sum to one."""
    largest = max(votes)
    total = math.fsum(math.exp(vote - largest) for vote in votes)
    return [vote - largest - math.log(total) for vote in votes]


def pulls(divergences, weights, classes, truth, temperature):
    """Association of one row with the codevectors of its class, and with all."""
    odds = [
        math.log(weight) - apart / temperature
        for apart, weight in zip(divergences, weights, strict=True)
    ]
    largest = max(odds)
    odds = [math.exp(value - largest) for value in odds]
    own = [
        odd if code == truth else 0.0 for odd, code in zip(odds, classes, strict=True)
    ]
    return (
        [odd / math.fsum(own) for odd in own],
        [odd / math.fsum(odds) for odd in odds],
    )

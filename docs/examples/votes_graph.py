"""
A graph of votes
================

Which votes go together, all others given? Draw the couplings of an Ising model.

The data are sixteen votes of the House of Representatives in 1984 and the parties, see
``docs/examples/data/SOURCES.md``. Nearly all votes are correlated, since the parties
vote against each other. A coupling tells what of a correlation is left when everything
else is known, and most are weak then::

    python docs/examples/votes_graph.py
"""

import csv
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from odalib import IsingModel
from odalib.inspection import CouplingGraphDisplay

# The folder of this script; a gallery that runs it has no __file__.
DATA = Path(sys.argv[0]).parent / "data" / "house-votes-84.csv"
CODES = {"democrat": 1.0, "republican": 0.0, "y": 1.0, "n": 0.0, "?": np.nan}
N_EDGES = 20


def read():
    """Read names of the columns and the rows: party and votes, NaN for no vote."""
    with open(DATA, newline="") as lines:
        (_, *names), *rows = csv.reader(lines)
    names = [name.replace("-", " ") for name in names]
    return ["democrat", *names], np.array([[CODES[v] for v in row] for row in rows])


def correlations(X):
    """Correlation of each pair of columns over the rows that have both."""
    return np.ma.corrcoef(np.ma.masked_invalid(X), rowvar=False).filled(np.nan)


def strong_share(matrix, at_least):
    """Share of the pairs with an entry of at least some size."""
    return (np.abs(matrix[np.triu_indices_from(matrix, 1)]) >= at_least).mean()


def main():
    """Print how many pairs are tied before and after, and draw the couplings."""
    names, X = read()
    model = IsingModel(random_state=0).fit(X)
    correlation, coupling = correlations(X), model.coupling_
    # The correlation of two spins of one coupling is the hyperbolic tangent of it.
    alone = np.tanh(coupling)
    print(f"pairs of {len(names)} columns with       a correlation of 0.3 or more")
    print(f"as it is                       {strong_share(correlation, 0.3):28.0%}")
    print(f"by their coupling alone        {strong_share(alone, 0.3):28.0%}\n")
    print("The strongest couplings:\n")
    for first, second, strength in model.edges(6, feature_names=names):
        print(f"{strength:6.2f}  {first} - {second}")

    CouplingGraphDisplay.from_estimator(model, feature_names=names, max_edges=N_EDGES)
    plt.show()


if __name__ == "__main__":
    main()

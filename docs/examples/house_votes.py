"""
Votes in the House, filled in
=============================

Learn how votes in the House go together, and tell a ballot from a third of it.

The data are sixteen votes of the members of the House of Representatives in 1984 and
their party, see ``docs/examples/data/SOURCES.md``; one vote in twenty was not cast. The
model learns from half of the members, gaps and all. Of the others it sees the party and
a third of the votes, or the votes alone, and tells the rest::

    python docs/examples/house_votes.py
"""

import csv
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from odalib import IsingModel

# The folder of this script; a gallery that runs it has no __file__.
DATA = Path(sys.argv[0]).parent / "data" / "house-votes-84.csv"
CODES = {"democrat": 1.0, "republican": 0.0, "y": 1.0, "n": 0.0, "?": np.nan}
PARTY, SEEN = 0, 1 / 3


def read():
    """Read names of the columns and the rows: party and votes, NaN for no vote."""
    with open(DATA, newline="") as lines:
        (_, *names), *rows = csv.reader(lines)
    return ["democrat", *names], np.array([[CODES[v] for v in row] for row in rows])


def scores(truth, said):
    """Accuracy and log loss of probabilities of a one."""
    p = np.clip(said, 1e-3, 1 - 1e-3)
    right = np.where(truth == 1.0, p, 1.0 - p)
    return np.mean(right > 0.5), -np.mean(np.log(right))


def without_party(X):
    """Hide the party."""
    X = X.copy()
    X[:, PARTY] = np.nan
    return X


def draw(names, test, asked, told):
    """Draw how often each vote is told right, by the model and by the party's share."""
    _, ax = plt.subplots(figsize=(8.0, 5.0), layout="constrained")
    ways = list(told.items())[:3]
    right = [
        np.ma.array((said > 0.5) == (test == 1.0), mask=~asked).mean(axis=0)[1:]
        for _, said in ways
    ]
    order = np.argsort(right[0])
    marks = (("D", "#e0701a"), ("o", "#1b3a5c"), ("|", "#8a8a8a"))
    for (name, _), shares, (marker, color) in zip(ways, right, marks, strict=True):
        ax.plot(shares[order], range(len(order)), marker, color=color, label=name)
    ax.set_yticks(range(len(order)), [names[1:][column] for column in order])
    ax.grid(axis="y", linewidth=0.4)
    ax.set_xlabel("share of hidden votes that are told right")
    ax.legend(loc="lower right", fontsize=8)


def main():
    """Print the couplings, what is told of ballots, and votes that were not cast."""
    names, X = read()
    random = np.random.default_rng(0)
    order = random.permutation(len(X))
    train, test = X[order[: len(X) // 2]], X[order[len(X) // 2 :]]
    model = IsingModel(random_state=0).fit(train)

    print("The strongest couplings:\n")
    for first, second, coupling in model.edges(6, feature_names=names):
        print(f"{coupling:6.2f}  {first} - {second}")

    seen = random.random(test.shape) < SEEN
    seen[:, PARTY] = True
    ballots = np.where(seen, test, np.nan)
    asked = ~seen & ~np.isnan(test)
    shares = [np.nanmean(train[train[:, PARTY] == p], axis=0) for p in (0.0, 1.0)]
    told = {
        "party and a third of the votes": model.transform(ballots),
        "a third of the votes": model.transform(without_party(ballots)),
        "the share of the party's yes": np.array(shares)[test[:, PARTY].astype(int)],
        "the share of all yes": np.broadcast_to(np.nanmean(train, axis=0), test.shape),
    }
    print(f"\n{asked.sum()} votes of {len(test)} other members, told from\n")
    print("                                accuracy  log loss")
    for name, probabilities in told.items():
        accuracy, loss = scores(test[asked], probabilities[asked])
        print(f"{name:30s}  {accuracy:8.3f}  {loss:8.3f}")
    party = told["a third of the votes"][:, PARTY]
    accuracy, _ = scores(test[:, PARTY], party)
    print(f"\nTheir party is told from a third of the votes for {accuracy:.1%}.")

    print("\nVotes that a member did not cast, and the probability of a yes:\n")
    gaps = np.isnan(test)
    member = int(np.argmax((gaps.sum(axis=1) > 2) & (gaps.sum(axis=1) < 6)))
    filled = model.transform(test[[member]])[0]
    print("democrat" if test[member, PARTY] else "republican")
    for column in np.flatnonzero(gaps[member]):
        print(f"{filled[column]:6.2f}  {names[column]}")
    draw(names, test, asked, told)
    plt.show()


if __name__ == "__main__":
    main()

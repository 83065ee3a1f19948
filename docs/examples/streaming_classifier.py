"""
A streaming classifier of a CSV file
====================================

Learn from a file in chunks, score every chunk before it is learnt, and survive a crash.

The file holds handwritten digits, written here from scikit-learn's data; think of one
too large for memory. A pipeline scales and classifies (`odalib.streaming`), and each
row is seen once. `odalib.streaming.fit_stream` keeps checkpoints: on its way the
program dies, and a second one goes on from the last checkpoint to the same bits::

    python docs/examples/streaming_classifier.py
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import MinMaxScaler

from odalib import ADFProbitClassifier
from odalib.inspection import PrequentialDisplay
from odalib.streaming import fit_stream, make_streaming_pipeline

CHUNK = 50
DIES_AFTER = 25
DIGITS = np.arange(10)


class Crash(RuntimeError):
    """What ends the first program."""


def write(path):
    """Write the digits, a row for each and its digit in the last column."""
    digits = load_digits(as_frame=True).frame
    digits.sample(frac=1.0, random_state=0).to_csv(path, index=False)


def read(path, dies_after=None):
    """Chunks of the file; after so many, an error."""
    with pd.read_csv(path, chunksize=CHUNK) as chunks:
        for number, chunk in enumerate(chunks):
            if number == dies_after:
                raise Crash
            yield chunk


def pipeline(classifier):
    """Scaler and classifier."""
    return make_streaming_pipeline(MinMaxScaler(), classifier)


def learn(classifier, chunks, checkpoint=None):
    """Learn all chunks in order."""
    return fit_stream(
        pipeline(classifier),
        chunks,
        target="target",
        classes=DIGITS,
        scoring="accuracy",
        checkpoint=checkpoint,
        every=10,
    )


def main():
    """Learn the file with and without a crash and by a linear model, and draw."""
    with tempfile.TemporaryDirectory() as folder:
        path, checkpoint = Path(folder) / "digits.csv", Path(folder) / "state"
        write(path)
        whole = learn(ADFProbitClassifier(), read(path))
        try:
            learn(ADFProbitClassifier(), read(path, DIES_AFTER), checkpoint)
        except Crash:
            print(f"The program died after {DIES_AFTER} chunks.")
        resumed = learn(ADFProbitClassifier(), read(path), checkpoint)
        linear = learn(SGDClassifier(random_state=0), read(path))

    same = np.array_equal(whole.estimator[-1].coef_, resumed.estimator[-1].coef_)
    print(
        f"The next one skipped {resumed.n_resumed} of {resumed.n_batches} chunks and "
        f"has {'the same bits' if same else 'other bits'} as one that never died.\n"
    )
    results = {"ADFProbitClassifier": resumed, "SGDClassifier": linear}
    print("                     accuracy of rows before they were learnt")
    for name, result in results.items():
        print(f"{name:19s}  {result.scores['accuracy']:40.3f}")
    display = PrequentialDisplay.from_results(
        list(results.values()), labels=list(results), window=5
    )
    display.ax_.set_title("accuracy of the last five chunks, before they are learnt")
    plt.show()


if __name__ == "__main__":
    main()

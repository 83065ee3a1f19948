"""Laws: checks that hypothesis tries on rows it invents, for whole classes at once."""

from functools import wraps

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from .comparing import needs

seeds = st.integers(0, 2**16)
# A law is tried on each class by itself, with one in so many of the usual examples.
SHARE, SHARE_OF_SLOW = 5, 15


def law(*capabilities, kind):
    """Make a check of a function of a subject and of hypothesis's ``draw``.

    The check takes one subject or several of a class, of which every example draws
    one: so all of them are met at night, and each change costs little.
    """

    def mark(body):
        @needs(*capabilities, kind=kind)
        @wraps(body)
        def check(*subjects):
            slow = any(subject.slow for subject in subjects)
            share = SHARE_OF_SLOW if slow else SHARE

            @settings(
                max_examples=max(1, settings().max_examples // share),
                # Rows come from seeds, and none of these is simpler than another.
                phases=(Phase.reuse, Phase.generate),
                report_multiple_bugs=False,
            )
            @given(subject=st.sampled_from(subjects), data=st.data())
            def holds(subject, data):
                body(subject, data.draw)

            holds()

        return check

    return mark


def draw_cloud(subject, draw):
    """Rows without structure, and labels of all classes."""
    return subject.cloud(draw(st.integers(12, 30)), draw(seeds))


def draw_table(subject, draw):
    """Rows without structure, of which some often coincide, and labels of all."""
    X, y = draw_cloud(subject, draw)
    rng = np.random.default_rng(draw(seeds))
    if draw(st.booleans()):
        # Multiples of 1/4, so that coordinates tie; none of them is where it was not.
        X = np.where(X == 0.0, 0.0, np.copysign(np.ceil(np.abs(4.0 * X)) / 4.0, X))
    copies = rng.integers(len(X), size=(2, draw(st.integers(0, 5))))
    X[copies[0]] = X[copies[1]]
    return X, y[rng.permutation(len(y))]


def draw_groups(subject, draw):
    """Rows in groups far apart, in random order, and the group of each."""
    X, y = subject.groups(draw(st.integers(30, 60)), draw(seeds))
    order = draw_order(draw, len(X))
    return X[order], y[order]


def draw_order(draw, n_samples):
    """Order of so many rows or columns."""
    return np.random.default_rng(draw(seeds)).permutation(n_samples)


def draw_weights(draw, n_samples, values):
    """Weight of every row, one of the values."""
    return np.random.default_rng(draw(seeds)).choice(values, n_samples)


def draw_cuts(draw, n_samples):
    """Indices of rows, as the calls of a stream hold them."""
    places = st.integers(1, n_samples - 1)
    cuts = draw(st.lists(places, max_size=5, unique=True))
    return np.split(np.arange(n_samples), sorted(cuts))


def draw_stream(subject, draw):
    """Unfitted model, which learns online from few rows on where it may gather them."""
    sizes = {}
    if subject.has("batch_size"):
        sizes["batch_size"] = draw(st.sampled_from([8, 16]))
    return subject.make(**sizes)

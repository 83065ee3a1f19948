"""Peers of several scripts, each set up in one place; a peer of one stays in it."""

from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.linear_model import SGDClassifier

# The decreasing rate of the default is none for streams that drift.
CONSTANT_RATE = {"learning_rate": "constant", "eta0": 0.01}


def kmeans(n_clusters, seed=0):
    """Return KMeans with ten restarts, the quality that annealing is held against."""
    return KMeans(n_clusters, n_init=10, random_state=seed)


def mini_batch_kmeans(n_clusters):
    """Return the clusterer that learns streams."""
    return MiniBatchKMeans(n_clusters, random_state=0)


def logistic_sgd(**parameters):
    """Return the linear classifier that learns streams and predicts probabilities."""
    return SGDClassifier(loss="log_loss", random_state=0, **parameters)

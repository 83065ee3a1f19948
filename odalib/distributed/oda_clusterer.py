"""Clustering of rows that live on Dask workers."""

from odalib.distributed._annealing import DistributedAnnealer
from odalib.estimators.oda_clusterer import ODAClusterer as InMemoryClusterer

__all__ = ["ODAClusterer"]


class ODAClusterer(DistributedAnnealer):
    """Clustering by deterministic annealing of rows that live on Dask workers.

    `fit` finds what `odalib.ODAClusterer` finds for the same rows and returns one,
    fitted: with arrays inside, to be pickled and used without Dask. The rows stay where
    they are. A fit in memory anneals a sample of at most 10,000 rows, and finishes with
    a few passes over all rows; here each pass is a round, which sends the codebook to
    the workers and brings back the sums of its cells.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of codevectors. None takes the number that lasts longest as the
        temperature falls, up to ``max_clusters``.
    client : distributed.Client, default=None
        Where rows are. None takes the current client at the time of the fit.
    **parameters : dict
        Further parameters of `odalib.ODAClusterer`, with the defaults that they have
        there, except ``resolutions``, which are annealed in memory only.

    Attributes
    ----------
    estimator : odalib.ODAClusterer
        Unfitted, with the parameters that were given; a fit leaves it as it is.
    n_rounds_ : int
        Rounds of the last fit: results that the client waited for.
    bytes_moved_ : int
        Bytes that they moved at the most: what was sent to the workers, once for each,
        and what blocks and pairs of them made of it. Rows are not among it.

    See Also
    --------
    predict, predict_proba, transform : Lazy, block by block.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from odalib.distributed import ODAClusterer, predict
    >>> client = Client(processes=False, dashboard_address=":0")
    >>> random = da.random.default_rng(0)
    >>> X = random.normal(size=(12_000, 2), chunks=(4_000, 2))
    >>> X = X + 20.0 * random.integers(2, size=(12_000, 1), chunks=(4_000, 1))
    >>> clusterer = ODAClusterer(n_clusters=2, random_state=0).fit(X)
    >>> sorted(clusterer.cluster_centers_.round().astype(int).tolist())
    [[0, 0], [20, 20]]
    >>> labels = predict(clusterer, X)
    >>> labels.chunks
    ((4000, 4000, 4000),)
    >>> client.close()
    """

    def __init__(self, n_clusters=None, *, client=None, **parameters):
        self.estimator = InMemoryClusterer(n_clusters, **parameters)
        self.client = client

    def fit(self, X, y=None, sample_weight=None):
        """Anneal a sample of the rows, and finish on all of them.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Of one block of columns; chunk sizes may be unknown and partitions empty.
            Columns that are all float32 stay so. What is not persisted is read once.
        y : Ignored
            Present for the interface of scikit-learn.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Cut into blocks as X is. A weight of w is w copies of the row; zero leaves
            it out.

        Returns
        -------
        clusterer : odalib.ODAClusterer
            Fitted. It has no ``labels_`` and ``inertia_``, which would be as long as X
            or take a pass: `predict` gives the labels lazily.

        Raises
        ------
        ValueError
            As `odalib.ODAClusterer.fit` does; for X and ``sample_weight`` cut into
            different blocks, several blocks of columns, and no client or a closed one.
        TypeError
            For what is no dense Dask collection.

        Warns
        -----
        ConvergenceWarning
            As `odalib.ODAClusterer.fit` does.
        """
        return self._fit(X, None, sample_weight)

"""Classification of rows that live on Dask workers."""

from dataclasses import replace

import numpy as np

from odalib.distributed._annealing import DistributedAnnealer
from odalib.distributed._ground import added, distant_ground
from odalib.distributed._labels import (
    codes_of,
    in_one_dimension,
    join_labels,
    labels_of,
)
from odalib.estimators._labels import classes_of, read_labels
from odalib.estimators._metric import check_metric
from odalib.estimators.oda_classifier import ODAClassifier as InMemoryClassifier
from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.census import Census
from odalib.inference.annealing.descent import nearest_child, nearest_of_group
from odalib.inference.annealing.local.polish import polish_sums, polished_by
from odalib.inference.annealing.rows import RowBlocks

__all__ = ["ODAClassifier"]


class ODAClassifier(DistributedAnnealer):
    """Classification by deterministic annealing of rows that live on Dask workers.

    `fit` returns an `odalib.ODAClassifier`, fitted: with arrays inside, to be pickled
    and used without Dask. The rows stay where they are; see `ODAClusterer`. What a fit
    in memory chooses on rows held out (the decision, the metric, its shrinkage, the
    coldness of votes, the passes of the polish) is chosen here on 12,500 distinct rows
    drawn evenly, which are as many as a fit in memory looks at: of more rows, the two
    look at other ones. The polish itself, and what the codevectors count, are of all
    rows.

    Parameters
    ----------
    n_codevectors : int, default=None
        Number of codevectors, of all classes. None takes the number that predicts rows
        held out best, up to ``max_codevectors``.
    client : distributed.Client, default=None
        Where rows are. None takes the current client at the time of the fit.
    **parameters : dict
        Further parameters of `odalib.ODAClassifier`, with the defaults that they have
        there, except ``resolutions``, which are annealed in memory only.

    Attributes
    ----------
    estimator : odalib.ODAClassifier
        Unfitted, with the parameters that were given; a fit leaves it as it is.
    n_rounds_ : int
        Rounds of the last fit: results that the client waited for.
    bytes_moved_ : int
        Bytes that they moved at the most: what was sent to the workers, once for each,
        and what blocks and pairs of them made of it. Rows are not among it.

    See Also
    --------
    predict, predict_proba : Lazy, block by block.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from odalib.distributed import ODAClassifier, predict
    >>> client = Client(processes=False, dashboard_address=":0")
    >>> random = da.random.default_rng(0)
    >>> X = random.normal(size=(600, 2), chunks=(200, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> classifier = ODAClassifier(n_codevectors=8, random_state=0).fit(X, y)
    >>> labels = predict(classifier, X)
    >>> bool((labels == y).mean().compute() > 0.9)
    True
    >>> client.close()
    """

    def __init__(self, n_codevectors=None, *, client=None, **parameters):
        self.estimator = InMemoryClassifier(n_codevectors, **parameters)
        self.client = client

    def fit(self, X, y, sample_weight=None):
        """Anneal a sample of the rows, and finish on all of them.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            As `ODAClusterer.fit`.
        y : dask array or series of shape (n_samples,)
            Labels, cut into blocks as X is; a block may lack classes.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Cut into blocks as X is. A weight of w is w copies of the row; zero leaves
            it out.

        Returns
        -------
        classifier : odalib.ODAClassifier
            Fitted.

        Raises
        ------
        ValueError
            As `odalib.ODAClassifier.fit` and `ODAClusterer.fit` do.
        TypeError
            For what is no dense Dask collection.

        Warns
        -----
        ConvergenceWarning
            As `odalib.ODAClassifier.fit` does.
        """
        return self._fit(X, in_one_dimension(y), sample_weight)

    def _with_targets(self, estimator, blocks, y):
        """Blocks with the codes of classes, and weights by class."""
        if y is None:
            read_labels(estimator, None)
        check_metric(estimator, np.empty((0, blocks.n_features)))
        labels = blocks.reduce(labels_of, estimator, combine=join_labels)
        classes = classes_of(estimator, labels)
        estimator._check_number(len(classes))
        factors = np.ones(len(classes))
        if estimator.class_weight == "balanced":
            counts = blocks.reduce(_counts, estimator, classes, combine=np.add)
            factors = counts.sum() / (len(classes) * counts)
        elif estimator.class_weight is not None:
            factors = estimator._weights_by_class(classes, classes)
        blocks = blocks.remade(_encoded, estimator, classes, factors)
        return blocks, {"_labels": classes, "_announced": False}

    def _ground(self, blocks, settings, n_jobs):
        n_classes = blocks.reduce(_n_classes, combine=max)
        return distant_ground(blocks, settings, n_jobs, n_classes)

    def _learnt(self, blocks, settings, solution, partition):
        spec = settings.local_models
        vote = blocks.reduce(_vote, spec, partition, combine=_mixed)
        judged = spec.judged(partition, vote)
        codebook = partition.codebook
        for _ in range(spec.n_passes):
            sums = blocks.reduce(
                _polish_sums, codebook, judged, partition.shift, combine=added
            )
            codebook = polished_by(sums, codebook, judged[0])
        partition = replace(partition, codebook=codebook)
        census = blocks.reduce(_census, partition, combine=_counted)
        return codebook, vote, census


def _counts(block, estimator, classes):
    return np.bincount(codes_of(block, estimator, classes), minlength=len(classes))


def _encoded(block, estimator, classes, factors):
    """Block with codes for labels, its weights times the factors of their classes."""
    rows, _, weights = block
    codes = codes_of(block, estimator, classes)
    return rows, codes, weights * factors[codes]


def _n_classes(block):
    """Count the classes up to the last in a block."""
    return int(block[1].max()) + 1


def _vote(block, spec, partition):
    rows, codes, weights = block
    return spec.begin(Batch(rows, weights, codes), partition, None, 1)


def _mixed(first, second):
    """Vote of the rows of two sets of blocks."""
    weight = first.weight + second.weight
    share = second.weight / weight
    within = first.within
    if within is not None:
        within = within + share * (second.within - within)
    spread = first.spread + share * (second.spread - first.spread)
    return replace(first, within=within, spread=spread, weight=weight)


def _polish_sums(block, codebook, judged, shift):
    rows, codes, weights = block
    return polish_sums(RowBlocks(rows, weights, shift), codes, codebook, *judged)


def _census(block, partition):
    """Census of a block."""
    rows, codes, weights = block
    labels = nearest_child(rows, partition, None)
    own = nearest_of_group(rows, partition, codes, labels)
    empty = Census.empty(len(partition.codebook), 0)
    return empty.learn(Batch(rows, weights, codes), labels, own)


def _counted(first, second):
    """Census of two sets of blocks."""
    pairs = zip(vars(first).values(), vars(second).values(), strict=True)
    return Census(*(one + other for one, other in pairs))

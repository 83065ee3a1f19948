"""Regression on rows that live on Dask workers."""

from dataclasses import replace
from operator import add

import numpy as np

from odalib.distributed._annealing import DistributedAnnealer
from odalib.distributed._ground import DistantRows, added, distant_ground
from odalib.estimators._metric import check_metric
from odalib.estimators.oda_regressor import ODARegressor as InMemoryRegressor
from odalib.inference.annealing.batch import Batch
from odalib.inference.annealing.bregman import check_weighted_squares
from odalib.inference.annealing.local.moments import as_held_out, mean_divergence
from odalib.inference.annealing.local.regression import errors_of, sums_of
from odalib.inference.annealing.rows import RowBlocks

__all__ = ["ODARegressor"]


class ODARegressor(DistributedAnnealer):
    """Regression by deterministic annealing on rows that live on Dask workers.

    `fit` returns an `odalib.ODARegressor`, fitted: with arrays inside, to be pickled
    and used without Dask. The rows stay where they are; see `ODAClusterer`. What a fit
    in memory chooses on rows held out (the metric, the ridges, the width of the blend)
    is chosen here on 12,500 distinct rows drawn evenly, which are as many as a fit in
    memory looks at: of more rows, the two look at other ones. The local models are
    learnt from all rows.

    Parameters
    ----------
    n_codevectors : int, default=None
        Number of codevectors. None takes one for every sixth distinct row, up to
        ``max_codevectors``.
    client : distributed.Client, default=None
        Where rows are. None takes the current client at the time of the fit.
    **parameters : dict
        Further parameters of `odalib.ODARegressor`, with the defaults that they have
        there, except ``resolutions`` and learners of one's own for ``local_model``,
        which are for rows in memory only.

    Attributes
    ----------
    estimator : odalib.ODARegressor
        Unfitted, with the parameters that were given; a fit leaves it as it is.
    n_rounds_ : int
        Rounds of the last fit: results that the client waited for.
    bytes_moved_ : int
        Bytes that they moved at the most: what was sent to the workers, once for each,
        and what blocks and pairs of them made of it. Rows are not among it.

    See Also
    --------
    predict : Lazy, block by block.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from odalib.distributed import ODARegressor, predict
    >>> client = Client(processes=False, dashboard_address=":0")
    >>> X = da.random.default_rng(0).uniform(-3, 3, size=(600, 1), chunks=(200, 1))
    >>> y = da.sin(X[:, 0])
    >>> regressor = ODARegressor(n_codevectors=12, random_state=0).fit(X, y)
    >>> bool(abs(predict(regressor, X) - y).mean().compute() < 0.05)
    True
    >>> client.close()
    """

    def __init__(self, n_codevectors=None, *, client=None, **parameters):
        self.estimator = InMemoryRegressor(n_codevectors, **parameters)
        self.client = client

    def fit(self, X, y, sample_weight=None):
        """Anneal a sample of the rows, and learn local models from all of them.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            As `ODAClusterer.fit`.
        y : dask array, series or data frame
            Targets, of shape (n_samples,) or (n_samples, n_targets), cut into blocks
            as X is.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Cut into blocks as X is. A weight of w is w copies of the row; zero leaves
            it out.

        Returns
        -------
        regressor : odalib.ODARegressor
            Fitted.

        Raises
        ------
        ValueError
            As `odalib.ODARegressor.fit` and `ODAClusterer.fit` do.
        TypeError
            For what is no dense Dask collection.

        Warns
        -----
        ConvergenceWarning
            As `odalib.ODARegressor.fit` does.
        """
        return self._fit(X, y, sample_weight)

    def _check_parameters(self, estimator):
        super()._check_parameters(estimator)
        if not isinstance(estimator.local_model, str):
            raise ValueError(
                "A local_model of one's own is taught in memory only, by "
                "odalib.ODARegressor; take 'linear' or 'constant' here."
            )

    def _with_targets(self, estimator, blocks, y):
        """Blocks with targets as float64 of two dimensions."""
        if y is None:
            estimator._read_targets(None)
        check_metric(estimator, np.empty((0, blocks.n_features)))
        blocks = blocks.remade(_read, estimator)
        largest = np.array([blocks.largest_target])
        check_weighted_squares(largest, blocks.weights_at_the_ends, "y")
        return blocks, {"_one_target": y.ndim == 1}

    def _ground(self, blocks, settings, n_jobs):
        spec = settings.local_models
        if spec.target.weight > 0.0:
            blocks = blocks.remade(_ending_with_targets, spec)
        return distant_ground(blocks, settings, n_jobs)

    def _learnt(self, blocks, settings, solution, partition):
        spec = settings.local_models
        total, spread = blocks.reduce(_centre_and_spread, partition, combine=added)
        centre = total / blocks.total_weight
        cells = spec.untaught(
            DistantRows(blocks, partition.shift),
            centre,
            float(spread / blocks.total_weight),
            len(partition.codebook),
        )
        sums = blocks.reduce(_sums, cells, partition, combine=add)
        cells = replace(cells, sums=sums)
        errors = blocks.reduce(_errors, cells, partition, combine=np.add)
        errors = as_held_out(errors, sums.weight, spec.held_out_error)
        return solution.codebook, replace(cells, errors=errors), None


def _read(block, estimator):
    """Block whose targets are numbers, one column each."""
    rows, targets, weights = block
    targets = estimator._read_targets(targets)
    return rows, targets.reshape(len(targets), -1), weights


def _ending_with_targets(block, spec):
    """Block of rows that end with their targets."""
    rows, targets, weights = block
    return spec.annealed(Batch(rows, weights, targets)), None, weights


def _rows_of(block, partition):
    rows, _, weights = block
    return RowBlocks(rows, weights, partition.shift)


def _centre_and_spread(block, partition):
    """Sum targets over a block, and divergences from the codevectors."""
    rows = _rows_of(block, partition)
    spread = rows.total_weight * mean_divergence(rows, partition)
    return block[2] @ block[1], spread


def _sums(block, cells, partition):
    return sums_of(_rows_of(block, partition), block[1], cells, partition)


def _errors(block, cells, partition):
    return errors_of(_rows_of(block, partition), block[1], cells, partition)

"""Probit regression by expectation propagation, of rows on Dask workers."""

from sklearn.base import clone

from odalib.distributed._blocks import Blocks
from odalib.distributed._ep_fit import learn_blocks
from odalib.distributed._labels import in_one_dimension
from odalib.distributed._thin import DistributedEstimator
from odalib.estimators._sklearn import validate_parameters
from odalib.estimators.ep_probit import EPProbitClassifier as InMemoryClassifier

__all__ = ["EPProbitClassifier"]

# The parallel solver under both of its names.
SOLVERS = ("auto", "parallel")


class EPProbitClassifier(DistributedEstimator):
    """Probit regression by expectation propagation of rows that live on Dask workers.

    `fit` finds what `odalib.EPProbitClassifier` finds for the same rows, to rounding
    and in as many iterations, and returns one, fitted: with arrays inside, to be
    pickled and used without Dask. Every site stays on the worker that holds its row. A
    round sends the Gaussian of the weights to the workers and brings back sums over
    their rows: ``X' diag(tau) X`` and ``X' nu`` of the sites, the log evidence, and
    what tells convergence. Nothing travels that grows with the number of rows.

    Parameters
    ----------
    prior_variance : float, array-like of shape (n_features,), 'evidence' or 'ard', \
default=1.0
        Variance of the weights before data. The search for the largest log evidence
        needs no more than sums over rows either, and some tens of times as many
        rounds.
    client : distributed.Client, default=None
        Where rows are. None takes the current client at the time of the fit.
    **parameters : dict
        Further parameters of `odalib.EPProbitClassifier`, with the defaults that they
        have there. ``solver`` is ``'auto'`` or ``'parallel'``, which are the same
        here: the others visit rows in turn, or need them all at once. There is nothing
        to fall back on where parallel updates do not converge.

    Attributes
    ----------
    estimator : odalib.EPProbitClassifier
        Unfitted, with the parameters that were given; a fit leaves it as it is.
    n_rounds_ : int
        Rounds of the last fit: results that the client waited for.
    bytes_moved_ : int
        Bytes that they moved at the most, as those of `ODAClusterer`.

    See Also
    --------
    predict, predict_proba : Lazy, block by block.

    Notes
    -----
    Weights have a d x d covariance, also where features outnumber rows: so many
    features as one machine can factorise that of.

    Besides its rows, a worker holds about fifty numbers of 8 bytes for each row of each
    problem that is being solved (its sites, and the five pairs before them that steps
    are extrapolated from). One-vs-one, as many pairs are solved together as there are
    classes, one-vs-rest two problems: a row takes part in about two. With the evidence
    to search it is one problem after the other.

    Sums over blocks are added up in an order that their number decides: the result is
    the same bits for any number of workers. A worker that dies takes sites with it,
    which others compute anew from the first round on.

    References
    ----------
    T. Minka, "Expectation propagation for approximate Bayesian inference", UAI 2001.
    A. Vehtari et al., "Expectation propagation as a way of life: a framework for
    Bayesian inference on partitioned data", JMLR 21, 2020.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_breast_cancer
    >>> from odalib.distributed import EPProbitClassifier, predict
    >>> client = Client(processes=False, n_workers=2, dashboard_address=":0")
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rows = da.from_array((X - X.mean(axis=0)) / X.std(axis=0), chunks=(300, 30))
    >>> labels = da.from_array(y, chunks=300)
    >>> model = EPProbitClassifier(0.01).fit(rows, labels)
    >>> model
    EPProbitClassifier(prior_variance=0.01)
    >>> model.log_evidence_.round(1)
    array([-102.9])
    >>> predict(model, rows[:3]).compute()
    array([0, 0, 0])
    >>> client.close()
    """

    def __init__(self, prior_variance=1.0, *, client=None, **parameters):
        self.estimator = InMemoryClassifier(prior_variance, **parameters)
        self.client = client

    def fit(self, X, y, sample_weight=None):
        """Learn from all rows, where they are.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Its blocks hold whole rows; their sizes may be unknown, and some may be
            empty. float32 is held as such; sums are in float64.
        y : dask array or series of shape (n_samples,)
            Labels of any type, cut into blocks as X is; a block may lack classes.
        sample_weight : dask array or series of shape (n_samples,), default=None
            A weight of w is w copies of the row; zero leaves it out.

        Returns
        -------
        model : odalib.EPProbitClassifier
            Fitted, of arrays alone: it can be pickled, knows no client, and
            ``partial_fit`` goes on from what it has learnt. What is of every row has
            stayed with the rows: it has no ``site_precision_`` and ``site_shift_``,
            and ``loo_predict_proba`` raises an error.

        Raises
        ------
        TypeError
            For rows that are in no Dask collection.
        ValueError
            As `odalib.EPProbitClassifier.fit` does, for another solver, without a
            running client, and for blocks of y or of weights that do not fit those
            of X.

        Warns
        -----
        ConvergenceWarning
            Where a problem did not meet the tolerance; it states the residual.
        """
        model = clone(self.estimator)
        validate_parameters(model)
        if model.solver not in SOLVERS:
            raise ValueError(
                f"solver={model.solver!r} visits rows in turn or needs them all at "
                "once; of rows on several workers it can be 'parallel' (or 'auto', "
                "which is the same here)."
            )
        y = in_one_dimension(y)
        blocks = Blocks.of(X, y, sample_weight, self.client).usable()
        learn_blocks(model, blocks)
        self._note_costs(blocks)
        return model

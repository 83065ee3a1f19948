"""Fit of the probit classifier to blocks of rows."""

from copy import copy

import numpy as np

from odalib.distributed._ep_rounds import Problems
from odalib.distributed._labels import join_labels, labels_of
from odalib.estimators._decomposition import Decomposition
from odalib.estimators._labels import classes_of
from odalib.estimators._prior import check_latent_range
from odalib.estimators._threads import single_threaded_blas
from odalib.estimators.ep_probit import FIXED
from odalib.inference.ep.multiple import Learnt, Report

__all__ = ["learn_blocks"]


def learn_blocks(model, blocks):
    """Give an estimator in memory its fitted attributes.

    Parameters
    ----------
    model : odalib.EPProbitClassifier
        Of valid parameters, not fitted.
    blocks : Blocks
        Without rows of no weight.

    Raises
    ------
    ValueError
        As `odalib.EPProbitClassifier.fit`.

    Warns
    -----
    ConvergenceWarning
        Of the line two calls above.
    """
    model.n_features_in_ = blocks.n_features
    if blocks.feature_names is not None:
        model.feature_names_in_ = blocks.feature_names
    classes = classes_of(model, blocks.reduce(labels_of, model, combine=join_labels))
    decomposition = Decomposition(len(classes), model.multi_class)
    before = model._nothing_learnt(decomposition)
    largest = np.array([[blocks.largest]])
    check_latent_range(largest, np.max(before.variances, axis=0))
    problems = Problems(blocks, model, classes, decomposition)
    with single_threaded_blas():
        if isinstance(model.prior_variance, str):
            outcomes, variances = problems.search()
        else:
            outcomes, variances = problems.infer(before.variances), before.variances
        decomposition = problems.sharpened(outcomes)
    learnt = Learnt(
        [outcome.posterior.belief for outcome in outcomes],
        variances,
        np.array([outcome.log_evidence for outcome in outcomes]),
    )
    reported = model._of_report(Report(None, None, outcomes), depth=3)
    # What is of every row stays with the rows.
    del reported["site_precision_"], reported["site_shift_"]
    vars(model).update(
        classes_=classes,
        _decomposition=decomposition,
        _learnt=learnt,
        _loo=None,
        _dtype=blocks.dtype.type,
        _fixed={name: copy(getattr(model, name)) for name in FIXED},
        **model._of_weights(learnt, blocks.dtype),
        **reported,
    )

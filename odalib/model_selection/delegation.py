"""Methods and attributes that a search takes from its best estimator."""

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from odalib.model_selection.levels import last_step

__all__ = ["BestEstimatorMixin", "best_has"]


def best_has(name):
    """Condition that the best estimator, or before a fit the given one, has `name`."""

    def check(search):
        if not search.refit:
            raise AttributeError(
                f"{name} needs the best estimator, which refit=False leaves out. Fit "
                "one with best_params_, or search with refit=True."
            )
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return check


class BestEstimatorMixin:
    """What a search answers through ``best_estimator_``."""

    @property
    def classes_(self):
        """Classes of the best estimator, where it is a classifier."""
        check_is_fitted(self)
        return self.best_estimator_.classes_

    @available_if(best_has("predict"))
    def predict(self, X, **params):
        """Call ``predict`` of the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        **params : dict
            Passed on, as ``return_std`` of `ODARegressor`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            What the best estimator returns.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X, **params)

    @available_if(best_has("predict_proba"))
    def predict_proba(self, X):
        """Call ``predict_proba`` of the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_codevectors)
            What the best estimator returns.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(best_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """Call ``predict_log_proba`` of the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_codevectors)
            What the best estimator returns.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    @available_if(best_has("transform"))
    def transform(self, X):
        """Call ``transform`` of the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        transformed : ndarray of shape (n_samples, n_codevectors)
            What the best estimator returns.
        """
        check_is_fitted(self)
        return self.best_estimator_.transform(X)

    @available_if(best_has("score_samples"))
    def score_samples(self, X):
        """Call ``score_samples`` of the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            What the best estimator returns.
        """
        check_is_fitted(self)
        return self.best_estimator_.score_samples(X)

    @property
    def labels_(self):
        """Labels of the rows of the fit by the best estimator."""
        check_is_fitted(self)
        return last_step(self.best_estimator_).labels_

    @property
    def n_features_in_(self):
        """Number of features of the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self):
        """Names of the features of the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.feature_names_in_

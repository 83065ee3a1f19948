"""What is saved says by which version, and another version warns as it loads it."""

import warnings

from sklearn.exceptions import InconsistentVersionWarning

from odalib._release import __version__
from odalib.estimators._state import cached_fitted

__all__ = ["OtherVersionWarning", "SavedBy", "Versioned"]

# Raised by a change after which versions before it can no longer read what is saved.
LAYOUT = 1
# First of all in a state, so that it is read before anything that may be unknown.
KEY = "_odalib_version"


class OtherVersionWarning(InconsistentVersionWarning):
    """Another version of odalib has saved what is loaded.

    Of the category by which scikit-learn's own estimators warn, so that filters meet
    both; what that says of versions of scikit-learn is None here.

    Parameters
    ----------
    estimator_name : str
    saved_by : str
        Version of odalib.
    """

    def __init__(self, estimator_name, saved_by):
        super().__init__(
            estimator_name=estimator_name,
            current_sklearn_version=None,
            original_sklearn_version=None,
        )
        self.saved_by = saved_by

    def __str__(self):
        return (
            f"{self.estimator_name} was saved by odalib {self.saved_by} and is loaded "
            f"by odalib {__version__}, which may answer otherwise. Compare what it "
            "predicts with what it has predicted, or fit anew."
        )


class SavedBy:
    """Version that saves an estimator, and how it lays estimators out.

    What another version has saved in a layout that this one cannot read is refused as
    it is met in a file, before anything in there that this version does not know.
    """

    def __init__(self):
        self.version = __version__
        self.layout = LAYOUT

    def __setstate__(self, state):
        if state["layout"] > LAYOUT:
            raise ValueError(
                f"The model was saved by odalib {state['version']}, in a layout that "
                f"odalib {__version__} cannot read. Install odalib {state['version']} "
                "or later to load it, or fit anew with this one."
            )
        vars(self).update(state)


class Versioned:
    """Mixin, before BaseEstimator, of estimators that are saved with their version.

    What is computed when it is first read is left out, and computed anew.
    """

    def __getstate__(self):
        # Copied in one go, as another thread may ask for more attributes meanwhile.
        state = {KEY: SavedBy(), **super().__getstate__()}
        for name in [*state]:
            if isinstance(getattr(type(self), name, None), cached_fitted):
                del state[name]
        return state

    def __setstate__(self, state):
        learnt = {name: value for name, value in state.items() if name != KEY}
        # None has none but by a class of the user that leaves it out.
        saved_by = state[KEY].version if KEY in state else "of unknown version"
        if saved_by != __version__:
            warnings.warn(
                OtherVersionWarning(type(self).__name__, saved_by), stacklevel=2
            )
        super().__setstate__(learnt)

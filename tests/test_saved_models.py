"""Models that this and earlier versions have saved: they load, answer and learn on."""

import copy
import pickle
import re
import warnings
from pathlib import Path

import cloudpickle
import joblib
import numpy as np
import pytest
import skops.io
from scipy.sparse import csr_array
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.preprocessing import StandardScaler

import odalib
from odalib import (
    ADFProbitClassifier,
    EPGaussianProcessClassifier,
    EPProbitClassifier,
    IsingModel,
    ODAClassifier,
    ODAClusterer,
    ODARegressor,
    PathSearchCV,
    Resolution,
    distributed,
)
from odalib.estimators import _persistence
from odalib.inference.annealing.stream import Stream
from odalib.streaming import StreamingPipeline

ROOT = Path(__file__).parents[1]
MODELS = ROOT / "tests" / "data" / "models"
SAVED = sorted(MODELS.glob("*/*.joblib"))
ROWS = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [5.0, 0.0, 0.0], [5.0, 1.0, 3.0]])
# The answers of one model by two machines differ by rounding; by what is learnt on,
# also by where iterations end.
ANSWERS_RTOL, LATER_RTOL = 1e-10, 1e-6

ESTIMATORS = [
    ADFProbitClassifier(),
    EPGaussianProcessClassifier(),
    EPProbitClassifier(),
    IsingModel(),
    ODAClassifier(),
    ODAClusterer(),
    ODARegressor(),
    PathSearchCV(None),
    Resolution(),
    StreamingPipeline([("rows", "passthrough")]),
]
# These hold the one for memory, which has the version.
DISTRIBUTED = [
    distributed.EPProbitClassifier(),
    distributed.ODAClassifier(),
    distributed.ODAClusterer(),
    distributed.ODARegressor(),
]
COPIES = [
    copy.copy,
    copy.deepcopy,
    *(
        lambda estimator, protocol=protocol: pickle.loads(
            pickle.dumps(estimator, protocol)
        )
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
    ),
    lambda estimator: pickle.loads(cloudpickle.dumps(estimator)),
]


class SavesNoVersion(ODAClusterer):
    """As of a user who saves the attributes alone."""

    def __getstate__(self):
        return vars(self).copy()


def name_of(estimator):
    return repr(estimator).partition("(")[0]


def id_of(path):
    return f"{path.parent.name}-{path.stem}"


def load(path):
    """Load a model, which warns if another version has saved it, and only then."""
    if path.parent.name == odalib.__version__:
        return joblib.load(path)
    with pytest.warns(InconsistentVersionWarning, match=path.parent.name):
        return joblib.load(path)


def assert_answers(model, rows, kept, prefix, rtol):
    """Fail unless a model says of rows what is kept under a prefix."""
    rtol = max(rtol, 1e-5 if rows.dtype == np.float32 else 0.0)
    for name, answer in kept.items():
        said = getattr(model, name.removeprefix(prefix))(rows)
        if said.dtype.kind == "f":
            atol = rtol * np.abs(answer).max()
            np.testing.assert_allclose(said, answer, rtol, atol, err_msg=name)
        else:
            np.testing.assert_array_equal(said, answer, err_msg=name)


@pytest.mark.parametrize("path", SAVED, ids=id_of)
def test_a_saved_model_answers_and_learns_on(path):
    model = load(path)
    with np.load(path.with_suffix(".npz")) as file:
        kept = dict(file)
    rows, targets = kept.pop("rows"), kept.pop("more_targets", None)
    later = {name: kept.pop(name) for name in [*kept] if name.startswith("later_")}
    assert kept
    assert_answers(model, rows, kept, "", ANSWERS_RTOL)
    if later:
        model.partial_fit(rows, targets)
        assert_answers(model, rows, later, "later_", LATER_RTOL)


def test_every_released_version_has_saved_models():
    versions = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert {path.name for path in MODELS.iterdir()} == set(versions)


def test_this_version_has_saved_every_estimator():
    current = [path for path in SAVED if path.parent.name == odalib.__version__]
    saved = {type(load(path)).__name__ for path in current}
    assert saved == {type(one).__name__ for one in ESTIMATORS} - {"Resolution"}


@pytest.mark.parametrize("path", SAVED, ids=id_of)
def test_skops_asks_for_nothing_but_odalib(path):
    model = load(path)
    saved = skops.io.dumps(model)
    unknown = skops.io.get_untrusted_types(data=saved)
    assert all(name.startswith("odalib.") for name in unknown), unknown
    copied = skops.io.loads(saved, trusted=unknown)
    with np.load(path.with_suffix(".npz")) as file:
        rows = file["rows"]
    method = "predict" if hasattr(model, "predict") else "score_samples"
    said, again = (getattr(one, method)(rows) for one in (model, copied))
    np.testing.assert_array_equal(again, said)


@pytest.mark.parametrize(
    "learn",
    [
        lambda: ODAClusterer(3, resolutions=[StandardScaler(), None]).fit(ROWS),
        lambda: ODAClusterer(3).partial_fit(csr_array(ROWS)),
        lambda: EPProbitClassifier().fit(csr_array(ROWS[:2]), [0, 1]),
        lambda: PathSearchCV(ODAClusterer(2), cv=2).fit(ROWS),
    ],
    ids=["transformer", "sparse queue", "sparse rows of a belief", "scorer"],
)
def test_skops_asks_for_nothing_that_models_hold_on_to(learn):
    unknown = skops.io.get_untrusted_types(data=skops.io.dumps(learn()))
    assert all(name.startswith("odalib.") for name in unknown), unknown


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_the_version_is_saved_and_is_no_attribute(estimator):
    state = estimator.__getstate__()
    assert state.pop("_odalib_version").version == odalib.__version__
    assert state == vars(estimator)
    for copied in COPIES:
        assert vars(copied(estimator)).keys() == vars(estimator).keys()


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *DISTRIBUTED], ids=name_of)
def test_another_version_warns_once(estimator, monkeypatch):
    saved = pickle.dumps(estimator)
    monkeypatch.setattr(_persistence, "__version__", "0.2.0")
    words = f"by odalib {odalib.__version__} and is loaded by odalib 0.2.0"
    with pytest.warns(InconsistentVersionWarning, match=words) as caught:
        pickle.loads(saved)
    assert len(caught) == 1
    assert caught[0].message.estimator_name == name_of(estimator).rpartition(".")[2]
    assert caught[0].message.saved_by == odalib.__version__
    assert caught[0].filename == __file__


def test_a_filter_of_scikit_learns_category_meets_the_warning(monkeypatch):
    saved = pickle.dumps(ODAClusterer())
    monkeypatch.setattr(_persistence, "__version__", "0.2.0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        pickle.loads(saved)


def test_the_warning_can_be_sent_between_processes():
    warning = _persistence.OtherVersionWarning("ODAClusterer", "0.0.9")
    assert str(pickle.loads(pickle.dumps(warning))) == str(warning)


def test_a_state_without_a_version_is_of_an_unknown_one():
    with pytest.warns(InconsistentVersionWarning, match="of unknown version"):
        pickle.loads(pickle.dumps(SavesNoVersion()))


def test_what_a_later_layout_holds_is_refused_before_it_is_read(monkeypatch):
    fitted = ODAClusterer(2).fit([[0.0], [1.0], [5.0]])
    with monkeypatch.context() as later:
        later.setattr(_persistence, "__version__", "3.4.5")
        later.setattr(_persistence, "LAYOUT", 2)
        saved = pickle.dumps(fitted)
    # As if the class of the state had been moved since.
    name = Stream.__module__.encode()
    assert name in saved
    saved = saved.replace(name, name[:-1] + b"_")
    with pytest.raises(ValueError, match=r"Install odalib 3\.4\.5 or later to"):
        pickle.loads(saved)

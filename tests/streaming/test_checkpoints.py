"""Checkpoints: a fit that was killed goes on with the same bits."""

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import IncrementalPCA
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import odalib
from odalib import ADFProbitClassifier, ODAClassifier, ODAClusterer, Resolution
from odalib.estimators import _persistence
from odalib.streaming import fit_stream, make_streaming_pipeline
from odalib.streaming.checkpoint import describe, differences
from tests.conformance.comparing import assert_same_bits
from tests.streaming.streams import CHUNK, COLUMNS, N_SAMPLES, X, Y, chunks

OPTIONS = {"classes": [0, 1], "scoring": ["neg_log_loss", "accuracy"], "every": 3}


def pipeline(**parameters):
    return make_streaming_pipeline(
        StandardScaler(), IncrementalPCA(2), ADFProbitClassifier(**parameters)
    )


def killed_after(n):
    yield from list(chunks())[:n]
    raise KeyboardInterrupt


def interrupted(path, n, **options):
    """Fit so many chunks and be interrupted, as by Ctrl-C."""
    with pytest.raises(KeyboardInterrupt):
        fit_stream(pipeline(), killed_after(n), checkpoint=path, **OPTIONS, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "stream.checkpoint"


@pytest.fixture(scope="module")
def whole():
    return fit_stream(pipeline(), chunks(), **OPTIONS)


def assert_same_fit(result, whole):
    # Pickled, they are without what is only kept because it was asked for.
    states = [pickle.loads(pickle.dumps(r.estimator)) for r in (result, whole)]
    assert_same_bits(*states, "another state")
    assert result.scores == whole.scores
    for name in whole.scores:
        np.testing.assert_array_equal(result.curve(name), whole.curve(name))
    assert (result.n_batches, result.n_samples) == (12, N_SAMPLES)


@pytest.mark.parametrize("kills", [(4,), (2, 3, 8, 8), (12,)])
def test_an_interrupted_fit_ends_with_the_same_bits(kills, path, whole):
    for n in kills:
        interrupted(path, n)
    result = fit_stream(pipeline(), chunks(), checkpoint=path, **OPTIONS)
    assert result.n_resumed == max(kills) // 3 * 3
    assert_same_fit(result, whole)


def test_a_finished_stream_is_only_skipped_and_goes_on_where_it_has_grown(path, whole):
    half = fit_stream(
        pipeline(), chunks(stop=N_SAMPLES // 2), checkpoint=path, **OPTIONS
    )
    again = fit_stream(
        pipeline(), chunks(stop=N_SAMPLES // 2), checkpoint=path, **OPTIONS
    )
    assert again.n_resumed == half.n_batches == 6
    assert again.scores == half.scores
    grown = fit_stream(pipeline(), chunks(), checkpoint=path, **OPTIONS)
    assert_same_fit(grown, whole)


def test_annealing_goes_on_from_its_rows_and_its_random_state(path):
    def fit(batches):
        model = ODAClassifier(6, random_state=0)
        return fit_stream(model, batches, checkpoint=path, every=1)

    with pytest.raises(KeyboardInterrupt):
        fit(killed_after(5))
    resumed = fit(chunks())
    assert resumed.n_resumed == 5
    model = ODAClassifier(6, random_state=0).partial_fit(X, Y)
    np.testing.assert_array_equal(
        resumed.estimator.predict_proba(X), model.predict_proba(X)
    )


def test_scores_take_little_of_a_checkpoint(path):
    sizes = []
    for size in (12, 4):
        fit_stream(
            ADFProbitClassifier(),
            chunks(size),
            checkpoint=path,
            **OPTIONS | {"every": 2000},
        )
        sizes.append(path.stat().st_size)
        path.unlink()
    # Of 200 more batches: where each ends, and a weight and a sum of two scores.
    assert sizes[1] - sizes[0] < 1.1 * 8 * (1 + 2 * 2) * 200


def test_arrays_go_on_from_the_row(path, whole):
    def fit(stop):
        options = {"batch_size": CHUNK, "checkpoint": path, **OPTIONS}
        return fit_stream(pipeline(), X[:stop], target=Y[:stop], **options)

    fit(6 * CHUNK)
    result = fit(N_SAMPLES)
    assert result.n_resumed == 6
    assert_same_fit(result, whole)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other"])
def test_a_torn_file_is_noticed_and_the_one_before_used(damage, path, whole):
    interrupted(path, 7)
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    torn = {
        "cut": content[:-100],
        "flipped": bytes(flipped),
        "empty": b"",
        "other": pickle.dumps(pipeline()),
    }
    path.write_bytes(torn[damage])
    with pytest.warns(UserWarning, match="is torn; the checkpoint before it is used"):
        result = fit_stream(pipeline(), chunks(), checkpoint=path, **OPTIONS)
    assert result.n_resumed == 3
    assert_same_fit(result, whole)


def test_a_torn_file_never_takes_the_place_of_a_whole_one(path):
    interrupted(path, 7)
    path.write_bytes(b"torn")
    with pytest.warns(UserWarning, match="torn"):
        interrupted(path, 4)
    assert path.read_bytes() != b"torn"
    # Nothing was written since; what was the one before serves without a warning.
    interrupted(path, 5)


def test_a_kill_between_the_renames_loses_nothing(path, whole):
    interrupted(path, 7)
    path.rename(path.with_name(path.name + ".previous"))
    result = fit_stream(pipeline(), chunks(), checkpoint=path, **OPTIONS)
    assert result.n_resumed == 6
    assert_same_fit(result, whole)


def test_two_torn_files_are_refused_and_left(path):
    interrupted(path, 7)
    before = path.with_name(path.name + ".previous")
    for file in (path, before):
        file.write_bytes(b"torn")
    with pytest.raises(ValueError, match="torn, or no checkpoint of fit_stream"):
        fit_stream(pipeline(), chunks(), checkpoint=path, **OPTIONS)
    assert path.read_bytes() == before.read_bytes() == b"torn"


@pytest.mark.parametrize(
    "given, options, match",
    [
        (ADFProbitClassifier(), {}, "of a .*StreamingPipeline, this is a .*ADFProbit"),
        (pipeline()[1:], {}, "standardscaler.* absent"),
        (pipeline(forgetting=0.99), {}, "forgetting was 1.0, is 0.99"),
        (pipeline().set_params(frozen=["incrementalpca"]), {}, "frozen was"),
        (pipeline(), {"scoring": "accuracy"}, "scoring. was .*, is {'accuracy': 'acc"),
        (
            pipeline(),
            {"scoring": {"neg_log_loss": "accuracy", "accuracy": "accuracy"}},
            "'neg_log_loss': 'neg_log_loss'.*, is {'neg_log_loss': 'accuracy'",
        ),
        (pipeline(), {"classes": [0, 1, 2]}, "classes. was .0, 1., is .0, 1, 2."),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(given, options, match, path):
    interrupted(path, 4)
    content = path.read_bytes()
    with pytest.raises(ValueError, match=match):
        fit_stream(given, chunks(), checkpoint=path, **{**OPTIONS, **options})
    assert path.read_bytes() == content
    assert not hasattr(given, "n_features_in_")


def test_arrays_among_parameters_are_compared_by_their_values(path):
    def model(variances):
        return ADFProbitClassifier(prior_variance=np.array(variances))

    known = {"checkpoint": path, "classes": [0, 1]}
    fit_stream(model([1.0, 2.0, 3.0]), chunks(), **known)
    fit_stream(model([1.0, 2.0, 3.0]), chunks(), **known)
    with pytest.raises(ValueError, match="prior_variance was"):
        fit_stream(model([1.0, 2.0, 4.0]), chunks(), **known)


@pytest.mark.parametrize(
    "options, match",
    [
        ({"target": "other"}, "columns. was .'y', None., is .'other', None."),
        ({"sample_weight": "other"}, "columns. was"),
        ({"batch_size": 2 * CHUNK}, "batch_size. was 100, is 200"),
    ],
)
def test_other_columns_or_sizes_of_chunks_are_refused(options, match, path):
    frame = pd.DataFrame(X, columns=COLUMNS).assign(y=Y, other=1 - Y)
    common = {"target": "y", "batch_size": CHUNK, "checkpoint": path, "classes": [0, 1]}
    fit_stream(pipeline(), frame, **common)
    with pytest.raises(ValueError, match=match):
        fit_stream(pipeline(), frame, **common | options)


def test_addresses_among_parameters_are_no_difference(path):
    """Another process has a function elsewhere, and prints it so."""
    model = make_streaming_pipeline(FunctionTransformer(chunks), pipeline()[-1])
    kept = describe(model)
    moved = {
        name: (key, text.replace("0x", "0x1")) for name, (key, text) in kept.items()
    }
    assert moved != kept
    assert differences(kept, moved) == []


def test_a_checkpoint_of_another_version_goes_on_with_a_warning(path, monkeypatch):
    """Parts of a pipeline are compared by parameters, not by who has saved them."""

    def parts():
        coarse = Resolution([0], n_codevectors=2)
        clusterer = ODAClusterer(3, resolutions=[coarse, None], random_state=0)
        return make_streaming_pipeline(clusterer, ADFProbitClassifier())

    known = {"checkpoint": path, "classes": [0, 1]}
    fit_stream(parts(), list(chunks())[:3], **known)
    monkeypatch.setattr(_persistence, "__version__", "0.2.0")
    with pytest.warns(InconsistentVersionWarning, match=r"loaded by odalib 0\.2\.0"):
        result = fit_stream(parts(), chunks(), **known)
    assert result.n_samples == N_SAMPLES


@pytest.mark.parametrize(
    "batches, match",
    [
        (lambda: chunks(90), "begins with 270 rows in 3"),
        (lambda: chunks(stop=200), "begins with 200 rows in 2"),
        (lambda: X[:250], "50 rows more than the stream has"),
    ],
)
def test_another_stream_is_refused(batches, match, path):
    interrupted(path, 4)
    stream = batches()
    target = Y[: len(stream)] if isinstance(stream, np.ndarray) else None
    model = pipeline()
    with pytest.raises(ValueError, match=match):
        fit_stream(model, stream, target=target, checkpoint=path, **OPTIONS)
    assert not hasattr(model[0], "mean_")
    # Nothing is lost: the right stream still goes on.
    assert fit_stream(model, chunks(), checkpoint=path, **OPTIONS).n_resumed == 3


def test_columns_are_remembered(path):
    interrupted(path, 4)
    narrow = ((x[:, :2], y) for x, y in chunks())
    with pytest.raises(ValueError, match="Chunk 3 has other columns"):
        fit_stream(pipeline(), narrow, checkpoint=path, **OPTIONS)


def test_a_stream_that_fails_leaves_the_last_checkpoint(path):
    def broken():
        yield from list(chunks())[:5]
        raise OSError("the disk is gone")

    model = pipeline()
    with pytest.raises(OSError):
        fit_stream(model, broken(), checkpoint=path, **OPTIONS)
    assert model[0].n_samples_seen_ == 5 * CHUNK
    assert fit_stream(model, chunks(), checkpoint=path, **OPTIONS).n_resumed == 3


def test_what_cannot_be_pickled_is_refused_before_it_learns(path):
    model = make_streaming_pipeline(
        FunctionTransformer(lambda X: X), SGDClassifier(loss="log_loss")
    )
    with pytest.raises(ValueError, match="cannot be pickled"):
        fit_stream(model, chunks(), checkpoint=path, **OPTIONS)
    assert not hasattr(model[-1], "coef_") and not path.exists()


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nosuch, which is no folder"):
        fit_stream(pipeline(), chunks(), checkpoint=tmp_path / "nosuch" / "a")


SCRIPT = """
import sys, time
from tests.streaming.streams import chunks
from tests.streaming.test_checkpoints import OPTIONS, pipeline
from odalib.streaming import fit_stream

def slow():
    for chunk in chunks():
        time.sleep(0.02)
        yield chunk

fit_stream(pipeline(), slow(), checkpoint=sys.argv[1], **{**OPTIONS, "every": 1})
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
def test_a_process_that_was_killed_goes_on_with_the_same_bits(path, whole):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, path],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(odalib.__file__).parents[1])},
    )
    while not path.exists() and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    result = fit_stream(pipeline(), chunks(), checkpoint=path, **OPTIONS)
    assert result.n_resumed >= 1
    assert_same_fit(result, whole)

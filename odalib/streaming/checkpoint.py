"""Checkpoints: two generations on disk, of which one is always whole.

A new one is written beside them, forced to the disk, and takes the place of the last,
which becomes the one before. Whatever moment a process is killed at, or a machine
loses power, one file holds its checksum.
"""

import hashlib
import os
import pickle
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from joblib import hash as hash_of
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

__all__ = ["Checkpoint", "CheckpointFile", "describe", "differences"]

MAGIC = b"odalib stream 1\n"
DIGEST = hashlib.sha256().digest_size


@dataclass
class Checkpoint:
    """What it takes to go on as if nothing had happened.

    Attributes
    ----------
    description : dict of str to tuple
        Of the estimator before it learnt and of the call; see `describe`.
    estimator : estimator
    n_batches, n_samples : int
        Batches and rows learnt.
    columns : list or int or None
    n_scored : array of int
    figures : dict of str to array of float
        Of the scores; see `Records`.
    """

    description: dict
    estimator: object
    n_batches: int
    n_samples: int
    columns: object
    n_scored: object
    figures: dict


class CheckpointFile:
    """Where checkpoints of one stream are kept.

    Parameters
    ----------
    path : path-like
        Of the latest; the one before has ``.previous`` appended.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.previous = self.path.with_name(self.path.name + ".previous")
        self._new = self.path.with_name(self.path.name + ".new")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"checkpoint is to be in {self.path.parent}, which is no folder; make "
                "it first."
            )

    def write(self, checkpoint):
        """Keep a checkpoint, and the last as the one before."""
        with _picklable("the estimator"):
            payload = pickle.dumps(checkpoint, protocol=pickle.HIGHEST_PROTOCOL)
        with open(self._new, "wb") as file:
            file.write(MAGIC + hashlib.sha256(payload).digest() + payload)
            file.flush()
            os.fsync(file.fileno())
        if self.path.exists():
            os.replace(self.path, self.previous)
        os.replace(self._new, self.path)
        _sync_folder(self.path.parent)

    def read(self):
        """Return the latest whole checkpoint, or None where there is no file.

        Warns
        -----
        UserWarning
            Where the latest is torn, so that the one before is used.

        Raises
        ------
        ValueError
            Where no file is whole.
        """
        present = [path for path in (self.path, self.previous) if path.exists()]
        for path in present:
            payload = _whole_payload(path)
            if payload is not None:
                break
        else:
            if not present:
                return None
            raise ValueError(
                f"{' and '.join(map(str, present))}: torn, or no checkpoint of "
                "fit_stream. Remove what is there to begin anew."
            )
        if path != present[0]:
            warnings.warn(
                f"{self.path} is torn; the checkpoint before it is used.",
                UserWarning,
                stacklevel=4,
            )
        if path != self.path:
            # So that the next write does not put what is torn in its place.
            os.replace(path, self.path)
        return pickle.loads(payload)


def describe(estimator):
    """Type and parameters of an estimator and those inside it, not what it learnt.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    dict of str to tuple of (str, str)
        By name a hash, the same in every process, and a text, which may hold
        addresses; the type has the empty name.
    """
    kind = _kind(estimator)
    described = {"": (kind, kind)}
    for name, value in sorted(estimator.get_params(deep=True).items()):
        # What a part has learnt, a clone has not.
        plain = clone(value, safe=False)
        with _picklable(name):
            described[name] = hash_of(_by_parameters(plain)), repr(plain)
    return described


def _by_parameters(value):
    """Estimators in a value as types and parameters, which no other version changes."""
    if isinstance(value, list | tuple):
        return [_by_parameters(part) for part in value]
    # What is frozen counts with all that it has learnt.
    if isinstance(value, FrozenEstimator | type) or not hasattr(value, "get_params"):
        return value
    parameters = value.get_params(deep=False)
    return _kind(value), {name: _by_parameters(parameters[name]) for name in parameters}


def _kind(estimator):
    return f"{type(estimator).__module__}.{type(estimator).__qualname__}"


def differences(kept, given):
    """List in what two descriptions differ, in words.

    Parameters
    ----------
    kept, given : dict of str to tuple
        Of the checkpoint, and of the estimator at hand.

    Returns
    -------
    list of str
    """
    if kept[""] != given[""]:
        return [f"it is of a {kept[''][1]}, this is a {given[''][1]}"]
    names = sorted({*kept, *given})
    none = (None, "absent")
    changed = [
        name for name in names if kept.get(name, none)[0] != given.get(name, none)[0]
    ]
    # What holds parts differs with them: the parts say more.
    inner = [
        name
        for name in changed
        if not any(other.startswith(f"{name}__") for other in changed)
    ]
    if inner != ["steps"]:
        inner = [name for name in inner if name != "steps"] or inner
    return [
        f"{name} was {kept.get(name, none)[1]}, is {given.get(name, none)[1]}"
        for name in inner
    ]


@contextmanager
def _picklable(what):
    try:
        yield
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"There can be no checkpoint, since {what} cannot be pickled: {error}"
        ) from error


def _whole_payload(path):
    """Return what a file holds, or None where that is not whole."""
    content = path.read_bytes()
    start = len(MAGIC) + DIGEST
    digest, payload = content[len(MAGIC) : start], content[start:]
    if content[: len(MAGIC)] != MAGIC or hashlib.sha256(payload).digest() != digest:
        return None
    return payload


def _sync_folder(folder):
    """Force renames to the disk, where the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

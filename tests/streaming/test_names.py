"""The public names of odalib.streaming, and what importing them costs."""

import subprocess
import sys
from pathlib import Path

import pytest

from odalib import streaming

ROOT = Path(streaming.__file__).parents[2]


def loaded_after(statement):
    """Top-level packages that a fresh interpreter holds after the statement."""
    code = (
        f"{statement}\nimport sys\nprint(*{{n.partition('.')[0] for n in sys.modules}})"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return set(process.stdout.split())


def test_names_are_listed_before_they_are_loaded():
    loaded = loaded_after(
        "from odalib import streaming as s; assert set(s.__all__) <= {*dir(s)}"
    )
    assert not {"numpy", "sklearn"} & loaded


def test_fits_load_no_package_that_they_do_not_use():
    optional = {"dask", "pandas", "polars", "pyarrow", "river", "tqdm"}
    # scikit-learn itself may load what is installed.
    allowed = loaded_after("import sklearn.pipeline, sklearn.metrics")
    used = loaded_after("from odalib.streaming import *")
    assert not optional & (used - allowed)


@pytest.mark.parametrize("name", streaming.__all__)
def test_public_name_resolves_and_shows_an_example(name):
    assert getattr(streaming, name) is getattr(streaming, name)
    assert "odalib.streaming import " in getattr(streaming, name).__doc__


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'fi'"):
        streaming.fi  # noqa: B018

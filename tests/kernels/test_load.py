"""Which compiled kernels are loaded, and what is said of those that are not."""

import pytest

from odalib.kernels import compiled


def test_kernels_that_were_not_built_are_none():
    assert compiled.load("family_without_kernels") is None


def test_kernels_that_cannot_be_loaded_are_a_fault(monkeypatch):
    """What they import is missing, so that NumPy must not serve in silence."""

    def missing(name):
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy")

    monkeypatch.setattr(compiled, "import_module", missing)
    with pytest.raises(ModuleNotFoundError, match="scipy"):
        compiled.load("adf")

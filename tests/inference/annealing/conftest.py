import pytest

from odalib.inference.annealing import rows


@pytest.fixture(autouse=True, scope="package")
def sparse_rows_stay_sparse():
    """However few they are: else none of these small problems is sparse."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "SMALL_ELEMENTS", 0)
        yield

"""Errors about numbers that are none say where the first of them is."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from odalib import EPGaussianProcessClassifier, IsingModel, ODAClusterer, ODARegressor


def rows_with(*faults):
    """Rows of four columns that hold each fault at its place."""
    rows = np.arange(24.0).reshape(6, 4) % 5.0
    for row, column, fault in faults:
        rows[row, column] = fault
    return rows


FORMS = {
    "array": (np.asarray, "2"),
    "fortran": (np.asfortranarray, "2"),
    "csr": (sp.csr_array, "2"),
    "coo": (sp.coo_matrix, "2"),
    "pandas": (lambda rows: pd.DataFrame(rows, columns=list("abcd")), "'c'"),
    "polars": (lambda rows: pl.DataFrame(rows, schema=list("abcd")), "'c'"),
}


@pytest.mark.parametrize(("form", "column"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("fault", [np.nan, np.inf])
def test_the_first_by_rows(form, column, fault):
    rows = form(rows_with((5, 0, fault), (3, 3, fault), (3, 2, fault)))
    with pytest.raises(ValueError, match="Input X contains") as caught:
        ODAClusterer(2).fit(rows)
    assert caught.value.__notes__ == [f"The first of X is in row 3, column {column}."]


def test_of_rows_asked_about():
    model = ODARegressor(2, random_state=0).fit(rows_with(), np.arange(6.0))
    with pytest.raises(ValueError, match="contains NaN") as caught:
        model.predict(rows_with((4, 1, np.nan)))
    assert caught.value.__notes__ == ["The first of X is in row 4, column 1."]


def test_of_kernels_and_of_missing_entries():
    with pytest.raises(ValueError, match="contains NaN") as caught:
        EPGaussianProcessClassifier().fit(rows_with((1, 1, np.nan)), [0, 1] * 3)
    assert caught.value.__notes__ == ["The first of X is in row 1, column 1."]
    # NaN is a missing entry here, and no fault.
    spins = np.where(rows_with((0, 0, np.nan), (2, 0, np.inf)) > 2.0, np.inf, 0.0)
    spins[0, 0], spins[1] = np.nan, 1.0
    first = np.argwhere(np.isinf(spins))[0]
    with pytest.raises(ValueError, match="contains infinity") as caught:
        IsingModel().fit(spins)
    place = f"row {first[0]}, column {first[1]}"
    assert caught.value.__notes__ == [f"The first of X is in {place}."]


def test_other_errors_have_no_place():
    with pytest.raises(ValueError, match="Expected 2D array") as caught:
        ODAClusterer(2).fit(rows_with((0, 0, np.nan))[0])
    assert not hasattr(caught.value, "__notes__")

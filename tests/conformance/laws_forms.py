"""Laws of forms: of rows and labels, of questions, of copies, of threads."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.base import clone

from .checks_persistence import COPIES
from .comparing import (
    answers,
    assert_close,
    assert_same_bits,
    canonical,
)
from .lawful import (
    draw_cloud,
    draw_cuts,
    draw_groups,
    draw_order,
    draw_stream,
    draw_table,
    law,
)


def _strided(X):
    wide = np.zeros((3 * X.shape[0], 2 * X.shape[1]), X.dtype)
    wide[::3, ::2] = X
    return wide[::3, ::2]


FORMS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "list": lambda X: X.tolist(),
    "frame": pd.DataFrame,
    "sparse": lambda X: sp.csr_array(X.astype(X.dtype.newbyteorder("="))),
}


@law(kind="dtype and layout")
def check_law_of_forms(subject, draw):
    """The same whole numbers in any dtype and memory make for the same model."""
    X, y = subject.counts(draw(st.integers(30, 60)), draw(st.integers(0, 99)))
    forms = [name for name in FORMS if name != "sparse" or subject.has("sparse")]
    form, dtype = draw(st.sampled_from(forms)), draw(st.sampled_from(DTYPES))
    Z = FORMS[form](X.astype(dtype))
    model, plain = subject.make().fit(Z, y), subject.make().fit(X, y)
    rtol = subject.within(1e-5 if dtype == "f4" else 1e-9)
    message = f"{dtype} as {form}"
    assert_close(canonical(model, Z), canonical(plain, X), message, rtol=rtol)


DTYPES = ("f8", "f4", ">f8", "i8", "u1")

NAMES = {
    "text": ["ham", "eggs", "spam"],
    "numbers": [7, -3, 2],
    "floats": [2.0, -1.0, 3.0],
    "truth values": [True, False],
}


@law("classifier", kind="labels")
def check_law_of_the_names_of_classes(subject, draw):
    """Classes under any names, in any order of these, are told apart as they were."""
    # Of equal rows of several classes, some must come first, by a name.
    X, y = draw_cloud(subject, draw)
    names = draw(st.sampled_from(sorted(NAMES)))
    classes = np.array(draw(st.permutations(NAMES[names])))
    X, y = X[y < len(classes)], y[y < len(classes)]
    plain, named = subject.make().fit(X, y), subject.make().fit(X, classes[y])
    assert named.classes_.tolist() == sorted(classes.tolist()), "classes_"
    columns = np.searchsorted(named.classes_, classes)
    said = {"predict_proba": named.predict_proba(X)[:, columns]}
    expected = {"predict_proba": plain.predict_proba(X)}
    assert_close(said, expected, f"{names} for names", rtol=subject.within(1e-7))


@law(kind="subsets of rows")
def check_law_of_subsets(subject, draw):
    """Rows are answered alone as in company: labels the same, numbers to rounding.

    BLAS adds the products of one row in another order than those of several. No row
    is as near to two codevectors as rounding.
    """
    X, y = draw_cloud(subject, draw)
    model = subject.make().fit(X, y)
    rows = draw_order(draw, len(X))[: draw(st.integers(1, len(X)))]
    part, whole = answers(model, X[rows]), answers(model, X)
    expected = {name: value[rows] for name, value in whole.items()}
    assert_close(part, expected, f"{len(rows)} rows of {len(X)}", rtol=1e-11)
    if "predict" in part and part["predict"].dtype.kind in "iu":
        np.testing.assert_array_equal(part["predict"], expected["predict"])


@law("partial_fit", kind="clone and pickle")
def check_law_of_copies(subject, draw):
    """A stream goes on from a copy, taken after any call, to the same bits."""
    X, y = draw_table(subject, draw)
    model = draw_stream(subject, draw)
    copied = clone(model)
    for rows in draw_cuts(draw, len(X)):
        subject.feed(model, X[rows], y[rows])
        subject.feed(copied, X[rows], y[rows])
        copied = COPIES[draw(st.sampled_from(sorted(COPIES)))](copied)
    assert_same_bits(answers(copied, X), answers(model, X), "a stream of copies")


@law(kind="clone and pickle")
def check_law_of_copies_of_a_fit(subject, draw):
    """Copies of a fitted model answer alike."""
    X, y = draw_table(subject, draw)
    model = subject.make().fit(X, y)
    copied = COPIES[draw(st.sampled_from(sorted(COPIES)))](model)
    assert_same_bits(answers(copied, X), answers(model, X), "a copy")


@law(kind="bits for every n_jobs and run")
def check_law_of_threads(subject, draw):
    """Any number of threads learns and answers the same bits, again and again."""
    X, y = draw_table(subject, draw)
    one, several = subject.make(), subject.make()
    if subject.has("n_jobs"):
        one.set_params(n_jobs=1)
        several.set_params(n_jobs=draw(JOBS))
    # Processes are tried elsewhere: they take seconds to start.
    with parallel_config(backend="threading"):
        for model in (one, several):
            model.fit(X, y)
    message = f"{several} and {one} of the same rows"
    assert_same_bits(answers(several, X), answers(one, X), message)


JOBS = st.sampled_from([None, 2, 3, 7, -1])


@law(kind="float32 against float64")
def check_law_of_precision(subject, draw):
    """The same numbers held in float32 are learnt as in float64, and answered so.

    All sums are taken in float64, so that nothing but what is published, and what is
    made of it, is rounded to 24 bits.
    """
    X, y = draw_groups(subject, draw)
    single = X.astype("f4")
    a = canonical(subject.make().fit(single, y), single)
    b = canonical(subject.make().fit(single.astype("f8"), y), single.astype("f8"))
    assert_close(a, b, "float32", rtol=subject.within(2.0**-18))

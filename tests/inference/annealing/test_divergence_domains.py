"""What divergences refuse, and divergences that users define."""

import numpy as np
import pytest
import scipy.sparse as sp

from odalib.inference.annealing.divergences import (
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    Mahalanobis,
    SquaredEuclidean,
    as_divergence,
)
from odalib.kernels.annealing import tangent_planes

REFUSED = [
    (
        "kullback_leibler",
        -0.5,
        "Negative values in data: the Kullback-Leibler",
        "x >= 0",
    ),
    ("itakura_saito", 0.0, "Negative or zero values: the Itakura-Saito", "x > 0"),
    ("itakura_saito", -2.0, "Negative or zero values: the Itakura-Saito", "x > 0"),
    ("logistic", -1e-9, "Values outside: the logistic", "0 <= x <= 1"),
    ("logistic", 1.5, "Values outside: the logistic", "0 <= x <= 1"),
]


@pytest.mark.parametrize("column", [0, 2])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize(("name", "value", "start", "domain"), REFUSED)
def test_refusal_names_divergence_domain_row_and_column(
    name, value, start, domain, layout, column
):
    x = np.full((5, 3), 0.5)
    x[3, column] = x[4, 1] = value
    rows = layout(x)
    if sp.issparse(rows):
        # Explicit zeros stay stored.
        rows = layout(np.full((5, 3), 0.5))
        rows[3, column] = rows[4, 1] = value
    with pytest.raises(ValueError) as refusal:
        as_divergence(name).check_domain(rows)
    expected = (
        f"divergence takes {domain}, but row 3, column {column} of X holds {value:g}."
    )
    assert str(refusal.value) == f"{start} {expected}"


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("squared_euclidean", [[-1e9, 0.0]]),
        ("mahalanobis", [[-1e9, 0.0]]),
        ("kullback_leibler", [[0.0, 1e9], [0.0, 0.0]]),
        ("itakura_saito", [[1e-139, 1e9]]),
        ("logistic", [[0.0, 1.0], [0.0, 0.0]]),
    ],
)
def test_ends_of_the_domain_are_accepted(name, x, layout):
    as_divergence(name).check_domain(layout(np.array(x)))


def test_itakura_saito_refuses_zeros_that_are_not_stored():
    rows = sp.csr_matrix([[1.0, 2.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"Itakura-Saito .* x > 0, but row 1 of the"):
        ItakuraSaito().check_domain(rows)


@pytest.mark.parametrize(
    ("precision", "message"),
    [
        ([1.0, 2.0], r"square matrix, got shape \(2,\)"),
        (np.ones((2, 3)), r"square matrix, got shape \(2, 3\)"),
        ([[1.0, 0.5], [0.4, 1.0]], "finite and symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], "finite and symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive semi-definite; its smallest .* is -1"),
    ],
)
def test_precision_is_checked(precision, message):
    with pytest.raises(ValueError, match=message):
        Mahalanobis(precision)


def test_precision_is_copied():
    precision = np.eye(2)
    divergence = Mahalanobis(precision)
    precision[0, 0] = 5.0
    assert divergence.precision[0, 0] == 1.0


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("squared_euclidean", SquaredEuclidean),
        ("kullback_leibler", KullbackLeibler),
        ("itakura_saito", ItakuraSaito),
        ("mahalanobis", Mahalanobis),
        ("logistic", Logistic),
    ],
)
def test_names(name, kind):
    assert type(as_divergence(name)) is kind


def test_unknown_name():
    with pytest.raises(ValueError, match=r"'euclid'; take one of \['itakura_saito'"):
        as_divergence("euclid")


class Quartic:
    """``sum_j x_j^4 / 12`` with the Hessian ``x_j^2``, as a user would write it."""

    def phi(self, x):
        assert not sp.issparse(x)
        return (x**4).sum(axis=1) / 12.0

    def gradient(self, points):
        return points**3 / 3.0

    def hessian_diagonal(self, points):
        return points**2

    def check_domain(self, x):
        assert not sp.issparse(x)
        if (x > 100.0).any():
            raise ValueError("too large")


def test_user_divergence():
    x, points = np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([[2.0, 1.0]])
    divergence = as_divergence(Quartic())
    gradients, offsets = tangent_planes(divergence, points, points[0])
    result = divergence.phi(x) + offsets - x @ gradients[0]
    # (x^4 - mu^4) / 12 - mu^3 (x - mu) / 3, worked out by hand.
    np.testing.assert_allclose(
        result, [17.0 / 12.0 + 11.0 / 12.0, 4.0 + 6.0], rtol=1e-15
    )
    np.testing.assert_array_equal(
        divergence.hessian_product(points, x[:1]), [[4.0, 2.0]]
    )
    np.testing.assert_array_equal(divergence.phi(sp.csr_matrix(x)), divergence.phi(x))
    with pytest.raises(ValueError, match="too large"):
        divergence.check_domain(sp.csr_matrix([[0.0, 101.0]]))
    assert divergence.name == "Quartic"


def test_hessian_product_of_the_user_is_preferred():
    class Skewed(Quartic):
        name = "skewed"

        def hessian_product(self, points, vectors):
            return points[:, ::-1] * vectors

    divergence = as_divergence(Skewed())
    points = np.array([[2.0, 1.0]])
    product = divergence.hessian_product(points, np.ones((1, 2)))
    np.testing.assert_array_equal(product, [[1.0, 2.0]])
    assert divergence.name == "skewed"


def test_phi_of_the_user_must_give_one_number_per_row():
    class Wrong(Quartic):
        def phi(self, x):
            return x**4

    with pytest.raises(ValueError, match=r"Wrong.*one number per row, shape \(3,\)"):
        as_divergence(Wrong()).phi(np.ones((3, 2)))


def test_missing_methods_are_named():
    class Poor:
        gradient = hessian_diagonal = Quartic.gradient

    with pytest.raises(TypeError, match=r"Poor lacks .*\['phi', 'check_domain'\]"):
        as_divergence(Poor())

    class Flat:
        phi, gradient, check_domain = (
            Quartic.phi,
            Quartic.gradient,
            Quartic.check_domain,
        )

    with pytest.raises(TypeError, match=r"Flat lacks .*\['hessian_diagonal'\]"):
        as_divergence(Flat())


def test_divergence_objects_pass_through():
    divergence = KullbackLeibler()
    assert as_divergence(divergence) is divergence

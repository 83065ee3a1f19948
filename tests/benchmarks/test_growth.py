"""Exponents of growth, on costs that were made up."""

import numpy as np
import pytest

from benchmarks._growth import fitted_exponent, processor_seconds

SIZES = (10, 20, 40, 80)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.2])
def test_power_laws_have_their_exponent(exponent):
    costs = [3e-6 * size**exponent for size in SIZES]
    assert fitted_exponent(SIZES, costs) == pytest.approx(exponent, abs=1e-12)


def test_the_line_is_that_of_least_squares():
    # Residuals in logarithms that are orthogonal to a line leave its slope.
    sizes = np.exp([0.0, 1.0, 2.0, 3.0])
    costs = np.exp(2.0 * np.log(sizes) + [0.1, -0.1, -0.1, 0.1])
    assert fitted_exponent(sizes, costs) == pytest.approx(2.0, abs=1e-12)


def test_fewer_than_four_sizes_are_refused():
    with pytest.raises(ValueError, match="at least four sizes, not 3"):
        fitted_exponent(SIZES[:3], SIZES[:3])


def test_calls_are_counted_before_they_are_timed():
    calls = []
    assert processor_seconds(lambda: calls.append(sum(range(200_000)))) > 0
    # One to warm up, one to choose how often, five runs.
    assert len(calls) >= 7 and (len(calls) - 2) % 5 == 0

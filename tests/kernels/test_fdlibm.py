"""exp, log, log10 and pow return the bits of Java's StrictMath, also where other libraries round differently."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.kernels import fdlibm

_INFINITY, _NAN = math.inf, math.nan


@given(st.floats(min_value=-745, max_value=709), st.floats(min_value=5e-324, max_value=1e308))
def test_results_are_within_a_unit_of_the_last_place(exponent: float, number: float) -> None:
    assert fdlibm.exp(exponent) == pytest.approx(math.exp(exponent), rel=3e-16, abs=5e-324)
    assert fdlibm.log(number) == pytest.approx(math.log(number), rel=3e-16, abs=1e-300)
    assert fdlibm.log10(number) == pytest.approx(math.log10(number), rel=5e-16, abs=1e-300)


@given(st.floats(min_value=1e-3, max_value=1e3), st.floats(min_value=-50, max_value=50))
def test_powers_are_within_a_unit_of_the_last_place(base: float, power: float) -> None:
    assert fdlibm.pow(base, power) == pytest.approx(math.pow(base, power), rel=3e-16)


@pytest.mark.parametrize(
    ("base", "power", "expected"),
    [
        (0.0, 0.0, 1.0),
        (_NAN, 0.0, 1.0),
        (1.0, _NAN, _NAN),
        (1.0, _INFINITY, _NAN),
        (-1.0, _INFINITY, _NAN),
        (-1.0, 1.8446744073709552e19, 1.0),
        (-2.0, 3.0, -8.0),
        (-2.0, 0.5, _NAN),
        (-0.0, -3.0, -_INFINITY),
        (-0.0, 0.5, 0.0),
        (0.0, -2.0, _INFINITY),
        (2.0, 1024.0, _INFINITY),
        (2.0, -1074.0, 5e-324),
        (2.0, -1076.0, 0.0),
        (-_INFINITY, 3.0, -_INFINITY),
        (-_INFINITY, -3.0, -0.0),
        (0.5, _INFINITY, 0.0),
    ],
)
def test_special_powers(base: float, power: float, expected: float) -> None:
    found = fdlibm.pow(base, power)
    assert (
        math.isnan(found)
        if math.isnan(expected)
        else (found, math.copysign(1, found))
        == (
            expected,
            math.copysign(1, expected),
        )
    )


@pytest.mark.parametrize(
    ("function", "argument", "expected"),
    [
        (fdlibm.exp, _NAN, _NAN),
        (fdlibm.exp, -_INFINITY, 0.0),
        (fdlibm.exp, 710.0, _INFINITY),
        (fdlibm.exp, -745.1332191019411, 5e-324),
        (fdlibm.log, 0.0, -_INFINITY),
        (fdlibm.log, -1.0, _NAN),
        (fdlibm.log, _INFINITY, _INFINITY),
        (fdlibm.log10, 1000.0, 3.0),
    ],
)
def test_special_arguments(function: Callable[[float], Any], argument: float, expected: float) -> None:
    found = function(argument)
    assert found == expected or (math.isnan(found) and math.isnan(expected))

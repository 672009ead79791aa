"""Sine, cosine and tangent return the bits that Java's Math returns on x86, in every reduction."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.kernels import trigonometry
from pyspark_pipeline.kernels.jit import frozen

_INFINITY, _NAN = math.inf, math.nan
_FUNCTIONS = {"sin": trigonometry.sin, "cos": trigonometry.cos, "tan": trigonometry.tan}


def _bits(number: float) -> int:
    return int(np.float64(number).view(np.int64))


# Results of HotSpot, which the C library rounds to the neighbour.
@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [
        ("cos", 1.31, "0x1.0809d6c4005c5p-2"),
        ("cos", 1.416, "0x1.3bc220ea0ed0fp-3"),
        ("cos", 2.498, "-0x1.999266728460fp-1"),
        ("cos", 200.0, "0x1.f2e1536cad6e9p-2"),
        ("cos", 1155.0, "0x1.cae900c8cc38dp-2"),
        ("cos", 27166.0, "-0x1.981d0fde99413p-1"),
        ("cos", 101732.0, "0x1.2b32b116fd7c5p-1"),
        ("cos", 101801.0, "0x1.58e94e45ce99cp-1"),
        ("cos", 131063.0, "-0x1.cce7ed02d5573p-2"),
        ("cos", 8.8e+21, "0x1.c4b49698299ebp-2"),
        ("cos", 3.4e+40, "-0x1.b8bc12bcb32ffp-1"),
        ("cos", 7.3e+290, "-0x1.f07bc7e206abdp-1"),
        ("sin", 1.622, "0x1.ff5436d5700d7p-1"),
        ("sin", 2.111, "0x1.b717dd59dd992p-1"),
        ("sin", 2.569, "0x1.15688323036b3p-1"),
        ("sin", 487.0, "-0x1.b31b7aa39dc72p-5"),
        ("sin", 950.0, "0x1.e413f624abca3p-1"),
        ("sin", 30609.0, "-0x1.c925f7fef8d80p-2"),
        ("sin", 101052.0, "-0x1.cf1cb50816f29p-2"),
        ("sin", 101191.0, "0x1.2f3a135707a79p-2"),
        ("sin", 127609.0, "-0x1.350a8bdea6a97p-1"),
        ("sin", 4.6e+18, "-0x1.d6269d2486ea9p-3"),
        ("sin", 7.3e+35, "-0x1.b0d5f5a2cc97fp-3"),
        ("sin", 9e+300, "-0x1.10d494654e50dp-2"),
        ("tan", 0.08, "0x1.48617f0ce2c49p-4"),
        ("tan", 0.23, "0x1.df868e1f000b1p-3"),
        ("tan", 2.597, "-0x1.361cf82318686p-1"),
        ("tan", 379.0, "-0x1.113ece37487e7p+1"),
        ("tan", 1276.0, "0x1.20ab76a6c62f7p-1"),
        ("tan", 12941.0, "0x1.fa5c2650477d1p-1"),
        ("tan", 100961.0, "-0x1.8513244f4293bp-2"),
        ("tan", 101360.0, "-0x1.706e7eb953f9fp-2"),
        ("tan", 108045.0, "-0x1.88e833d76c751p-1"),
        ("tan", 9300000000000.0, "0x1.0546253c00453p+0"),
        ("tan", 9.9e+20, "0x1.63038b76811e0p+1"),
        ("tan", 1.7e+90, "-0x1.90fa5be9a4ca5p-1"),
    ],
)
def test_results_that_other_libraries_round_differently(name: str, number: float, expected: str) -> None:
    found = _FUNCTIONS[name](number)
    assert found.hex() == expected
    assert abs(_bits(found) - _bits(getattr(math, name)(number))) <= 1


@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [
        ("sin", -0.0, -0.0),
        ("sin", 5e-324, 5e-324),
        ("sin", -2.2250738585072014e-308, -2.2250738585072014e-308),
        ("sin", -_INFINITY, _NAN),
        ("sin", math.pi, 1.2246467991473532e-16),
        ("cos", -0.0, 1.0),
        ("cos", 5e-324, 1.0),
        ("cos", _INFINITY, _NAN),
        ("cos", math.pi / 2, 6.123233995736766e-17),
        ("tan", -0.0, -0.0),
        ("tan", -5e-324, -5e-324),
        ("tan", _NAN, _NAN),
        ("tan", math.pi / 2, 1.633123935319537e16),
        ("tan", -math.pi, 1.2246467991473532e-16),
    ],
)
def test_special_arguments(name: str, number: float, expected: float) -> None:
    found = _FUNCTIONS[name](number)
    if math.isnan(expected):
        assert math.isnan(found)
    else:
        assert (found, math.copysign(1, found)) == (expected, math.copysign(1, expected))


@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.floats(min_value=-1e6, max_value=1e6)))
def test_results_are_within_two_units_of_the_last_place(number: float) -> None:
    for name, function in _FUNCTIONS.items():
        assert function(number) == pytest.approx(getattr(math, name)(number), rel=5e-16, abs=5e-324)
    assert trigonometry.sin(-number) == -trigonometry.sin(number)
    assert trigonometry.cos(-number) == trigonometry.cos(number)
    assert trigonometry.tan(-number) == -trigonometry.tan(number)


@pytest.mark.parametrize("name", sorted(_FUNCTIONS))
def test_all_writes_the_function_of_every_number(name: str) -> None:
    numbers: Any = frozen(np.array([1.622, -1253.0, 4.4e40, 0.0, 1e-300]))
    out = np.empty(5)
    write: Callable[[Any, Any], None] = getattr(trigonometry, f"{name}_all")
    write(numbers, out)
    assert [float(number) for number in out] == [_FUNCTIONS[name](float(number)) for number in numbers]

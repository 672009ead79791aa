"""Angles, hyperbolic functions and roots return the bits of Java's StrictMath, at the limits of every case too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.kernels import angles, hyperbolic, roots

_INFINITY, _NAN = math.inf, math.nan
_ALL = st.floats(allow_nan=False, allow_infinity=False)


def _is_near(found: float, expected: float) -> bool:
    return found == pytest.approx(expected, rel=5e-16, abs=1e-307)


@given(st.floats(min_value=-1, max_value=1), _ALL, _ALL)
def test_angles_are_within_two_units_of_the_last_place(sine: float, tangent: float, other: float) -> None:
    assert _is_near(angles.asin(sine), math.asin(sine))
    assert _is_near(angles.acos(sine), math.acos(sine))
    assert _is_near(angles.atan(tangent), math.atan(tangent))
    assert _is_near(angles.atan2(tangent, other), math.atan2(tangent, other))


@given(st.floats(min_value=-709, max_value=709), st.floats(min_value=-0.999, max_value=1e300))
def test_hyperbolic_functions_are_near_other_ones(number: float, other: float) -> None:
    for name in ("sinh", "cosh", "tanh", "expm1"):
        assert getattr(hyperbolic, name)(number) == pytest.approx(getattr(math, name)(number), rel=1e-15, abs=1e-300)
    assert hyperbolic.log1p(other) == pytest.approx(math.log1p(other), rel=5e-16, abs=1e-300)
    assert hyperbolic.asinh(other, True) == pytest.approx(math.asinh(other), rel=1e-15, abs=1e-300)
    assert hyperbolic.acosh(1 + abs(other), True) == pytest.approx(math.acosh(1 + abs(other)), rel=1e-14, abs=1e-300)


@given(_ALL, _ALL)
def test_roots_are_within_two_units_of_the_last_place(number: float, other: float) -> None:
    assert roots.cbrt(number) == pytest.approx(math.copysign(abs(number) ** (1 / 3), number), rel=1e-13)
    assert roots.hypot(number, other) == pytest.approx(math.hypot(number, other), rel=5e-16, abs=5e-323)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (angles.asin, (-0.0,), -0.0),
        (angles.asin, (1.0000000000000002,), _NAN),
        (angles.acos, (-1.0,), math.pi),
        (angles.acos, (_NAN,), _NAN),
        (angles.atan, (-_INFINITY,), -math.pi / 2),
        (angles.atan2, (0.0, -0.0), math.pi),
        (angles.atan2, (-0.0, 0.0), -0.0),
        (angles.atan2, (-5.0, -0.0), -math.pi / 2),
        (angles.atan2, (_INFINITY, -_INFINITY), 2.356194490192345),
        (angles.atan2, (-1.0, _INFINITY), -0.0),
        (angles.atan2, (1e-300, -1e300), math.pi),
        (hyperbolic.sinh, (-0.0,), -0.0),
        (hyperbolic.sinh, (710.4758600739439,), 1.7976931348621744e308),
        (hyperbolic.sinh, (-710.475860073944,), -_INFINITY),
        (hyperbolic.cosh, (-_INFINITY,), _INFINITY),
        (hyperbolic.cosh, (_NAN,), _NAN),
        (hyperbolic.tanh, (-_INFINITY,), -1.0),
        (hyperbolic.expm1, (-_INFINITY,), -1.0),
        (hyperbolic.expm1, (5e-324,), 5e-324),
        (hyperbolic.expm1, (709.782712893384,), 1.7976931348622732e308),
        (hyperbolic.expm1, (709.7827128933841,), _INFINITY),
        (hyperbolic.log1p, (-1.0,), -_INFINITY),
        (hyperbolic.log1p, (-1.5,), _NAN),
        (hyperbolic.log1p, (_INFINITY,), _INFINITY),
        (hyperbolic.asinh, (-1e10, False), -_INFINITY),
        (hyperbolic.asinh, (-0.0, False), 0.0),
        (hyperbolic.asinh, (-0.0, True), -0.0),
        (hyperbolic.asinh, (-_INFINITY, True), -_INFINITY),
        (hyperbolic.acosh, (0.5, True), _NAN),
        (hyperbolic.acosh, (1.0, False), 0.0),
        (hyperbolic.atanh, (1.0,), _INFINITY),
        (roots.cbrt, (-27.0,), -3.0),
        (roots.cbrt, (-_INFINITY,), -_INFINITY),
        (roots.cbrt, (5e-324,), 1.7031839360032603e-108),
        (roots.hypot, (_NAN, -_INFINITY), _INFINITY),
        (roots.hypot, (3e-310, 4e-310), 5e-310),
        (roots.hypot, (1e308, -1e308), 1.4142135623730951e308),
    ],
)
def test_special_arguments(function: Callable[..., Any], arguments: tuple[Any, ...], expected: float) -> None:
    found = function(*arguments)
    if math.isnan(expected):
        assert math.isnan(found)
    else:
        assert (found, math.copysign(1, found)) == (expected, math.copysign(1, expected))

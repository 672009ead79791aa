"""Doubles by the digits that Java prints: those before version 19, and the shortest ones since."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.expressions import ExpressionSettings
from pyspark_pipeline.expressions.compile import compile_expressions
from pyspark_pipeline.expressions.java_numbers import Digits
from pyspark_pipeline.kernels import java_digits
from tests.expressions.build import call, chunk, col, lit


def _texts(values: list[float], is_shortest: bool, kind: str = "double") -> list[Any]:
    expr = call("Cast", "string", col(0, kind), evalMode="ANSI")
    settings = ExpressionSettings(prints_shortest_digits=is_shortest)
    type_ = pa.float64() if kind == "double" else pa.float32()
    (texts,) = compile_expressions([expr], settings).evaluate(chunk(pa.array(values, type_)))
    return list(texts.to_pylist())


@pytest.mark.parametrize(
    ("value", "before", "since_19"),
    [
        (0.0, "0.0", "0.0"),
        (-0.0, "-0.0", "-0.0"),
        (100.0, "100.0", "100.0"),
        (0.001, "0.001", "0.001"),
        (1e-4, "1.0E-4", "1.0E-4"),
        (1e7, "1.0E7", "1.0E7"),
        (9999999.0, "9999999.0", "9999999.0"),
        (2e23, "1.9999999999999998E23", "2.0E23"),
        (2.0**-44, "5.6843418860808015E-14", "5.684341886080802E-14"),
        (1.7976931348623157e308, "1.7976931348623157E308", "1.7976931348623157E308"),
        (5e-324, "4.9E-324", "4.9E-324"),
        (2.2250738585072014e-308, "2.2250738585072014E-308", "2.2250738585072014E-308"),
        (float("inf"), "Infinity", "Infinity"),
        (float("nan"), "NaN", "NaN"),
        (2.0e-3, "0.002", "0.002"),
        (1.1e23, "1.1E23", "1.1E23"),
        (2.0**61, "2.305843009213694E18", "2.305843009213694E18"),
    ],
)
def test_texts_of_both_kinds_of_java(value: float, before: str, since_19: str) -> None:
    assert _texts([value], False) == [before]
    assert _texts([value], True) == [since_19]


def test_a_float_has_fewer_digits() -> None:
    assert _texts([0.1, 1.0e10, 3.3e-45, 16777216.0], False, "float") == ["0.1", "1.0E10", "2.8E-45", "1.6777216E7"]
    assert _texts([0.1, 1.0e10, 3.3e-45, 16777216.0], True, "float") == ["0.1", "1.0E10", "2.8E-45", "1.6777216E7"]


@given(st.lists(st.floats(width=64), min_size=1), st.booleans())
def test_every_text_is_read_as_the_same_number(values: list[float], is_shortest: bool) -> None:
    read = np.array([float(text) for text in _texts(values, is_shortest)])
    np.testing.assert_array_equal(read, np.array(values))
    assert (np.signbit(read) == np.signbit(values))[~np.isnan(read)].all()


@given(st.floats(1e-22, 1e22))
def test_kernels_of_128_bits_agree_with_wide_integers(value: float) -> None:
    """Numbers that Java computes in more than 64 bits; smaller ones have another stopping test."""
    parts = java_digits.parts_of_double(int(np.float64(value).view(np.int64)))
    odd, bits = java_digits.odd_part(parts[0])
    b5, b2, s5, s2, _, _, _ = java_digits.scales(odd, bits, *parts[1:])
    is_narrow = bits + b2 + java_digits.five_bits(b5) < 64 and s2 + 1 + java_digits.five_bits(s5 + 1) < 64
    if not is_narrow and not (parts[1] <= 62 and bits - parts[1] - 1 <= 0):
        assert java_digits.java_digits(*parts) == java_digits.wide_digits(*parts)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_shortest_digits_are_those_of_python(values: list[float]) -> None:
    found = Digits.of(np.array(values), True)
    for row, value in enumerate(values):
        if abs(value) > 1e-320:
            digits = repr(abs(value)).split("e")[0].replace(".", "").strip("0")
            assert str(found.digits[row]).rstrip("0") == digits


def test_rounding_decides_ties_by_the_printed_digits() -> None:
    """1.005 is below the tie as a double and a tie as Java prints it."""
    values = pa.array([1.005, -1.005, 2.5, -0.4, float("nan"), float("-inf"), 1e300, 0.125, None])
    for name, places, expected in (
        ("Round", 2, [1.01, -1.01, 2.5, -0.4, None, float("-inf"), 1e300, 0.13, None]),
        ("BRound", 2, [1.0, -1.0, 2.5, -0.4, None, float("-inf"), 1e300, 0.12, None]),
        ("Round", 0, [1.0, -1.0, 3.0, 0.0, None, float("-inf"), 1e300, 0.0, None]),
        ("BRound", 0, [1.0, -1.0, 2.0, 0.0, None, float("-inf"), 1e300, 0.0, None]),
        ("Round", -1, [0.0, 0.0, 0.0, 0.0, None, float("-inf"), 1e300, 0.0, None]),
    ):
        expr = call(name, "double", col(0, "double"), lit(places, "int"))
        (found,) = compile_expressions([expr], ExpressionSettings()).evaluate(chunk(values))
        rounded = [None if value is None or value != value else value for value in found.to_pylist()]
        assert rounded == expected
        assert not any(value == 0 and np.signbit(value) for value in rounded if value is not None)

"""Doubles and floats by the digits that Java prints: their text, and rounding (``BigDecimal.valueOf``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.registry import FLOATING, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.text_arrays import string_array
from pyspark_pipeline.expressions.values import from_numbers, numbers_or_zero, to_array
from pyspark_pipeline.kernels import java_digits
from pyspark_pipeline.kernels.arrays import Array, BoolArray, Float64Array, Int64Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call, constants

#: Below these numbers Java prints the nearest two digits where one would do.
_TINY = {False: 1e-320, True: 1e-42}


@dataclass(frozen=True, slots=True, kw_only=True)
class Digits:
    """The digits of numbers, ``0.d1d2…dn * 10**exponent``: shape (rows,) each."""

    values: Array
    bits: Int64Array
    digits: Int64Array
    counts: Int64Array
    exponents: Int64Array

    @classmethod
    def of(cls, data: Array, is_shortest: bool) -> Digits:
        """Find the digits of doubles or floats: the shortest, as Java 19 prints them, or those of older versions."""
        is_float = data.dtype == np.float32
        bits = frozen(data.view(np.uint32).astype(np.int64) if is_float else data.view(np.int64))
        found = cls(
            values=frozen(data),
            bits=bits,
            **{name: np.empty(len(data), np.int64) for name in ("digits", "counts", "exponents")},
        )
        if is_shortest:
            texts = text_of(pa.array(data).cast(pa.string()))
            java_digits.split_texts(*texts, found.digits, found.counts, found.exponents)
            for row in np.flatnonzero((data != 0) & (np.abs(data) < _TINY[is_float]) & (found.counts == 1)):
                first, second, power = f"{abs(float(data[row])):.1e}".replace("e", ".").split(".")
                found._set(row, (int(first + second), 2, int(power) + 1))
        else:
            java_digits.split_numbers(bits, is_float, found.digits, found.counts, found.exponents)
            parts = java_digits.parts_of_float if is_float else java_digits.parts_of_double
            for row in np.flatnonzero(found.counts == 0):
                number = java_digits.magnitude_bits(int(bits[row]), is_float)
                found._set(row, java_digits.wide_digits(*parts(number)))
        return found

    def texts(self, validity: pa.Buffer | None) -> pa.StringArray:
        """Return the texts of the numbers, as ``Double.toString`` and ``Float.toString`` print them."""
        rows = len(self.bits)
        ends = np.empty(rows + 1, dtype=np.int32)
        out = allocate(rows * java_digits.LONGEST, np.uint8)
        is_float = self.values.dtype == np.float32
        java_digits.write_numbers(self.bits, is_float, self.digits, self.counts, self.exponents, ends, out)
        return string_array(ends, out[: ends[-1]].copy(), validity)

    def rounded(self, scale: int, rounding: str) -> Float64Array:
        """Round finite doubles to ``scale`` places (-22 to 22); ``rounding`` is a mode of the module decimal."""
        rows = len(self.bits)
        out, exact = np.empty(rows, dtype=np.float64), np.empty(rows, dtype=np.bool_)
        is_even = rounding == ROUND_HALF_EVEN
        java_digits.round_digits(self.values, self.digits, self.counts, self.exponents, scale, is_even, out, exact)
        for row in np.flatnonzero(~exact):
            number = Decimal(int(self.digits[row])).scaleb(int(self.exponents[row] - self.counts[row]))
            size = float(number.quantize(Decimal(1).scaleb(-scale), rounding, Context(prec=400)))
            out[row] = -size if self.values[row] < 0 and size else size
        return out

    def unscaled(self, scale: int, bound: int, words: Int64Array) -> BoolArray:
        """Write the words of decimals, by ``java_digits.unscale_digits``; return which rows are exact."""
        exact = np.empty(len(self.bits), dtype=np.bool_)
        java_digits.unscale_digits(self.values, self.digits, self.counts, self.exponents, scale, bound, words, exact)
        return exact

    def _set(self, row: Any, number: tuple[int, int, int]) -> None:
        self.digits[row], self.counts[row], self.exponents[row] = number


@function("Cast", [case(FLOATING, result=["string"])])
def _to_text(call: Call, settings: ExpressionSettings) -> Kernel:
    """Format as ``Double.toString`` and ``Float.toString``."""

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        found = Digits.of(numbers_or_zero(array), settings.prints_shortest_digits)
        return found.texts(validity_of([array]))

    return Kernel(run=run)


_ROUNDING = {"Round": ROUND_HALF_UP, "BRound": ROUND_HALF_EVEN}

for _name in _ROUNDING:

    @function(_name, [case(["double"], ["int"], matches={"1": r"-?(\d|1\d|2[0-2])"})])
    def _round(call: Call, settings: ExpressionSettings) -> Kernel:
        """Round the decimal number that Java prints; the result is the nearest double, never a negative zero."""
        (scale,) = constants(call.args[1:])

        def run(values: Sequence[Value], rows: int) -> Value:
            array = to_array(values[0], rows)
            data: Array = numbers_or_zero(array)
            rounded = _rounded(data, scale, _ROUNDING[call.name], settings)
            return from_numbers(rounded, pa.float64(), validity_of([array]))

        return Kernel(run=run)


def _rounded(data: Float64Array, scale: int, rounding: str, settings: ExpressionSettings) -> Float64Array:
    """Round doubles; ``rounding`` is a mode of the module decimal."""
    out, exact = np.empty(len(data), dtype=np.float64), np.zeros(len(data), dtype=np.bool_)
    if scale >= 0:
        java_digits.round_doubles(frozen(data), 10.0**scale, out, exact)
    infinite = ~np.isfinite(data)
    out[infinite] = data[infinite]
    rest = np.flatnonzero(~exact & ~infinite)
    if len(rest):
        out[rest] = Digits.of(data[rest], settings.prints_shortest_digits).rounded(scale, rounding)
    return out

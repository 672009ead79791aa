"""Sums per group: of integers in 64 bits, of floating numbers, of decimals in 128 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.errors import EMPTY_CONTEXT, EngineBugError, SparkConditionError
from pyspark_pipeline.expressions.conditions import interval_error
from pyspark_pipeline.kernels.accumulate import (
    add_decimals,
    add_doubles,
    add_limbs,
    add_longs,
    add_wide_decimals,
    mark_exceeding,
    mark_failed,
    merge_decimals,
    merge_longs,
    sum_doubles,
    sum_longs,
    try_add_longs,
)
from pyspark_pipeline.kernels.arrays import Array, BoolArray, Float64Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import bits, bool_array, copied, decimal_words, fixed_array, validity, values
from pyspark_pipeline.kernels.frames import do_long_sums_overflow, frame_decimals, frame_doubles
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.running import run_decimals, run_doubles, run_longs, run_try_longs
from pyspark_pipeline.operators.aggregation.functions.state import (
    Groups,
    PerGroup,
    State,
    ValueState,
    frame_counts,
    known_rows,
    updated,
    warm_up,
)

_WORD = 2**64 - 1
#: States of a group's sum.
_EMPTY, HAS_VALUE, _OVERFLOWED = 0, 1, 3
#: Sums of integers that have no larger total never overflow; those of integral doubles are exact in any order.
_SAFE_TOTAL, _EXACT_TOTAL = 2.0**62, 2.0**52
_CONFIG = '"spark.sql.ansi.enabled"'


def decimal_sum(sum_type: DataType, groups: Groups) -> DecimalSumState:
    """Build the state for a sum of decimals."""
    kinds = {Groups.BY_KEYS: DecimalSumState, Groups.ONE: WholeDecimalSumState, Groups.FRAMES: FrameDecimalSumState}
    return kinds[groups](sum_type)


def long_sum(error: Callable[[], SparkConditionError] | None, groups: Groups) -> LongSumState:
    """Build the state for a sum of integers, of which an overflow raises ``error``; without one it wraps."""
    return WholeLongSumState(error) if groups is Groups.ONE else LongSumState(error)


def double_sum(groups: Groups) -> DoubleSumState:
    """Build the state for a sum of doubles."""
    return WholeDoubleSumState() if groups is Groups.ONE else DoubleSumState()


def out_of_range(value: int, scale: int, target: DataType, context: int) -> SparkConditionError:
    """Build Spark's NUMERIC_VALUE_OUT_OF_RANGE for value · 10**−scale."""
    digits = str(abs(value)).rjust(scale + 1, "0")
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :]
    text = ("-" if value < 0 else "") + whole + ("." + fraction if fraction else "")
    parameters = {
        "value": text, "precision": str(target.precision), "scale": str(target.scale), "config": _CONFIG
    }  # fmt: skip
    condition = "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"
    return SparkConditionError("SparkArithmeticException", condition, parameters, context)


def overflow(message: str, suggestion: str, context: int) -> SparkConditionError:
    """Build Spark's ARITHMETIC_OVERFLOW; ``suggestion`` is the function that tolerates overflow, or empty."""
    alternative = f" Use '{suggestion}' to tolerate overflow and return NULL instead." if suggestion else ""
    parameters = {"message": message, "alternative": alternative, "config": _CONFIG}
    return SparkConditionError("SparkArithmeticException", "ARITHMETIC_OVERFLOW", parameters, context)


def long_overflow() -> SparkConditionError:
    """Build the error of a bigint sum, with a query context without text: Spark's ``Sum`` creates its addition so."""
    return overflow("long overflow", "try_add", EMPTY_CONTEXT)


def _frame_values(
    begin: Int64Array, end: Int64Array, column: pa.Array, dtype: Any, null: float
) -> tuple[Array, BoolArray]:
    """Return the values of a column, ``null`` for NULL, and which frames have a value."""
    data, valid = values(column).astype(dtype), np.ones(len(column), dtype=np.bool_)
    if column.null_count:
        valid = np.asarray(column.is_valid())
        data[~valid] = null
    return data, frame_counts(valid, begin, end) > 0


def _differences(begin: Int64Array, end: Int64Array, data: Array) -> Array:
    """Return the sum of each frame as the difference of two sums of all rows; integers wrap around."""
    running = np.zeros(data.size + 1, dtype=data.dtype)
    np.cumsum(data, out=running[1:])
    sums: Array = running[end] - running[begin]
    return sums


def _total_size(data: Array) -> float:
    """Return the sum of the absolute values, which no sum of some of them exceeds."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(data.astype(np.float64, copy=False)).sum())


def interval_overflow() -> SparkConditionError:
    """Build the error of a sum of intervals, which Spark raises in every mode."""
    return interval_error("try_add")


class _SumWithZeros(State):
    """Sums to which rows that fail the filter may add 0: a group of such rows alone has a sum."""

    _seen: PerGroup[np.uint8]

    def filter_rows(self, groups: Int64Array, passed: BoolArray) -> None:
        if self.has_zeros:
            mark_failed(groups, passed.view(np.uint8), self._seen.array)


class LongSumState(_SumWithZeros, ValueState):
    """Sums of integers. An overflow raises ``error``; without one it wraps."""

    def __init__(self, error: Callable[[], SparkConditionError] | None) -> None:
        self._error = error
        self._sums = PerGroup(np.int64)
        self._seen = PerGroup(np.uint8)
        self.arrays = (self._sums, self._seen)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        data = values(column).astype(np.int64, copy=False)
        if add_longs(*known_rows(groups, data, column), self._sums.array, self._seen.array) and self._error:
            raise self._error()

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        data = values(columns[0]).astype(np.int64, copy=False)
        if run_longs(starts, data, *validity(columns[0]), self._sums.array, self._seen.array) and self._error:
            raise self._error()

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> None:
        data, self._seen.array[: begin.size] = _frame_values(begin, end, columns[0], np.int64, 0)
        self._sums.array[: begin.size] = _differences(begin, end, data)
        if self._error and _total_size(data) >= _SAFE_TOTAL and do_long_sums_overflow(begin, end, frozen(data)):
            raise self._error()

    def sums(self, start: int, stop: int) -> Array:
        """Return the sums, 0 for a group without a value; int64."""
        return self._sums.part(start, stop)

    def column(self, start: int, stop: int) -> pa.Array:
        """Return the sums as bigint; NULL for a group without a value."""
        return fixed_array(pa.int64(), copied(self._sums.part(start, stop)), self._seen.part(start, stop) != _EMPTY)


class WholeLongSumState(LongSumState):
    """The sum of integers of an aggregation without keys."""

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        data = values(columns[0]).astype(np.int64, copy=False)
        if sum_longs(data, *validity(columns[0]), self._sums.array, self._seen.array) and self._error:
            raise self._error()


class TryLongSumState(_SumWithZeros):
    """Sums of integers; a sum that overflows after any row remains overflowed."""

    def __init__(self) -> None:
        self._sums = PerGroup(np.int64)
        self._seen = PerGroup(np.uint8)
        self.arrays = (self._sums, self._seen)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        data = values(columns[0]).astype(np.int64, copy=False)
        try_add_longs(groups, data, *validity(columns[0]), self._sums.array, self._seen.array)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        data = values(columns[0]).astype(np.int64, copy=False)
        run_try_longs(starts, data, *validity(columns[0]), self._sums.array, self._seen.array)

    def merge(self, groups: Int64Array, sums: pa.Array, empty: pa.Array) -> None:
        """Add partial sums; ``empty`` flags sums without a value; other NULL sums have overflowed."""
        merge_longs(groups, values(sums), *validity(sums), *bits(empty), self._sums.array, self._seen.array)

    def column(self, start: int, stop: int, *, empty_is_null: bool) -> pa.Array:
        """Return the sums as bigint; NULL if overflowed; NULL or 0 for a group without a value."""
        seen = self._seen.part(start, stop)
        valid = seen == HAS_VALUE if empty_is_null else seen != _OVERFLOWED
        return fixed_array(pa.int64(), copied(self._sums.part(start, stop)), valid)

    def is_empty(self, start: int, stop: int) -> pa.Array:
        """Return which groups have no value; boolean."""
        return bool_array(self._seen.part(start, stop) == _EMPTY)


class DoubleSumState(ValueState):
    """Sums of numbers as doubles, added in row order as in Spark."""

    def __init__(self) -> None:
        self._sums = PerGroup(np.float64)
        self._seen = PerGroup(np.uint8)
        self.arrays = (self._sums, self._seen)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        data = values(column).astype(np.float64, copy=False)
        add_doubles(*known_rows(groups, data, column), self._sums.array, self._seen.array)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        data = values(columns[0]).astype(np.float64, copy=False)
        run_doubles(starts, data, *validity(columns[0]), self._sums.array, self._seen.array)

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> None:
        data, self._seen.array[: begin.size] = _frame_values(begin, end, columns[0], np.float64, -0.0)
        if _total_size(data) < _EXACT_TOTAL and bool((data == np.trunc(data)).all()):
            self._sums.array[: begin.size] = _differences(begin, end, data)
        else:
            frame_doubles(begin, end, frozen(data), self._sums.array)

    def sums(self, start: int, stop: int) -> Float64Array:
        """Return the sums, 0 for a group without a value; float64."""
        return self._sums.part(start, stop)

    def column(self, start: int, stop: int) -> pa.Array:
        """Return the sums as double; NULL for a group without a value."""
        return fixed_array(pa.float64(), copied(self.sums(start, stop)), self._seen.part(start, stop) != _EMPTY)

    def zero_column(self, start: int, stop: int) -> pa.Array:
        """Return the sums as double; 0 for a group without a value."""
        return fixed_array(pa.float64(), copied(self.sums(start, stop)))


class WholeDoubleSumState(DoubleSumState):
    """The sum of doubles of an aggregation without keys."""

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        data = values(columns[0]).astype(np.float64, copy=False)
        sum_doubles(data, *validity(columns[0]), self._sums.array, self._seen.array)


class DecimalSumState(_SumWithZeros):
    """Sums of decimals as 128-bit integers; a sum with more digits than ``sum_type`` has overflowed.

    Spark stores a group's sum after every row, so a sum that overflowed once remains overflowed.
    """

    def __init__(self, sum_type: DataType) -> None:
        self._type = sum_type
        self._sums = PerGroup(np.int64, 2)
        self._seen = PerGroup(np.uint8)
        self.arrays = (self._sums, self._seen)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        add_decimals(*known_rows(groups, decimal_words(column), column), self._sums.array, self._seen.array)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        raise EngineBugError(f"{type(self).__name__} is not a state of frames")

    def merge(self, groups: Int64Array, sums: pa.Array, empty: pa.Array | None) -> None:
        """Add partial sums; ``empty`` flags sums without a value (None: none); other NULL sums have overflowed."""
        none = (np.zeros((len(sums) + 7) // 8, dtype=np.uint8), 0)
        flags = none if empty is None else bits(empty)
        words = decimal_words(sums)
        merge_decimals(groups, words, *validity(sums), *flags, self._sums.array, self._seen.array)

    def parts(self, start: int, stop: int) -> tuple[Int64Array, UInt8Array]:
        """Return the sums' words, shape (2 · groups,), and per group: 0 empty, 1 has a value, 3 overflowed."""
        words, seen = self._sums.part(start, stop), self._seen.part(start, stop)
        if self._type.precision < 38:
            limit = 10**self._type.precision
            mark_exceeding(words, np.uint64(limit & _WORD), np.int64(limit >> 64), seen)
        return words, seen

    def total(self, group: int) -> int:
        """Return one sum that has not overflowed, unscaled."""
        low, high = self._sums.part(group, group + 1)
        return (int(high) << 64) | (int(low) & _WORD)

    def column(self, start: int, stop: int, *, empty_is_null: bool) -> pa.Array:
        """Return the sums; NULL if overflowed; NULL or 0 for a group without a value."""
        words, seen = self.parts(start, stop)
        valid = seen == HAS_VALUE if empty_is_null else seen != _OVERFLOWED
        return fixed_array(self._type.arrow, copied(words), valid)

    def is_empty(self, start: int, stop: int) -> BoolArray:
        """Return which groups have no value; bool, shape (groups,)."""
        empty: BoolArray = self._seen.part(start, stop) == _EMPTY
        return empty

    def has_overflowed(self, start: int, stop: int) -> BoolArray:
        """Return which sums overflowed; bool, shape (groups,)."""
        overflowed: BoolArray = self._seen.part(start, stop) == _OVERFLOWED
        return overflowed


class WholeDecimalSumState(DecimalSumState):
    """The sum of an aggregation without keys, of any size: Spark checks its digits only when it outputs the sum."""

    def __init__(self, sum_type: DataType) -> None:
        super().__init__(sum_type)
        self._limbs = np.zeros(4, dtype=np.int64)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        if add_limbs(decimal_words(columns[0]), *validity(columns[0]), self._limbs):
            self._seen.array[0] |= HAS_VALUE

    def merge(self, groups: Int64Array, sums: pa.Array, empty: pa.Array | None) -> None:
        kept = sums if empty is None else sums.filter(pc.invert(empty))
        if kept.null_count:
            self._seen.array[0] = _OVERFLOWED
        self.update(groups, [kept])

    def total(self, group: int) -> int:
        return sum(int(limb) << (32 * place) for place, limb in enumerate(self._limbs))

    def parts(self, start: int, stop: int) -> tuple[Int64Array, UInt8Array]:
        total, seen = self.total(0), self._seen.part(0, 1).copy()
        if abs(total) >= 10**self._type.precision:
            total, seen[0] = 0, _OVERFLOWED
        words = np.array([total & _WORD, (total >> 64) & _WORD], dtype=np.uint64).view(np.int64)
        return words, seen


class FrameDecimalSumState(DecimalSumState):
    """Sums of decimals over frames, of any size: Spark checks their digits only at the end of a frame.

    192-bit integers, as three words, low to high.
    """

    def __init__(self, sum_type: DataType) -> None:
        super().__init__(sum_type)
        self._sums = PerGroup(np.int64, 3)
        self.arrays = (self._sums, self._seen)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        add_wide_decimals(groups, decimal_words(column), *validity(column), self._sums.array, self._seen.array)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        run_decimals(starts, decimal_words(column), *validity(column), self._sums.array, self._seen.array)

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        frame_decimals(begin, end, decimal_words(column), *validity(column), self._sums.array, self._seen.array)

    def total(self, group: int) -> int:
        low, middle, high = (int(word) for word in self._sums.part(group, group + 1))
        return (high << 128) | ((middle & _WORD) << 64) | (low & _WORD)

    def parts(self, start: int, stop: int) -> tuple[Int64Array, UInt8Array]:
        sums, seen = self._sums.part(start, stop).reshape(-1, 3), self._seen.part(start, stop).copy()
        words, limit = np.ascontiguousarray(sums[:, :2]).reshape(-1), 10**self._type.precision
        mark_exceeding(words, np.uint64(limit & _WORD), np.int64(limit >> 64), seen)
        seen[sums[:, 2] != sums[:, 1] >> 63] = _OVERFLOWED
        return words, seen


@warm_up
def _load_kernels() -> None:
    decimals = pa.array([1, None]).cast(pa.decimal128(20, 0))
    longs = pa.array([1, None])
    updated(TryLongSumState(), longs).merge(np.zeros(2, dtype=np.int64), longs, pa.array([False, True]))
    doubles = updated(DoubleSumState(), pa.array([1.0, None]))
    edges = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    doubles.over(*edges, [pa.array([0.5])])
    updated(LongSumState(long_overflow), longs).over(*edges, [pa.array([2**62])])
    updated(WholeLongSumState(None), longs)
    with_zeros = updated(LongSumState(None), longs)
    with_zeros.has_zeros = True
    with_zeros.filter_rows(np.zeros(2, dtype=np.int64), np.array([True, False]))
    updated(WholeDoubleSumState(), pa.array([1.0, None]))
    whole = WholeDecimalSumState(parse_type("decimal(38,0)"))
    whole.reserve(1)
    whole.update(np.zeros(2, dtype=np.int64), [decimals])
    updated(FrameDecimalSumState(parse_type("decimal(38,0)")), decimals)
    state = DecimalSumState(parse_type("decimal(20,0)"))
    state.reserve(1)
    state.update(np.zeros(2, dtype=np.int64), [decimals])
    state.merge(np.zeros(2, dtype=np.int64), decimals, pa.array([False, True]))
    state.parts(0, 1)

"""The conjuncts of a filter that say "between": all of one column become one range, tested by one kernel.

A comparison of a column with a constant that is not NULL is such a range (its ends are whole numbers: of an
integer, of days, of microseconds, of a decimal's last digit), and drops the rows where the column is NULL. What
is no range stays an expression (:func:`split_ranges`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.kernels import buffers, row_ranges
from pyspark_pipeline.kernels.decimal_words import bitmap_of, decimal_array, unscaled
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal

#: By column: the decimal128 type of one that may arrive as its unscaled int32 or int64 ("narrow"), else None.
NarrowTypes = Sequence[pa.DataType | None]

#: Take rows by their numbers when at most this share is left, else filter by a mask.
TAKE_BELOW = 0.25

_NARROW_FORMS = (pa.int64(), pa.int32())
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_BITS = {"int": 32, "date": 32, "bigint": 64, "timestamp": 64, "timestamp_ntz": 64, "decimal": 64}


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Keeps the rows whose column ``ordinal`` is not NULL and lies in [``low``, ``high``]."""

    ordinal: int
    low: int
    high: int

    def within(self, other: Range) -> Range:
        """Give the range of the rows that both keep."""
        return Range(ordinal=self.ordinal, low=max(self.low, other.low), high=min(self.high, other.high))


_BOUNDS: Mapping[str, Callable[[int, int, int], tuple[int, int]]] = {
    "EqualTo": lambda value, least, most: (value, value),
    "LessThan": lambda value, least, most: (least, value - 1),
    "LessThanOrEqual": lambda value, least, most: (least, value),
    "GreaterThan": lambda value, least, most: (value + 1, most),
    "GreaterThanOrEqual": lambda value, least, most: (value, most),
}
_MIRRORED = {
    "EqualTo": "EqualTo",
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
}


def range_of(expr: Expr) -> Range | None:
    """Give the range that a conjunct is, None where it is none."""
    if not isinstance(expr, Call):
        return None
    if expr.name == "IsNotNull" and isinstance(expr.args[0], ColumnRef):
        ends = _ends(expr.args[0].type)
        return None if ends is None else Range(ordinal=expr.args[0].ordinal, low=ends[0], high=ends[1])
    if expr.name not in _BOUNDS:
        return None
    name, (column, constant) = expr.name, expr.args
    if isinstance(column, Literal):
        name, column, constant = _MIRRORED[name], constant, column
    if not isinstance(column, ColumnRef) or not isinstance(constant, Literal) or column.type != constant.type:
        return None
    ends = _ends(column.type)
    if ends is None or constant.value is None:
        return None
    value = unscaled(constant.value, column.type.scale) if column.type.is_decimal else int(constant.value)
    low, high = _BOUNDS[name](value, *ends)
    if min(low, high) < ends[0] or max(low, high) > ends[1]:  # beyond every value, or a constant of more than 64 bits
        return None
    return Range(ordinal=column.ordinal, low=low, high=high)


def _ends(kind: DataType) -> tuple[int, int] | None:
    bits = _BITS.get(kind.kind)
    return None if bits is None else (-(1 << bits - 1), (1 << bits - 1) - 1)


def split_ranges(conjuncts: Sequence[Expr]) -> tuple[list[Range], list[int]]:
    """Give the ranges, one a column, and the places of the conjuncts that they stand for.

    No range at all where none of them compares: a test for NULL alone costs nothing on columns without NULLs.
    """
    found = {place: wanted for place, part in enumerate(conjuncts) if (wanted := range_of(part)) is not None}
    ranges: dict[int, Range] = {}
    for wanted in found.values():
        known = ranges.get(wanted.ordinal)
        ranges[wanted.ordinal] = wanted if known is None else known.within(wanted)
    if all(_tests_null(conjuncts[place]) for place in found):
        return [], []
    return list(ranges.values()), list(found)


def _tests_null(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.name == "IsNotNull"


class RangeFilter:
    """Keeps the rows that lie in all ranges. Not shared between drivers: it keeps scratch memory."""

    __slots__ = ("_ranges", "_unread", "_marks", "_rows")

    def __init__(self, ranges: Sequence[Range], unread: Collection[int] = ()) -> None:
        """``unread`` columns leave the filter as columns of the null type."""
        self._ranges = tuple(ranges)
        self._unread = unread
        self._marks: buffers.Array = np.empty(0, dtype=np.uint8)
        self._rows: buffers.Array = np.empty(0, dtype=np.int32)

    def filter(self, chunk: pa.RecordBatch, narrow: NarrowTypes = ()) -> pa.RecordBatch | None:
        """Return the rows kept, as a chunk without narrow columns; None where a column has no form the kernels know."""
        total = chunk.num_rows
        marks = self._marked(chunk)
        if marks is None:
            return None
        count = row_ranges.marked_rows(marks, marks[: total & ~7].view(np.uint64), self._rows)
        if count == total:
            return widened(without(chunk, self._unread), narrow)
        if count == 0:
            return widened(chunk.slice(0, 0), narrow)
        return self._taken(chunk, narrow, marks, self._rows[:count])

    def _marked(self, chunk: pa.RecordBatch) -> buffers.Array | None:
        rows = chunk.num_rows
        if rows > self._rows.size:
            self._marks = np.empty(rows, dtype=np.uint8)
            self._rows = np.empty(rows, dtype=np.int32)
        marks = self._marks[:rows]
        marks.fill(1)
        for wanted in self._ranges:
            column = chunk.column(wanted.ordinal)
            if not _keep(column, wanted, marks):
                return None
            if column.null_count:
                row_ranges.keep_valid(*buffers.validity(column), marks)
        return marks

    def _taken(
        self, chunk: pa.RecordBatch, narrow: NarrowTypes, marks: buffers.Array, rows: buffers.Array
    ) -> pa.RecordBatch:
        """Take the marked rows, whose numbers are ``rows``."""
        indices = pa.array(rows)
        mask = buffers.bool_array(marks) if rows.size > TAKE_BELOW * marks.size else None
        columns = []
        for place, column in enumerate(chunk.columns):
            if place in self._unread:
                columns.append(pa.nulls(rows.size))
            elif _is_narrow(column, narrow, place):
                columns.append(_widened_rows(column, narrow[place], indices, rows))
            else:
                columns.append(column.take(indices) if mask is None else column.filter(mask))
        return pa.RecordBatch.from_arrays(columns, chunk.schema.names)


def _keep(column: pa.Array, wanted: Range, marks: buffers.Array) -> bool:
    """Unmark the rows outside the range, whatever is NULL; say whether the column's form is known."""
    kind = column.type
    if pa.types.is_decimal128(kind):
        words = buffers.decimal_words(column)
        return bool(row_ranges.keep_decimals_between(words, wanted.low, wanted.high, marks))
    if pa.types.is_int64(kind) or pa.types.is_timestamp(kind):
        row_ranges.keep_longs_between(buffers.values(column), wanted.low, wanted.high, marks)
    elif pa.types.is_int32(kind) or pa.types.is_date32(kind):
        low, high = max(wanted.low, _INT_MIN), min(wanted.high, _INT_MAX)
        if low > high:
            marks.fill(0)
        else:
            row_ranges.keep_ints_between(buffers.values(column), np.int32(low), np.int32(high), marks)
    else:
        return False
    return True


def without(chunk: pa.RecordBatch, unread: Collection[int]) -> pa.RecordBatch:
    """Put columns of the null type, which cost nothing to filter, in the places ``unread``."""
    if not unread:
        return chunk
    nothing = pa.nulls(chunk.num_rows)
    columns = [nothing if place in unread else column for place, column in enumerate(chunk.columns)]
    return pa.RecordBatch.from_arrays(columns, chunk.schema.names)


def widened(chunk: pa.RecordBatch, narrow: NarrowTypes) -> pa.RecordBatch:
    """Make decimal128 of the narrow columns; the same chunk where there is none."""
    columns = chunk.columns
    changed = False
    for place, column in enumerate(columns):
        if _is_narrow(column, narrow, place):
            columns[place] = _widened(column, narrow[place])
            changed = True
    return pa.RecordBatch.from_arrays(columns, chunk.schema.names) if changed else chunk


def _is_narrow(column: pa.Array, narrow: NarrowTypes, place: int) -> bool:
    return bool(narrow) and narrow[place] is not None and column.type in _NARROW_FORMS


def _widened(column: pa.Array, target: pa.DataType) -> pa.Array:
    rows = len(column)
    if not rows:
        return pa.nulls(0, target)
    buffer, words = _new_words(rows)
    widen = row_ranges.widen_longs if pa.types.is_int64(column.type) else row_ranges.widen_ints
    widen(buffers.values(column), words)
    valid = bitmap_of(column.is_valid()) if column.null_count else None
    return decimal_array(target, rows, valid, buffer)


def _widened_rows(column: pa.Array, target: pa.DataType, indices: pa.Array, rows: buffers.Array) -> pa.Array:
    buffer, words = _new_words(rows.size)
    widen = row_ranges.widen_rows_of_longs if pa.types.is_int64(column.type) else row_ranges.widen_rows_of_ints
    widen(buffers.values(column), rows, words)
    valid = bitmap_of(column.is_valid().take(indices)) if column.null_count else None
    return decimal_array(target, rows.size, valid, buffer)


def _new_words(rows: int) -> tuple[pa.Buffer, buffers.Array]:
    buffer = pa.allocate_buffer(16 * rows)
    return buffer, np.frombuffer(buffer, dtype=np.int64)

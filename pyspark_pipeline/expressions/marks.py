"""The conjuncts of a filter that mark rows a column at a time: ranges, and what is said of one column of few strings.

A kernel unmarks the rows of one column in one pass. Strings come by dictionary where few differ: then what the
filter says of one such column is asked of each string once. All marked rows are taken together in the end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.frame import Evaluable, Frame
from pyspark_pipeline.expressions.narrow import NarrowTypes, is_narrow, widened, widened_rows, without
from pyspark_pipeline.expressions.ranges import Range, is_null_test, split_ranges
from pyspark_pipeline.expressions.values import flags, truth
from pyspark_pipeline.kernels import buffers, row_ranges
from pyspark_pipeline.plan.expr import ColumnRef, Expr, columns_read

#: Take rows by their numbers when at most this share is left, else filter by a mask.
TAKE_BELOW = 0.25

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1


class ColumnTest(Protocol):
    """What the conjuncts ``nodes`` say of the column ``ordinal``."""

    ordinal: int
    nodes: Sequence[Evaluable]

    def knows(self, column: pa.Array) -> bool:
        """Say whether the column has come in a form that can be tested."""

    def mark(self, column: pa.Array, marks: buffers.Array) -> bool:
        """Unmark rows; False where the values cannot be tested after all: then the marks mean nothing."""


class RangeTest:
    """Keeps the rows of a range."""

    __slots__ = ("ordinal", "nodes", "_range")

    def __init__(self, wanted: Range, nodes: Sequence[Evaluable]) -> None:
        self.ordinal = wanted.ordinal
        self.nodes = nodes
        self._range = wanted

    def knows(self, column: pa.Array) -> bool:
        kind = column.type
        is_number = pa.types.is_int64(kind) or pa.types.is_int32(kind) or pa.types.is_decimal128(kind)
        return bool(is_number or pa.types.is_timestamp(kind) or pa.types.is_date32(kind))

    def mark(self, column: pa.Array, marks: buffers.Array) -> bool:
        if not self._mark_values(column, marks):
            return False
        if column.null_count:
            row_ranges.keep_valid(*buffers.validity(column), marks)
        return True

    def _mark_values(self, column: pa.Array, marks: buffers.Array) -> bool:
        low, high = self._range.low, self._range.high
        if pa.types.is_decimal128(column.type):
            return bool(row_ranges.keep_decimals_between(buffers.decimal_words(column), low, high, marks))
        if column.type.bit_width == 64:
            row_ranges.keep_longs_between(buffers.values(column), low, high, marks)
            return True
        low, high = max(low, _INT_MIN), min(high, _INT_MAX)
        if low > high:
            marks.fill(0)
        else:
            row_ranges.keep_ints_between(buffers.values(column), np.int32(low), np.int32(high), marks)
        return True


class DictionaryTest:
    """Keeps the rows whose string, and NULL, satisfies all ``nodes``, which read this column only and never raise."""

    __slots__ = ("ordinal", "nodes")

    def __init__(self, ordinal: int, nodes: Sequence[Evaluable]) -> None:
        self.ordinal = ordinal
        self.nodes = nodes

    def knows(self, column: pa.Array) -> bool:
        kind = column.type
        if not pa.types.is_dictionary(kind) or not pa.types.is_int32(kind.index_type):
            return False
        return len(column.dictionary) <= len(column)

    def mark(self, column: pa.Array, marks: buffers.Array) -> bool:
        strings = column.dictionary
        has_nulls = column.indices.null_count > 0
        if has_nulls:
            strings = pa.concat_arrays([strings, pa.nulls(1, strings.type)])
        verdicts = self._verdicts(strings)
        indices = buffers.values(column.indices)
        if not verdicts.any():
            marks.fill(0)
        elif has_nulls:
            row_ranges.keep_listed_or_null(indices, *buffers.validity(column.indices), verdicts, marks)
        elif not verdicts.all():
            row_ranges.keep_listed(indices, verdicts, marks)
        return True

    def _verdicts(self, strings: pa.Array) -> buffers.Array:
        """Say of each string whether a row that has it stays: uint8, shape (strings,)."""
        frame = Frame(len(strings), lambda ordinal: strings)
        made = np.ones(len(strings), dtype=np.uint8)
        for node in self.nodes:
            made &= flags(truth(frame.value(node), len(strings))).view(np.uint8)
        return made


class MarkFilter:
    """Keeps the rows that pass all tests. Not shared between drivers: it keeps scratch memory."""

    __slots__ = ("_tests", "_unread", "_marks", "_rows")

    def __init__(self, tests: Sequence[ColumnTest], unread: Collection[int] = ()) -> None:
        """``unread`` columns, which nothing after the tests reads, leave the filter as columns of the null type."""
        self._tests = tuple(tests)
        self._unread = frozenset(unread)
        self._marks: buffers.Array = np.empty(0, dtype=np.uint8)
        self._rows: buffers.Array = np.empty(0, dtype=np.int32)

    def filter(self, chunk: pa.RecordBatch, narrow: NarrowTypes = ()) -> tuple[pa.RecordBatch, list[Evaluable]]:
        """Return the rows kept, as a chunk without narrow columns, and the conjuncts still to be asked of them."""
        tests = [test for test in self._tests if test.knows(chunk.column(test.ordinal))]
        rest = [test for test in self._tests if test not in tests]
        left = [node for test in rest for node in test.nodes]
        if not chunk.num_rows or not tests:
            return widened(chunk, narrow), left
        marks = self._marked(chunk, tests)
        if marks is None:
            return widened(chunk, narrow), [node for test in self._tests for node in test.nodes]
        total = chunk.num_rows
        count = row_ranges.marked_rows(marks, marks[: total & ~7].view(np.uint64), self._rows)
        if count == 0:
            return widened(chunk.slice(0, 0), narrow), []
        unread = self._unread - {test.ordinal for test in rest}
        if count == total:
            return widened(without(chunk, unread), narrow), left
        return _taken(chunk, narrow, marks, self._rows[:count], unread), left

    def _marked(self, chunk: pa.RecordBatch, tests: Sequence[ColumnTest]) -> buffers.Array | None:
        rows = chunk.num_rows
        if rows > self._rows.size:
            self._marks = np.empty(rows, dtype=np.uint8)
            self._rows = np.empty(rows, dtype=np.int32)
        marks = self._marks[:rows]
        marks.fill(1)
        return marks if all(test.mark(chunk.column(test.ordinal), marks) for test in tests) else None


def _taken(
    chunk: pa.RecordBatch, narrow: NarrowTypes, marks: buffers.Array, rows: buffers.Array, unread: Collection[int]
) -> pa.RecordBatch:
    """Take the marked rows, whose numbers are ``rows``."""
    indices = pa.array(rows)
    mask = buffers.bool_array(marks) if rows.size > TAKE_BELOW * marks.size else None
    columns = []
    for place, column in enumerate(chunk.columns):
        target = narrow[place] if narrow else None
        if place in unread:
            columns.append(pa.nulls(rows.size))
        elif target is not None and is_narrow(column, narrow, place):
            columns.append(widened_rows(column, target, indices, rows))
        else:
            columns.append(column.take(indices) if mask is None else column.filter(mask))
    return pa.RecordBatch.from_arrays(columns, chunk.schema.names)


def column_tests(conjuncts: Sequence[Expr], nodes: Sequence[Evaluable]) -> list[ColumnTest]:
    """Make the tests that stand for some of the conjuncts, compiled to ``nodes``; none of these may raise."""
    ranges = split_ranges(conjuncts)
    tests: list[ColumnTest] = [RangeTest(wanted, [nodes[i] for i in places]) for wanted, places in ranges.items()]
    tests += [DictionaryTest(ordinal, [nodes[i] for i in places]) for ordinal, places in _of_strings(conjuncts)]
    return tests


def has_tests(conjuncts: Sequence[Expr]) -> bool:
    """Say whether some conjuncts may be tested so."""
    return bool(split_ranges(conjuncts)) or any(True for _ in _of_strings(conjuncts))


def _of_strings(conjuncts: Sequence[Expr]) -> Iterator[tuple[int, list[int]]]:
    """Give the columns of strings with the places of the conjuncts that read only them; none just tested for NULL."""
    found: dict[int, list[int]] = {}
    for place, part in enumerate(conjuncts):
        read = columns_read([part])
        if len(read) == 1 and _reads_string(part):
            found.setdefault(read.pop(), []).append(place)
    for ordinal, places in found.items():
        if not all(is_null_test(conjuncts[place]) for place in places):
            yield ordinal, places


def _reads_string(expr: Expr) -> bool:
    if isinstance(expr, ColumnRef):
        return expr.type.kind == "string"
    return any(_reads_string(arg) for arg in getattr(expr, "args", ()))

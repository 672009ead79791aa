"""Column tests: the conjuncts of a filter that are evaluated column by column into a selection mask.

They are ranges, and conditions on one dictionary-encoded string column, which are evaluated once per dictionary
value. A kernel clears the mask of the rows that fail in one pass per column. The selected rows are taken at the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.frame import Evaluable, Frame
from pyspark_pipeline.expressions.ranges import Range, is_null_test, split_ranges
from pyspark_pipeline.expressions.unscaled import (
    UnscaledTypes,
    drop_columns,
    is_unscaled,
    rows_to_decimal128,
    to_decimal128,
)
from pyspark_pipeline.expressions.values import flags, truth
from pyspark_pipeline.kernels import buffers, row_ranges
from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.take import filter_values
from pyspark_pipeline.plan.expr import ColumnRef, Expr, columns_read

_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1

#: Identifiers of Arrow's types: functions of ``pa.types`` take as long as the test of a small dictionary.
_DECIMAL = pa.decimal128(1, 0).id
_RANGE_TYPES = frozenset((pa.int64().id, pa.int32().id, pa.timestamp("us").id, pa.date32().id, _DECIMAL))


class ColumnTest(ABC):
    """A test of the column ``ordinal`` that is equivalent to the conjuncts ``nodes``."""

    __slots__ = ("ordinal", "nodes")

    #: The least number of rows of a value for which a reader tests the values of a dictionary instead of rows.
    least_repeats = 0

    def __init__(self, ordinal: int, nodes: Sequence[Evaluable]) -> None:
        self.ordinal = ordinal
        self.nodes = nodes

    @abstractmethod
    def accepts(self, column: pa.Array) -> bool:
        """Return whether the column's Arrow type and encoding can be tested."""

    @abstractmethod
    def apply(self, column: pa.Array, mask: UInt8Array) -> bool:
        """Clear ``mask`` (uint8) for rows that fail; return False, with ``mask`` undefined, if that is impossible."""

    def accepted(self, values: pa.Array) -> UInt8Array | None:
        """Return 1 for each of the values that passes, else 0: uint8, shape (values,); None if that is not known."""
        mask = np.ones(len(values), dtype=np.uint8)
        return mask if self.accepts(values) and self.apply(values, mask) else None


class RangeTest(ColumnTest):
    """Selects the rows whose value is in a range."""

    __slots__ = ("_range",)

    def __init__(self, range_: Range, nodes: Sequence[Evaluable]) -> None:
        super().__init__(range_.ordinal, nodes)
        self._range = range_

    def accepts(self, column: pa.Array) -> bool:
        return column.type.id in _RANGE_TYPES

    def apply(self, column: pa.Array, mask: UInt8Array) -> bool:
        if not self._apply_values(column, mask):
            return False
        if column.null_count:
            row_ranges.keep_valid(*buffers.validity(column), mask)
        return True

    def _apply_values(self, column: pa.Array, mask: UInt8Array) -> bool:
        low, high = self._range.low, self._range.high
        kind = column.type
        if kind.id == _DECIMAL:
            return bool(row_ranges.keep_decimals_between(buffers.decimal_words(column), low, high, mask))
        if kind.bit_width == 64:
            row_ranges.keep_longs_between(buffers.values(column), low, high, mask)
            return True
        low, high = max(low, _INT_MIN), min(high, _INT_MAX)
        if low > high:
            mask.fill(0)
        else:
            row_ranges.keep_ints_between(buffers.values(column), np.int32(low), np.int32(high), mask)
        return True


class DictionaryTest(ColumnTest):
    """Selects the rows whose string (or NULL) satisfies all ``nodes``, which read only this column and never raise."""

    __slots__ = ()

    def accepts(self, column: pa.Array) -> bool:
        kind = column.type
        if not pa.types.is_dictionary(kind) or not pa.types.is_int32(kind.index_type):
            return False
        return len(column.dictionary) <= len(column)

    def apply(self, column: pa.Array, mask: UInt8Array) -> bool:
        strings = column.dictionary
        has_nulls = column.indices.null_count > 0
        if has_nulls:
            strings = pa.concat_arrays([strings, pa.nulls(1, strings.type)])
        accepted = self._accepted_values(strings)
        indices = buffers.values(column.indices)
        if not accepted.any():
            mask.fill(0)
        elif has_nulls:
            row_ranges.keep_codes_or_null(indices, *buffers.validity(column.indices), accepted, mask)
        elif not accepted.all():
            row_ranges.keep_codes(indices, accepted, mask)
        return True

    def _accepted_values(self, strings: pa.Array) -> UInt8Array:
        """Return 1 for each string that satisfies all ``nodes``, else 0: uint8, shape (strings,)."""
        frame = Frame(len(strings), lambda ordinal: strings)
        made = np.ones(len(strings), dtype=np.uint8)
        for node in self.nodes:
            made &= flags(truth(frame.value(node), len(strings))).view(np.uint8)
        return made


class SelectionMask:
    """A selection mask computed by column tests. Used by one driver only: it holds scratch memory."""

    __slots__ = ("_tests", "_unused_columns", "_mask", "_rows")

    def __init__(self, tests: Sequence[ColumnTest], unused_columns: Collection[int] = ()) -> None:
        """``unused_columns`` are not read after the tests and leave the filter as columns of the null type."""
        self._tests = tuple(tests)
        self._unused_columns = frozenset(unused_columns)
        self._mask: UInt8Array = np.empty(0, dtype=np.uint8)
        self._rows: Int32Array = np.empty(0, dtype=np.int32)

    def for_driver(self) -> SelectionMask:
        """Return a mask by the same tests with scratch memory of its own."""
        return SelectionMask(self._tests, self._unused_columns)

    def filter(self, chunk: pa.RecordBatch, unscaled: UnscaledTypes = ()) -> tuple[pa.RecordBatch, list[Evaluable]]:
        """Return the selected rows, as a chunk without unscaled decimals, and the conjuncts not yet tested."""
        tests = [test for test in self._tests if test.accepts(chunk.column(test.ordinal))]
        rest = [test for test in self._tests if test not in tests]
        remaining = [node for test in rest for node in test.nodes]
        if not chunk.num_rows or not tests:
            return to_decimal128(chunk, unscaled), remaining
        mask = self._computed_mask(chunk, tests)
        if mask is None:
            return to_decimal128(chunk, unscaled), [node for test in self._tests for node in test.nodes]
        total = chunk.num_rows
        count = row_ranges.selected_rows(mask, mask[: total & ~7].view(np.uint64), self._rows)
        if count == 0:
            return to_decimal128(chunk.slice(0, 0), unscaled), []
        unused_columns = self._unused_columns - {test.ordinal for test in rest}
        if count == total:
            return to_decimal128(drop_columns(chunk, unused_columns), unscaled), remaining
        return _take_rows(chunk, unscaled, mask, self._rows[:count], unused_columns), remaining

    def _computed_mask(self, chunk: pa.RecordBatch, tests: Sequence[ColumnTest]) -> UInt8Array | None:
        rows = chunk.num_rows
        if rows > self._rows.size:
            self._mask = np.empty(rows, dtype=np.uint8)
            self._rows = np.empty(rows, dtype=np.int32)
        mask = self._mask[:rows]
        mask.fill(1)
        return mask if all(test.apply(chunk.column(test.ordinal), mask) for test in tests) else None


def _take_rows(
    chunk: pa.RecordBatch,
    unscaled: UnscaledTypes,
    mask: UInt8Array,
    rows: Int32Array,
    unused_columns: Collection[int],
) -> pa.RecordBatch:
    """Return the rows that ``mask`` selects, whose numbers are ``rows``, without unscaled decimals."""
    columns = []
    for position, column in enumerate(chunk.columns):
        target = unscaled[position] if unscaled else None
        if position in unused_columns:
            columns.append(pa.nulls(rows.size))
        elif target is not None and is_unscaled(column, unscaled, position):
            columns.append(rows_to_decimal128(column, target, rows))
        else:
            columns.append(filter_values(column, mask, rows))
    return pa.RecordBatch.from_arrays(columns, chunk.schema.names)


def column_tests(conjuncts: Sequence[Expr], nodes: Sequence[Evaluable]) -> list[ColumnTest]:
    """Build the tests that replace some of the conjuncts, compiled to ``nodes``; no conjunct may raise."""
    ranges = split_ranges(conjuncts)
    strings = _string_conjuncts(conjuncts)
    tests: list[ColumnTest] = [RangeTest(range_, [nodes[i] for i in positions]) for range_, positions in ranges.items()]
    tests += [DictionaryTest(ordinal, [nodes[i] for i in positions]) for ordinal, positions in strings]
    return tests


def has_tests(conjuncts: Sequence[Expr]) -> bool:
    """Return whether :func:`column_tests` has tests for some of the conjuncts."""
    return bool(split_ranges(conjuncts)) or any(True for _ in _string_conjuncts(conjuncts))


def _string_conjuncts(conjuncts: Sequence[Expr]) -> Iterator[tuple[int, list[int]]]:
    """Yield each string column with the positions of the conjuncts on it alone, unless they only test for NULL."""
    found: dict[int, list[int]] = {}
    for position, part in enumerate(conjuncts):
        read = columns_read([part])
        if len(read) == 1 and _reads_string(part):
            found.setdefault(read.pop(), []).append(position)
    for ordinal, positions in found.items():
        if not all(is_null_test(conjuncts[position]) for position in positions):
            yield ordinal, positions


def _reads_string(expr: Expr) -> bool:
    if isinstance(expr, ColumnRef):
        return expr.type.kind == "string"
    return any(_reads_string(arg) for arg in getattr(expr, "args", ()))

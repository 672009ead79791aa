"""Frames whose bounds are values: the current row's order value plus an offset, compared with the other rows' values.

Values and bounds are compared as pairs of int64, which sort like the rows: NULL, equal only to itself, is less or
greater than all values; NaN is the greatest number; the words of descending orders are inverted. Spark moves the two
ends of a frame forward as it reads the rows, and computes a bound only if it compares it with a row: so does
:func:`~pyspark_pipeline.kernels.value_frames.value_frames`, and only a bound that is compared raises.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.time_zones import MAX_SECOND, TimeZone
from pyspark_pipeline.kernels import civil
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import NO_BITS, decimal_words, values
from pyspark_pipeline.kernels.decimal_words import unscaled
from pyspark_pipeline.kernels.sort_fields import ordinals
from pyspark_pipeline.kernels.value_frames import ENDLESS, value_frames
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.sorts import SortKey
from pyspark_pipeline.plan.windows import Bound

_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_MASK = 2**64 - 1


@dataclass(frozen=True, slots=True)
class _Side:
    """The bounds of one side of the frames, as words; ``failed`` flags those that Spark cannot compute, or is empty."""

    high: Int64Array
    low: Int64Array
    failed: UInt8Array


class RangeBounds:
    """Computes the frames between two bounds, at least one of which is an offset from the value of ``key``."""

    def __init__(self, key: SortKey, lower: Bound, upper: Bound, settings: Settings) -> None:
        self._key = key
        self._kind = key.expr.type
        self._bounds = lower, upper
        self._ansi = settings.ansi
        self._time_zone = "UTC" if self._kind.kind == "timestamp_ntz" else settings.time_zone

    def frames(
        self, starts: BoolArray, column: pa.Array, at: Int64Array, before: tuple[int, int]
    ) -> tuple[Int64Array, Int64Array]:
        """Return the begins and ends (exclusive) of the frames of consecutive rows ``at``; equal for empty frames.

        ``starts`` flags the first rows of partitions; ``before`` is the frame of the row before.
        Raises :class:`SparkConditionError` if a bound that is compared overflows.
        """
        high, low = self.words(column)
        sides = [self._side(column.slice(int(at[0]), at.size), bound) for bound in self._bounds]
        begin, end = np.empty(at.size, dtype=np.int64), np.empty(at.size, dtype=np.int64)
        first, last = sides
        wrong = value_frames(
            starts, high, low, first.high, first.low, first.failed, last.high, last.low, last.failed,
            int(at[0]), *before, begin, end,
        )  # fmt: skip
        if wrong >= 0:
            raise self._error(column[int(at[0]) + wrong // 2].as_py(), self._bounds[wrong % 2])
        return begin, end

    def words(self, column: pa.Array) -> tuple[Int64Array, Int64Array]:
        """Return the high and the low words of values."""
        return self._words(column, *self._numbers(column))

    def upper_words(self, column: pa.Array) -> tuple[Int64Array, Int64Array]:
        """Return the high and the low words of the upper bounds of the rows with these values."""
        side = self._side(column, self._bounds[1])
        return side.high, side.low

    def _side(self, column: pa.Array, bound: Bound) -> _Side:
        if bound.kind == "unbounded":
            return _Side(ENDLESS, ENDLESS, NO_BITS)
        if bound.kind == "peers":
            return _Side(*self.words(column), NO_BITS)
        high, low, failed = self._moved(column, bound)
        if failed is None or not (failed & _valid(column)).any():
            return _Side(*self._words(column, high, low), NO_BITS)
        return _Side(*self._words(column, high, low), (failed & _valid(column)).astype(np.uint8))

    def _words(self, column: pa.Array, high: Int64Array | None, low: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the words in the order of the rows. ``high`` is None if ``low`` alone has the order of the values."""
        high = np.zeros(low.size, dtype=np.int64) if high is None else high
        if self._key.descending:
            high, low = ~high, ~low
        if column.null_count:
            null = ~np.asarray(column.is_valid())
            high = np.where(null, _LEAST if self._key.nulls_first else _GREATEST, high)
            low = np.where(null, 0, low)
        return np.ascontiguousarray(high), np.ascontiguousarray(low)

    def _numbers(self, column: pa.Array) -> tuple[Int64Array | None, Int64Array]:
        if self._kind.is_decimal:
            words = decimal_words(column)
            return words[1::2], words[::2] ^ _LEAST
        return None, ordinals(column).astype(np.int64)

    def _moved(self, column: pa.Array, bound: Bound) -> tuple[Int64Array | None, Int64Array, BoolArray | None]:
        """Return the values plus the offset, as words, and flags of those that overflow (None: none does)."""
        offset, kind = self._offset(bound), self._kind.kind
        if self._kind.is_decimal:
            return *_plus_decimal(decimal_words(column), offset), None
        if kind in ("float", "double"):
            data = values(column)
            with np.errstate(over="ignore", invalid="ignore"):
                return None, ordinals(pa.array(data + data.dtype.type(offset))).astype(np.int64), None
        data = values(column).astype(np.int64)
        if bound.unit == "months":
            return None, *self._plus_months(column, data, offset)
        moved = data + offset
        if kind in ("bigint", "timestamp", "timestamp_ntz"):
            failed = (moved < data) != (offset < 0)
            return None, moved, failed if self._ansi or kind != "bigint" else None
        narrow = moved.astype(values(column).dtype).astype(np.int64)
        return None, narrow, moved != narrow if self._ansi and kind != "date" else None

    def _plus_months(self, column: pa.Array, data: Int64Array, months: int) -> tuple[Int64Array, BoolArray]:
        zone = TimeZone("UTC" if self._kind.kind == "date" else self._time_zone)
        days, rest = (data, None) if self._kind.kind == "date" else zone.local_times(data)
        days = np.where(_valid(column), days, 0)
        moved = np.empty(data.size, dtype=np.int64)
        civil.plus_months(days.astype(np.int32), np.full(data.size, months, dtype=np.int32), moved)
        if rest is None:
            return moved, moved != moved.astype(np.int32)
        seconds = moved * 86_400 - zone.offsets(data // 1_000_000)
        return seconds * 1_000_000 + rest, np.abs(seconds) > MAX_SECOND

    def _offset(self, bound: Bound) -> Any:
        """Return the distance from the value to the bound; that of a decimal is unscaled."""
        offset = bound.offset
        if isinstance(offset, Decimal):
            offset = unscaled(offset, self._kind.scale)
        return -offset if self._key.descending else offset

    def _error(self, value: Any, bound: Bound) -> Exception:
        kind = self._kind.kind
        if kind == "date":
            return conditions.arithmetic_overflow("int", "", -1)
        if kind in ("int", "bigint"):
            return conditions.arithmetic_overflow(kind, "try_add", -1)
        if kind in ("tinyint", "smallint"):
            return conditions.binary_overflow(value, "+", self._offset(bound), "try_add", -1)
        return conditions.timestamp_overflow()


class OpenFrames:
    """Counts the rows whose frames are complete: a row of the partition is beyond their upper bound."""

    def __init__(self, bounds: RangeBounds) -> None:
        self._bounds = bounds
        self._pending: deque[tuple[Int64Array, Int64Array]] = deque()
        self.complete = 0

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(high.nbytes + low.nbytes for high, low in self._pending)

    def add(self, starts: BoolArray, column: pa.Array) -> None:
        """Advance over the next rows; ``starts`` flags the first rows of partitions."""
        begun = np.flatnonzero(starts)
        if begun.size:
            self.complete += sum(high.size for high, _ in self._pending) + int(begun[-1])
            self._pending.clear()
            column = column.slice(int(begun[-1]))
        self._pending.append(self._bounds.upper_words(column))
        last_high, last_low = self._bounds.words(column.slice(len(column) - 1))
        while self._pending:
            high, low = self._pending.popleft()
            is_beyond = (high < last_high) | ((high == last_high) & (low < last_low))
            passed = high.size if is_beyond.all() else int(np.argmin(is_beyond))
            self.complete += passed
            if passed < high.size:
                self._pending.appendleft((high[passed:], low[passed:]))
                return


def _valid(column: pa.Array) -> BoolArray:
    return np.asarray(column.is_valid())


def _plus_decimal(words: Int64Array, offset: int) -> tuple[Int64Array, Int64Array]:
    """Add to 128-bit integers; the shim declines decimals whose sums could have more bits."""
    low, high = words[::2].view(np.uint64), words[1::2]
    moved = low + np.uint64(offset & _MASK)
    return high + (offset >> 64) + (moved < low), moved.view(np.int64) ^ _LEAST

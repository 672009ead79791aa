"""Aggregate functions over frames, as Spark's ``AggregateProcessor`` computes them.

Its buffer is not a row of Spark's binary format: a sum of decimals has any number of digits until a frame ends.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.accumulate import divide_sums, mark_exceeding
from pyspark_pipeline.kernels.buffers import Array, fixed_array, values
from pyspark_pipeline.operators.aggregates.average import divide_exactly
from pyspark_pipeline.operators.aggregates.count import ANY_KIND
from pyspark_pipeline.operators.aggregates.extremes import ORDERED
from pyspark_pipeline.operators.aggregates.sum_states import out_of_range
from pyspark_pipeline.operators.windows.registry import FRAMES, Reading, WindowFunction, window_function
from pyspark_pipeline.operators.windows.running import (
    Counts,
    DecimalSums,
    DoubleSums,
    Extremes,
    Firsts,
    Lasts,
    LongSums,
    Running,
)
from pyspark_pipeline.operators.windows.sliding import OverSlidingFrame
from pyspark_pipeline.operators.windows.sources import AtLastPeer, AtPartitionEnd, AtRow, Source
from pyspark_pipeline.plan.expr import Expr, Literal
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.windows import WindowCall

Columns = list[pa.Array]

_WORD = 2**64 - 1
_MODES = {"evalMode": ["ANSI", "LEGACY"]}
_INTEGERS, _FLOATS = ["tinyint", "smallint", "int", "bigint"], ["float", "double"]
_ENDS: dict[str, Callable[[Running], Source]] = {"rows": AtRow, "range": AtLastPeer, "whole": AtPartitionEnd}


def _reading(call: WindowCall, make: Callable[[], Running], arguments: tuple[Expr, ...] | None = None) -> Reading:
    """Read a running value where the frame of the call ends."""
    arguments = call.args if arguments is None else arguments
    if call.frame == "sliding":
        return Reading(lambda: OverSlidingFrame(make, *call.bounds), arguments)
    at = _ENDS[call.frame]
    return Reading(lambda: at(make()), arguments)


def _is_ansi(call: WindowCall, settings: Settings) -> bool:
    mode = call.fields.get("evalMode")
    return settings.ansi if mode is None else mode == "ANSI"


def _only(columns: Columns) -> pa.Array:
    return columns[0]


@window_function("Count", [{"args": [ANY_KIND], "variadic": True, "frames": FRAMES}])
def _count(call: WindowCall, settings: Settings) -> WindowFunction:
    counted = tuple(arg for arg in call.args if not (isinstance(arg, Literal) and arg.value is not None))
    return WindowFunction((_reading(call, Counts, counted),), _only)


@window_function(
    "Sum", [{"args": [_INTEGERS], "fields": _MODES, "frames": FRAMES}], when=lambda call: call.type.kind == "bigint"
)
def _sum_of_integers(call: WindowCall, settings: Settings) -> WindowFunction:
    ansi = _is_ansi(call, settings)
    return WindowFunction((_reading(call, lambda: LongSums(ansi, call.context)),), _only)


@window_function(
    "Sum", [{"args": [_FLOATS], "fields": _MODES, "frames": FRAMES}], when=lambda call: call.type.kind == "double"
)
def _sum_of_floats(call: WindowCall, settings: Settings) -> WindowFunction:
    return WindowFunction((_reading(call, DoubleSums),), _only)


@window_function(
    "Average",
    [{"args": [[*_INTEGERS, *_FLOATS]], "fields": _MODES, "frames": FRAMES}],
    when=lambda call: call.type.kind == "double",
)
def _average(call: WindowCall, settings: Settings) -> WindowFunction:
    def result(sums: Columns, counts: Columns) -> pa.Array:
        count = values(counts[0])
        return fixed_array(pa.float64(), values(sums[0]) / np.maximum(count, 1), count != 0)

    return WindowFunction((_reading(call, DoubleSums), _reading(call, Counts)), result)


@window_function(
    "Sum", [{"args": [["decimal"]], "fields": _MODES, "frames": FRAMES}], when=lambda call: call.type.is_decimal
)
def _sum_of_decimals(call: WindowCall, settings: Settings) -> WindowFunction:
    """NULL where the sum has too many digits, which in ANSI mode raises."""
    ansi, target = _is_ansi(call, settings), call.type
    limit = 10**target.precision

    def result(sums: Columns, counts: Columns) -> pa.Array:
        words, fits = _narrowed(sums)
        seen = (values(counts[0]) > 0).astype(np.uint8)
        mark_exceeding(words, np.uint64(limit & _WORD), np.int64(limit >> 64), seen)
        seen[~fits] = 3
        if ansi and (seen == 3).any():
            total = _total(sums, int(np.argmax(seen == 3)))
            raise out_of_range(total, target.scale, target, call.context)
        return fixed_array(target.arrow, words, seen == 1)

    return WindowFunction((_reading(call, DecimalSums), _reading(call, Counts)), result)


@window_function(
    "Average", [{"args": [["decimal"]], "fields": _MODES, "frames": FRAMES}], when=lambda call: call.type.is_decimal
)
def _average_of_decimals(call: WindowCall, settings: Settings) -> WindowFunction:
    ansi, target, scale = _is_ansi(call, settings), call.type, call.args[0].type.scale

    def result(sums: Columns, counts: Columns) -> pa.Array:
        words, fits = _narrowed(sums)
        count = values(counts[0])
        quotients, valid = np.zeros(count.size, dtype=np.int64), np.zeros(count.size, dtype=np.bool_)
        if target.precision >= 19:
            divide_sums(words, count, 10 ** (target.scale - scale), quotients, valid)
        valid &= fits
        made = np.stack([quotients, quotients >> 63], axis=1).reshape(-1)
        for row in np.flatnonzero(~valid & (count != 0)).tolist():
            value = divide_exactly(_total(sums, row), scale, int(count[row]), target, ansi, call.context)
            if value is not None:
                valid[row] = True
                made.view(np.uint64)[2 * row : 2 * row + 2] = value & _WORD, (value >> 64) & _WORD
        return fixed_array(target.arrow, made, valid)

    return WindowFunction((_reading(call, DecimalSums), _reading(call, Counts)), result)


def _narrowed(sums: Columns) -> tuple[Array, Array]:
    """Give the two low words of 192-bit sums, shape (2 · rows,), and whether these are the whole number."""
    low, middle, high = (values(column) for column in sums)
    return np.stack([low, middle], axis=1).reshape(-1), high == middle >> 63


def _total(sums: Columns, row: int) -> int:
    low, middle, high = (int(values(column)[row]) for column in sums)
    return (high << 128) | ((middle & _WORD) << 64) | (low & _WORD)


@window_function("Min", [{"args": [ORDERED], "frames": FRAMES}])
@window_function("Max", [{"args": [ORDERED], "frames": FRAMES}])
def _extreme(call: WindowCall, settings: Settings) -> WindowFunction:
    descending = call.function == "Max"
    return WindowFunction((_reading(call, lambda: Extremes(descending=descending)),), _only)


_FIRST = [{"args": [ANY_KIND], "fields": {"ignoreNulls": ["false"]}, "frames": FRAMES}]


@window_function("First", _FIRST)
def _first(call: WindowCall, settings: Settings) -> WindowFunction:
    """Wherever a frame that begins with the partition ends, its first row is known at once."""
    if call.frame == "sliding":
        return WindowFunction((_reading(call, Firsts),), _only)
    return WindowFunction((Reading(lambda: AtRow(Firsts()), call.args),), _only)


@window_function("Last", _FIRST)
def _last(call: WindowCall, settings: Settings) -> WindowFunction:
    return WindowFunction((_reading(call, Lasts),), _only)

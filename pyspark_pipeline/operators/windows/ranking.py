"""Ranking and offset functions, after Spark's ``windowExpressions.scala``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.expressions.cases import ALL_KINDS, case
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.buffers import fixed_array, rows_only, values
from pyspark_pipeline.operators.windows.frame_values import (
    FrameValue,
    RunningAtEnds,
    ValueAtLastPeer,
    ValueAtLaterRow,
    ValueAtPartitionEnd,
    ValueAtRow,
)
from pyspark_pipeline.operators.windows.frames import Frames, ValueOverFrames
from pyspark_pipeline.operators.windows.nth_value import NthRow
from pyspark_pipeline.operators.windows.registry import WindowFunction, WindowInput, window_function
from pyspark_pipeline.operators.windows.running import (
    DenseRanks,
    LaggedValidValues,
    LaggedValues,
    OwnValues,
    Ranks,
    RowNumbers,
    RunningValue,
    or_default,
)
from pyspark_pipeline.plan.expr import Expr, Literal
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.windows import Bound, WindowCall

Columns = list[pa.Array]

#: The ranking functions by Catalyst class name; the first column of the value is the rank.
RANKS: dict[str, type[RunningValue]] = {"RowNumber": RowNumbers, "Rank": Ranks, "DenseRank": DenseRanks}

_OF_ORDER = [case(ALL_KINDS, variadic=True, frames=["rows"])]
_NUMBERS = WindowInput(lambda: ValueAtRow(RowNumbers()))
_SIZES = WindowInput(lambda: ValueAtPartitionEnd(RunningAtEnds(RowNumbers(), ValueAtPartitionEnd.starts)))
_NUMBERS_OF_LAST_PEERS = WindowInput(lambda: ValueAtLastPeer(RunningAtEnds(RowNumbers(), ValueAtLastPeer.starts)))


def _int(numbers: Int64Array) -> pa.Array:
    return fixed_array(pa.int32(), numbers.astype(np.int32))


@window_function("RowNumber", [case(frames=["rows"])])
@window_function("Rank", _OF_ORDER)
@window_function("DenseRank", _OF_ORDER)
def _rank(call: WindowCall, settings: Settings) -> WindowFunction:
    made = RANKS[call.function]

    def result(ranks: Columns) -> pa.Array:
        return _int(values(ranks[0]))

    return WindowFunction((WindowInput(lambda: ValueAtRow(made())),), result)


@window_function("PercentRank", _OF_ORDER)
def _percent_rank(call: WindowCall, settings: Settings) -> WindowFunction:
    def result(ranks: Columns, sizes: Columns) -> pa.Array:
        others = values(sizes[0]) - 1
        shares = (values(ranks[0]) - 1) / np.maximum(others, 1)
        return fixed_array(pa.float64(), shares)

    return WindowFunction((WindowInput(lambda: ValueAtRow(Ranks())), _SIZES), result)


@window_function("CumeDist", [case(frames=["range"])])
def _cume_dist(call: WindowCall, settings: Settings) -> WindowFunction:
    def result(numbers: Columns, sizes: Columns) -> pa.Array:
        return fixed_array(pa.float64(), values(numbers[0]) / values(sizes[0]))

    return WindowFunction((_NUMBERS_OF_LAST_PEERS, _SIZES), result)


@window_function("NTile", [case(["int"], literal=[0], frames=["rows"])])
def _ntile(call: WindowCall, settings: Settings) -> WindowFunction:
    """Build ``ntile``: the first ``size % buckets`` buckets have one row more than the others."""
    buckets = int(_constant(call.args[0], settings).as_py())

    def result(numbers: Columns, sizes: Columns) -> pa.Array:
        row, size = values(numbers[0]) - 1, values(sizes[0])
        least, larger = size // buckets, size % buckets
        in_larger = larger * (least + 1)
        rest = larger + (row - in_larger) // np.maximum(least, 1)
        return _int(np.where(row < in_larger, row // (least + 1), rest) + 1)

    return WindowFunction((_NUMBERS, _SIZES), result)


_OFFSET = [
    case(ALL_KINDS, ["int"], ALL_KINDS, literal=[1], fields={"ignoreNulls": ["false", "true"]}, frames=["offset"])
]


@window_function("Lag", _OFFSET)
@window_function("Lead", _OFFSET)
def _offset(call: WindowCall, settings: Settings) -> WindowFunction:
    """Build ``lag`` or ``lead`` of ``args``: value, offset (of ``Lag`` as written in SQL: rows back), default."""
    value, _, other = call.args
    offset = int(_constant(call.args[1], settings).as_py())
    ahead = -offset if call.function == "Lag" else offset
    default = _constant(other, settings) if isinstance(other, Literal) else None
    others = (other,) if default is None else ()
    if ahead and call.fields["ignoreNulls"]:
        return _valid_offset(ahead, value, default, others)

    def make() -> FrameValue:
        return ValueAtLaterRow(ahead, default) if ahead > 0 else ValueAtRow(LaggedValues(-ahead, default))

    return WindowFunction((WindowInput(make, (value, *others)),), lambda columns: columns[0])


def _valid_offset(ahead: int, value: Expr, default: pa.Scalar | None, others: tuple[Expr, ...]) -> WindowFunction:
    """Build the functions that ignore NULLs: the values are NULL only where there is no row."""
    later = Frames(Bound(offset=1), Bound(kind="unbounded"))

    def make() -> FrameValue:
        return ValueOverFrames(NthRow(ahead), later) if ahead > 0 else ValueAtRow(LaggedValidValues(-ahead))

    def result(values: Columns, *defaults: Columns) -> pa.Array:
        found = np.asarray(values[0].is_valid())
        return or_default(values[0], found, default if default is not None else defaults[0][0])

    own = tuple(WindowInput(lambda: ValueAtRow(OwnValues()), (other,)) for other in others)
    return WindowFunction((WindowInput(make, (value,)), *own), result)


def _constant(expr: Expr, settings: Settings) -> pa.Scalar:
    return compile_expressions([expr], ExpressionSettings.of(settings)).evaluate(rows_only(1))[0][0]

"""Functions of a row's place in its partition, after Spark's ``windowExpressions.scala``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.kernels.buffers import Array, fixed_array, rows_only, values
from pyspark_pipeline.operators.aggregates.count import ANY_KIND
from pyspark_pipeline.operators.windows.registry import Reading, WindowFunction, window_function
from pyspark_pipeline.operators.windows.running import DenseRanks, Earlier, Ranks, RowNumbers, Running
from pyspark_pipeline.operators.windows.sources import AtLastPeer, AtLaterRow, AtPartitionEnd, AtRow
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.windows import WindowCall

Columns = list[pa.Array]

#: The ranks by the name of their class; the first column is the rank.
RANKS: dict[str, type[Running]] = {"RowNumber": RowNumbers, "Rank": Ranks, "DenseRank": DenseRanks}

_OF_ORDER = [{"args": [ANY_KIND], "variadic": True, "frames": ["rows"]}]
_NUMBERS = Reading(lambda: AtRow(RowNumbers()))
_SIZES = Reading(lambda: AtPartitionEnd(RowNumbers()))


def _int(numbers: Array) -> pa.Array:
    return fixed_array(pa.int32(), numbers.astype(np.int32))


@window_function("RowNumber", [{"args": [], "frames": ["rows"]}])
@window_function("Rank", _OF_ORDER)
@window_function("DenseRank", _OF_ORDER)
def _rank(call: WindowCall, settings: Settings) -> WindowFunction:
    made = RANKS[call.function]

    def result(ranks: Columns) -> pa.Array:
        return _int(values(ranks[0]))

    return WindowFunction((Reading(lambda: AtRow(made())),), result)


@window_function("PercentRank", _OF_ORDER)
def _percent_rank(call: WindowCall, settings: Settings) -> WindowFunction:
    def result(ranks: Columns, sizes: Columns) -> pa.Array:
        others = values(sizes[0]) - 1
        shares = (values(ranks[0]) - 1) / np.maximum(others, 1)
        return fixed_array(pa.float64(), shares)

    return WindowFunction((Reading(lambda: AtRow(Ranks())), _SIZES), result)


@window_function("CumeDist", [{"args": [], "frames": ["range"]}])
def _cume_dist(call: WindowCall, settings: Settings) -> WindowFunction:
    def result(numbers: Columns, sizes: Columns) -> pa.Array:
        return fixed_array(pa.float64(), values(numbers[0]) / values(sizes[0]))

    return WindowFunction((Reading(lambda: AtLastPeer(RowNumbers())), _SIZES), result)


@window_function("NTile", [{"args": [["int"]], "literal": [0], "frames": ["rows"]}])
def _ntile(call: WindowCall, settings: Settings) -> WindowFunction:
    """The first ``size % buckets`` buckets have a row more than the others."""
    buckets = int(_constant(call.args[0], settings).as_py())

    def result(numbers: Columns, sizes: Columns) -> pa.Array:
        row, size = values(numbers[0]) - 1, values(sizes[0])
        least, larger = size // buckets, size % buckets
        in_larger = larger * (least + 1)
        rest = larger + (row - in_larger) // np.maximum(least, 1)
        return _int(np.where(row < in_larger, row // (least + 1), rest) + 1)

    return WindowFunction((_NUMBERS, _SIZES), result)


_OFFSET = [{
    "args": [ANY_KIND, ["int"], ANY_KIND], "literal": [1, 2], "fields": {"ignoreNulls": ["false"]}, "frames": ["offset"]
}]  # fmt: skip


@window_function("Lag", _OFFSET)
@window_function("Lead", _OFFSET)
def _offset(call: WindowCall, settings: Settings) -> WindowFunction:
    """``args`` are the value, the offset (of ``Lag`` as it is written, so rows back), and the default."""
    offset = int(_constant(call.args[1], settings).as_py())
    ahead = -offset if call.function == "Lag" else offset
    default = _constant(call.args[2], settings)
    reading = Reading(
        lambda: AtLaterRow(ahead, default) if ahead > 0 else AtRow(Earlier(-ahead, default)), call.args[:1]
    )
    return WindowFunction((reading,), lambda columns: columns[0])


def _constant(expr: Expr, settings: Settings) -> pa.Scalar:
    return compile_expressions([expr], ExpressionSettings.of(settings)).evaluate(rows_only(1))[0][0]

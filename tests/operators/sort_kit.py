"""Sorting for tests: nodes, tables of edge cases, and an oracle that compares rows one by one as Spark does."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from pyspark_pipeline.exchange import SinkFactory, StreamTransport
from pyspark_pipeline.exec.instance import FragmentInstance
from pyspark_pipeline.exec.output_queue import OutputQueue
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.plan.nodes import Node, ResultSink, Settings
from pyspark_pipeline.plan.sorts import Sort, SortKey, TopN
from tests.operators.kit import DEFAULTS, Builder, column

DOUBLES = [0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 1.5, -1.5, 5e-324, -5e-324, 1e308]
TEXTS = ["", "a", "a\0", "a\0b", "ab", "b", "Z", "é", "😀", "\uffff", "prefix-1", "prefix-10", "prefix-2", "x" * 40]

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "smallint": st.sampled_from([0, 1, -1, 2**15 - 1, -(2**15)]),
    "int": st.one_of(st.integers(-3, 3), st.sampled_from([2**31 - 1, -(2**31)])),
    "bigint": st.one_of(st.integers(-2, 2), st.sampled_from([2**63 - 1, -(2**63), 2**40])),
    "float": st.one_of(st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf]), st.floats(width=32)),
    "double": st.one_of(st.sampled_from(DOUBLES), st.floats()),
    "decimal(9,2)": st.decimals(-9999999, 9999999, places=2, allow_nan=False),
    "decimal(38,4)": st.one_of(
        st.sampled_from([Decimal(10**33), Decimal(-(10**33)), Decimal(0), Decimal("1844674407370955.1616")]),
        st.decimals(-(10**33), 10**33, places=4, allow_nan=False),
    ),
    "string": st.one_of(st.sampled_from(TEXTS), st.text(max_size=20)),
    "binary": st.binary(max_size=12),
    "date": st.integers(-(10**6), 10**6),
    "timestamp": st.integers(-(10**15), 10**15),
    "timestamp_ntz": st.integers(-(10**15), 10**15),
    "void": st.none(),
}


@dataclass(frozen=True)
class Direction:
    """A key's direction and null ordering."""

    descending: bool = False
    nulls_first: bool = True


DIRECTIONS = st.builds(Direction, st.booleans(), st.booleans())


def keys(child: Node, names: Sequence[str], directions: Sequence[Direction]) -> tuple[SortKey, ...]:
    """Build sort keys of columns."""
    return tuple(
        SortKey(expr=column(child, name), descending=d.descending, nulls_first=d.nulls_first)
        for name, d in zip(names, directions, strict=True)
    )


def sort(child: Node, names: Sequence[str], directions: Sequence[Direction]) -> Sort:
    """Build a sort by columns."""
    return Sort(output=child.output, keys=keys(child, names, directions), child=child)


def top_n(child: Node, names: Sequence[str], directions: Sequence[Direction], limit: int, offset: int = 0) -> TopN:
    """Build a top-n by columns."""
    return TopN(output=child.output, keys=keys(child, names, directions), limit=limit, offset=offset, child=child)


def column_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return values to compare: numbers unchanged, times as integers, strings as bytes."""
    kind = array.type
    if pa.types.is_date32(kind):
        array = array.cast(pa.int32())
    if pa.types.is_timestamp(kind):
        array = array.cast(pa.int64())
    made: list[Any] = array.to_pylist()
    return [v.encode() if isinstance(v, str) else v for v in made]


def compare(left: Any, right: Any, direction: Direction) -> int:
    """Compare two values of a key by Spark's ordering."""
    if left is None or right is None:
        if left is None and right is None:
            return 0
        return -1 if (left is None) == direction.nulls_first else 1
    if isinstance(left, float):
        order = _compare_floats(left, right)
    else:
        order = (left > right) - (left < right)
    return -order if direction.descending else order


def _compare_floats(left: float, right: float) -> int:
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) - math.isnan(right)
    return (left > right) - (left < right)


def sorted_numbers(columns: Sequence[Sequence[Any]], directions: Sequence[Direction]) -> list[int]:
    """Return row numbers in stable order: Python's sort with Spark's comparison."""

    def by_keys(left: int, right: int) -> int:
        for values, direction in zip(columns, directions, strict=True):
            order = compare(values[left], values[right], direction)
            if order:
                return order
        return 0

    return sorted(range(len(columns[0])), key=functools.cmp_to_key(by_keys))


def limited(node: Node, limit: int, *, settings: Settings = DEFAULTS, dop: int = 1) -> FragmentInstance:
    """Build an instance that runs ``node`` with a memory limit of ``limit`` bytes."""
    builder = Builder(settings, dop=dop)
    factories = builder.decompose(node)
    queue = OutputQueue(4)
    factories.append(SinkFactory(ResultSink(), tuple(f.type for f in node.output), settings, StreamTransport(queue)))
    builder.add_pipeline(factories)
    return FragmentInstance(builder.pipelines, queue, memory=MemoryTracker("instance", limit=limit))


def counted(instance: FragmentInstance, counter: str) -> int:
    """Return the sum of a counter over all operators of an instance."""
    operators = [operator for pipeline in instance.metrics()["pipelines"] for operator in pipeline["operators"]]
    return sum(operator.get("counters", {}).get(counter, 0) for operator in operators)

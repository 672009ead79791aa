"""Test kit for joins: nodes over given rows, and an oracle that computes Spark's result row by row."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pyspark_pipeline.exchange.broadcast import BroadcastCache
from pyspark_pipeline.exec import Chunk
from pyspark_pipeline.memory import MemoryTracker, SizedValue
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.joins import HashJoin, Join, JoinType, NestedLoopJoin
from pyspark_pipeline.plan.nodes import Field, Node, Settings
from tests.exec.kit import Made, Source
from tests.operators.kit import Builder, Chunks, call, column, fields, run

Row = tuple[Any, ...]
Condition = Callable[[Row, Row], bool]
LEFT_ONLY = (JoinType.LEFT_SEMI, JoinType.LEFT_ANTI)


def side(spec: str, rows: Sequence[Row], chunk_rows: int, *, seed: int = 0) -> Chunks:
    """Return a leaf of rows; strings of random chunks are dictionary-encoded."""
    output = fields(spec)
    dice = random.Random(seed)
    chunks = []
    for start in range(0, len(rows), chunk_rows):
        piece = rows[start : start + chunk_rows]
        arrays = [pa.array([row[i] for row in piece], field.type.arrow) for i, field in enumerate(output)]
        if dice.random() < 0.5:
            arrays = [a.dictionary_encode() if pa.types.is_string(a.type) else a for a in arrays]
        chunks.append(pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))]))
    return Chunks(output=output, chunks=tuple(chunks))


def join(
    left: Node,
    right: Node,
    join_type: JoinType,
    build_left: bool,
    keys: Sequence[str] = (),
    *,
    condition: Expr | None = None,
    null_aware: bool = False,
) -> Join:
    """Return a join on the columns of both sides that are named ``keys``; a nested loop join without keys."""
    output: tuple[Field, ...] = (*left.output, *right.output)
    if join_type in LEFT_ONLY:
        output = left.output
    elif join_type is JoinType.EXISTENCE:
        output = (*left.output, *fields("exists:boolean"))
    common: dict[str, Any] = {
        "output": output, "left": left, "right": right, "join_type": join_type,
        "build_left": build_left, "condition": condition,
    }  # fmt: skip
    if not keys:
        return NestedLoopJoin(**common)
    return HashJoin(
        **common,
        left_keys=tuple(column(left, key) for key in keys),
        right_keys=tuple(column(right, key) for key in keys),
        null_aware=null_aware,
    )


def less(left: Node, right: Node, left_name: str, right_name: str) -> Expr:
    """Return the condition left column < right column, bound to both sides' columns."""
    both = Chunks(output=(*left.output, *right.output))
    first = column(left, left_name)
    place = len(left.output) + [f.name for f in right.output].index(right_name)
    second = type(first)(type=both.output[place].type, ordinal=place)
    return call("LessThan", "boolean", first, second)


def expected(
    left: Sequence[Row], right: Sequence[Row], join_type: JoinType, num_keys: int, condition: Condition | None = None
) -> list[Row]:
    """Return the join of rows whose first ``num_keys`` values are the keys, computed pair by pair."""
    width_left = len(left[0]) if left else 0
    width_right = len(right[0]) if right else 0
    out: list[Row] = []
    seen: set[int] = set()
    for a in left:
        found = [i for i, b in enumerate(right) if _equal(a, b, num_keys) and (condition is None or condition(a, b))]
        seen.update(found)
        if join_type is JoinType.LEFT_SEMI:
            out += [a] if found else []
        elif join_type is JoinType.LEFT_ANTI:
            out += [] if found else [a]
        elif join_type is JoinType.EXISTENCE:
            out.append((*a, bool(found)))
        else:
            out += [(*a, *right[i]) for i in found]
            if not found and join_type in (JoinType.LEFT_OUTER, JoinType.FULL_OUTER):
                out.append((*a, *[None] * width_right))
    if join_type in (JoinType.RIGHT_OUTER, JoinType.FULL_OUTER):
        out += [(*[None] * width_left, *b) for i, b in enumerate(right) if i not in seen]
    return out


def _equal(left: Row, right: Row, num_keys: int) -> bool:
    return all(_same(left[i], right[i]) for i in range(num_keys))


def _same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return False
    return bool(left == right) or (left != left and right != right)


def bag(rows: Sequence[Row]) -> Counter[str]:
    """Return rows as a multiset that distinguishes NaN and both zeros."""
    return Counter(repr(row) for row in rows)


class RoundRobinBuilder(Builder):
    """Distributes the chunks of leaves round-robin to the drivers."""

    def decompose(self, node: Node) -> list[Any]:
        if not isinstance(node, Chunks):
            return super().decompose(node)
        chunks = [chunk for chunk in node.chunks if chunk.num_rows]
        return [Made("Chunks", lambda driver: Source(chunks[driver :: self.dop]))]


class Broadcasting(RoundRobinBuilder):
    """Provides the chunks of broadcasts, by number; ``cache`` stores the values built of them, as for a worker."""

    def __init__(
        self, broadcasts: Mapping[int, Sequence[Chunk]], cache: BroadcastCache, settings: Settings, *, dop: int = 1
    ) -> None:
        super().__init__(settings, dop=dop)
        self.broadcasts = broadcasts
        self.cache = cache

    def broadcast_id(self, source: BroadcastSource) -> int:
        return source.broadcast + 40

    def broadcast_value(
        self,
        source: BroadcastSource,
        key: Hashable,
        make: Callable[[Sequence[Chunk]], SizedValue],
        user: MemoryTracker,
    ) -> SizedValue:
        chunks = [chunk for chunk in self.broadcasts[source.broadcast] if chunk.num_rows]
        return self.cache.value(self.broadcast_id(source), key, lambda: make(chunks), user)

    def release_broadcasts(self, user: MemoryTracker) -> None:
        self.cache.release_user(user)


def joined(node: Node, *, dop: int = 1, batch_rows: int = 1000) -> list[Row]:
    """Run a join and return its rows."""
    settings = Settings(ansi=True, time_zone="UTC", options=Options({"batchRows": str(batch_rows)}))
    table = run(node, builder=RoundRobinBuilder(settings, dop=dop), threads=dop)
    if not table.num_columns:
        return [()] * table.num_rows
    return list(zip(*(values.to_pylist() for values in table.columns), strict=True))

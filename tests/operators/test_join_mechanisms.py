"""Execution of joins: pipelines, blocking, early ends, batches, memory, sharing with other tasks, rejected plans."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import ResourceExhaustedError, UnsupportedPlanError
from pyspark_pipeline.exchange.broadcast import BroadcastCache
from pyspark_pipeline.exec import Chunk, FragmentInstance, OutputQueue, execute
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.topology import tree
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.operators.joins import build_side
from pyspark_pipeline.operators.joins.build import JoinBuildFactory
from pyspark_pipeline.operators.joins.shared import SharedJoinState
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.joins import HashJoin, Join, JoinType, NestedLoopJoin
from pyspark_pipeline.plan.nodes import Limit, Node, Settings
from pyspark_pipeline.plan.properties import RequiredOutput
from pyspark_pipeline.plan.sorts import Sort, SortKey
from pyspark_pipeline.plan.wire import decode_node
from tests.exec.kit import Made, Sink
from tests.operators.join_kit import Broadcasting, Row, bag, join, less, side
from tests.operators.kit import Builder, Chunks, column, fields
from tests.operators.test_joins import SHAPES

J = JoinType


def settings(batch_rows: int) -> Settings:
    return Settings(ansi=True, time_zone="UTC", options=Options({"batchRows": str(batch_rows)}))


class Task:
    """One run of a node whose output chunks are inspected one by one."""

    def __init__(
        self, node: Node, *, batch_rows: int = 100, dop: int = 1, builder: Builder | None = None,
        memory: MemoryTracker | None = None,
    ) -> None:  # fmt: skip
        made = builder or Builder(settings(batch_rows), dop=dop)
        queue = OutputQueue(4)
        made.add_pipeline([*made.decompose(node), Made("Sink", lambda _: Sink(queue))])
        self.memory = memory or MemoryTracker("task")
        self.instance = FragmentInstance(made.pipelines, queue, memory=self.memory)
        self.chunks = execute(self.instance, dop)

    def rows(self) -> list[Row]:
        return [row for chunk in self.chunks for row in zip(*(c.to_pylist() for c in chunk.columns), strict=True)]

    def operator(self, name: str) -> dict[str, Any]:
        pipelines = self.instance.metrics()["pipelines"]
        return next(o for pipeline in pipelines for o in pipeline["operators"] if o["name"] == name)


def numbers(name: str, values: Sequence[Any], chunk_rows: int = 100) -> Chunks:
    return side(f"{name}:bigint, {name}s:string", [(v, f"{name}{v}") for v in values], chunk_rows)


def star(dop: int) -> tuple[Node, list[Row]]:
    """Return two stacked joins of a fact table with two dimension tables, and the expected rows."""
    fact = side("a:bigint, b:bigint", [(i % 5, i % 7) for i in range(70)], 10)
    first = join(fact, side("a:bigint, x:string", [(i, f"x{i}") for i in range(4)], 2), J.INNER, False, ["a"])
    second = join(first, side("b:bigint, y:string", [(i, f"y{i}") for i in range(9)], 3), J.LEFT_OUTER, False, ["b"])
    wanted = [(i % 5, i % 7, i % 5, f"x{i % 5}", i % 7, f"y{i % 7}") for i in range(70) if i % 5 < 4]
    return second, wanted


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[build_side.BuildSide]]:
    """Return weak references to the build sides that the test builds."""
    made: list[weakref.ref[build_side.BuildSide]] = []
    make = SharedJoinState.build_side

    def watched(shared: SharedJoinState, parts: Sequence[build_side.BuildCollector]) -> build_side.BuildSide:
        side = make(shared, parts)
        made.append(weakref.ref(side))
        return side

    monkeypatch.setattr(SharedJoinState, "build_side", watched)
    return made


@pytest.mark.parametrize("dop", [1, 3])
def test_table_is_released_at_end_of_its_join(
    dop: int, sides: list[weakref.ref[build_side.BuildSide]]
) -> None:
    node, wanted = star(dop)
    key = SortKey(expr=column(node, node.output[0].name), descending=False, nulls_first=True)
    task = Task(Sort(output=node.output, keys=(key,), child=node), dop=dop, batch_rows=5)
    first = next(task.chunks)
    gc.collect()
    assert len(sides) == 2 and [side() for side in sides] == [None, None]
    assert first.num_rows + len(task.rows()) == len(wanted)


@pytest.mark.parametrize("dop", [1, 3])
def test_tables_are_released_on_cancellation(dop: int, sides: list[weakref.ref[build_side.BuildSide]]) -> None:
    node, _ = star(dop)
    task = Task(node, dop=dop, batch_rows=5)
    next(task.chunks)
    assert any(side() is not None for side in sides)
    task.chunks.close()
    gc.collect()
    assert [side() for side in sides] == [None, None]


@pytest.mark.parametrize("dop", [1, 3])
def test_star_join_is_one_probe_pipeline_after_its_build_pipelines(dop: int) -> None:
    node, wanted = star(dop)
    task = Task(node, dop=dop)
    names = [[factory.name for factory in pipeline.factories] for pipeline in task.instance.pipelines]
    assert names == [
        ["Chunks", "HashJoinBuild"],
        ["Chunks", "HashJoinBuild"],
        ["Chunks", "HashJoinProbe", "HashJoinProbe", "Sink"],
    ]
    assert tree(task.instance.pipelines).splitlines() == [
        f"pipeline 2 x {dop}", "  Sink", "  HashJoinProbe",
        f"    pipeline 0 x {dop}", "      HashJoinBuild", "      Chunks",
        "  HashJoinProbe",
        f"    pipeline 1 x {dop}", "      HashJoinBuild", "      Chunks",
        "  Chunks",
    ]  # fmt: skip
    assert bag(task.rows()) == bag(wanted)
    assert task.instance.missed_wakeups == 0


@pytest.mark.parametrize("dop", [1, 3])
def test_probe_is_blocked_by_its_join_build(dop: int) -> None:
    node, _ = star(dop)
    task = Task(node, dop=dop)
    task.rows()
    assert task.operator("HashJoinProbe")["blocked_s"].keys() == {"join build"}
    probing = task.instance.metrics()["pipelines"][2]["drivers"]
    assert [driver["blocks"]["join build"] >= 1 for driver in probing] == [True] * dop


def test_sparse_probe_output_is_coalesced_and_first_row_is_not_delayed() -> None:
    """One row in fifty has a match: 2000 chunks with a row or two become few, but the first row is not delayed."""
    node = join(numbers("k", range(100_000), 50), numbers("k", range(0, 100_000, 50)), J.INNER, False, ["k"])
    limited = Task(Limit(output=node.output, limit=3, child=node), batch_rows=1000)
    assert len(limited.rows()) == 3
    assert limited.operator("HashJoinProbe")["chunks_in"] <= 5
    sizes = [chunk.num_rows for chunk in Task(node, batch_rows=1000).chunks]
    assert sum(sizes) == 2000 and len(sizes) < 15


def test_join_counters() -> None:
    task = Task(join(numbers("k", [1, 2, 3, 3, None]), numbers("k", [3, 4, None]), J.INNER, False, ["k"]))
    assert len(task.rows()) == 2
    assert task.operator("HashJoinBuild")["counters"] == {"join_build_rows": 3, "join_null_keys": 1}
    counted = {"join_probe_rows": 5, "join_found_rows": 2, "join_null_keys": 1}
    assert task.operator("HashJoinProbe")["counters"] == counted


@pytest.mark.parametrize("hashed", [True, False], ids=["hash", "loops"])
def test_many_matches_are_emitted_in_batches_on_demand(hashed: bool) -> None:
    left, right = numbers("k", [1] * 2000, 2000), numbers("k", [1] * 3000, 500)
    node = join(left, right, J.INNER, False, ["k"] if hashed else ())
    task = Task(node, batch_rows=1000)
    first = [next(task.chunks).num_rows for _ in range(5)]
    assert first == [1000] * 5
    task.chunks.close()
    limited = Task(Limit(output=node.output, limit=1500, child=node), batch_rows=1000)
    assert sum(chunk.num_rows for chunk in limited.chunks) == 1500
    name = "HashJoinProbe" if hashed else "NestedLoopJoinProbe"
    assert limited.operator(name)["rows_out"] <= 3000
    whole = Task(node, batch_rows=100_000)
    assert sum(chunk.num_rows for chunk in whole.chunks) == 6_000_000


@pytest.mark.parametrize("dop", [1, 3])
@pytest.mark.parametrize(
    ("kind", "build_left"), [(J.INNER, False), (J.LEFT_SEMI, False), (J.RIGHT_OUTER, False), (J.LEFT_OUTER, True)]
)
def test_empty_build_side_ends_probe_before_it_reads(kind: JoinType, build_left: bool, dop: int) -> None:
    full, empty = numbers("k", range(500)), numbers("k", [])
    left, right = (empty, full) if build_left else (full, empty)
    task = Task(join(left, right, kind, build_left, ["k"]), dop=dop)
    assert task.rows() == []
    assert "rows_in" not in task.operator("HashJoinProbe")


def test_null_in_null_aware_build_side_ends_probe_before_it_reads() -> None:
    node = join(numbers("k", range(500)), numbers("k", [None]), J.LEFT_ANTI, False, ["k"], null_aware=True)
    task = Task(node)
    assert task.rows() == []
    assert "rows_in" not in task.operator("HashJoinProbe")


def test_build_ends_when_all_probes_abandon_it() -> None:
    node = join(numbers("k", range(5)), numbers("k", range(5)), J.INNER, False, ["k"])
    shared = SharedJoinState(node, settings(10))
    sink = JoinBuildFactory(shared, "HashJoinBuild").create(1, 0)
    shared.expect_probes(2)
    shared.abandon_probe()
    assert sink.need_input() and not sink.is_finished()
    shared.abandon_probe()
    assert sink.is_finished() and not sink.need_input()


def test_probe_columns_are_not_copied_if_every_row_matches_once() -> None:
    left, right = numbers("k", [1, 2, 1, 2]), numbers("k", [2, 1])
    chunk = next(Task(join(left, right, J.INNER, False, ["k"])).chunks)
    given = left.chunks[0]
    assert chunk.column(0).buffers()[1].address == given.column(0).buffers()[1].address
    assert chunk.column(1).buffers()[1].address == given.column(1).buffers()[1].address


@pytest.mark.parametrize("condition", [False, True], ids=["keys", "condition"])
def test_unused_columns_are_null(condition: bool) -> None:
    left, right = numbers("k", [1, 2, 3, None]), numbers("k", [2, 3, 3, 4])
    residual = less(left, right, "ks", "ks") if condition else None
    for kind, build_left in SHAPES:
        node = join(left, right, kind, build_left, ["k"], condition=residual)
        whole = Task(node).rows()
        for read in ({0}, {1}, set(), {len(node.output) - 1}):
            builder = Builder(settings(2))
            builder.properties.negotiate(node, RequiredOutput.of_columns(node.output, read))
            found = Task(node, builder=builder).rows()
            assert bag([_only(row, read) for row in found]) == bag([_only(row, read) for row in whole])
            assert all(row[i] is None for row in found for i in range(len(row)) if i not in read and i < 2)


def _only(row: Row, read: set[int]) -> Row:
    return tuple(value for i, value in enumerate(row) if i in read)


def test_dictionaries_are_kept_and_repeated_strings_are_encoded() -> None:
    letters = pa.array(["a", "b", None, "a"]).dictionary_encode()
    left = Chunks(output=fields("k:bigint"), chunks=(pa.record_batch([pa.array([1, 9, 2, 2])], names=["c0"]),))
    right = Chunks(
        output=fields("k:bigint, s:string"),
        chunks=(pa.record_batch([pa.array([1, 2, 3, 4]), letters], names=["c0", "c1"]),),
    )
    chunk = next(Task(join(left, right, J.LEFT_OUTER, False, ["k"])).chunks)
    assert pa.types.is_dictionary(chunk.column(2).type)
    assert chunk.column(2).to_pylist() == ["a", None, "b", "b"]
    plain = pa.array([f"s{i % 3}" if i % 5 else None for i in range(5000)])
    many = Chunks(
        output=fields("k:bigint, s:string"),
        chunks=(pa.record_batch([pa.array(range(5000)), plain], names=["c0", "c1"]),),
    )
    chunk = next(Task(join(left, many, J.INNER, False, ["k"])).chunks)
    assert pa.types.is_dictionary(chunk.column(2).type)
    assert chunk.column(2).to_pylist() == ["s1", "s0", "s2", "s2"]


def test_build_strings_over_2_gib_use_64_bit_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    def overflow(chunks: Sequence[Chunk]) -> Chunk:
        if pa.types.is_string(chunks[0].column(0).type):
            raise pa.ArrowInvalid("offset overflow while concatenating arrays")
        return concat_chunks(chunks)

    left, right = numbers("k", [3, 1, 7]), numbers("k", range(5), 2)
    monkeypatch.setattr(build_side, "concat_chunks", overflow)
    task = Task(join(left, right, J.INNER, False, ["k"]))
    chunk = next(task.chunks)
    assert chunk.column(3).type == pa.string()
    assert chunk.column(3).to_pylist() == ["k3", "k1"]


def test_build_memory_is_reserved_during_probe_and_released() -> None:
    node = join(numbers("k", range(1000)), numbers("k", range(2000)), J.INNER, False, ["k"])
    task = Task(node, batch_rows=100)
    next(task.chunks)
    held = task.memory.held
    assert held > 2000 * 16
    assert len(task.rows()) == 900
    assert task.memory.held == 0
    pairs = join(numbers("k", range(1000)), numbers("k", range(2000)), J.INNER, False)
    with pytest.raises(ResourceExhaustedError, match="NestedLoopJoinBuild"):
        Task(pairs, memory=MemoryTracker("task", limit=held // 10)).rows()


@pytest.mark.parametrize("dop", [1, 3])
def test_early_close_releases_memory(dop: int) -> None:
    node = join(numbers("k", range(1000)), numbers("k", range(2000)), J.FULL_OUTER, False, ["k"])
    task = Task(node, dop=dop)
    next(task.chunks)
    task.chunks.close()
    assert task.memory.held == 0


def providing(given: Chunks, cache: BroadcastCache) -> Broadcasting:
    """Return a builder with one broadcast."""
    return Broadcasting({0: given.chunks}, cache, settings(100))


@pytest.mark.parametrize("hashed", [True, False], ids=["hash", "loops"])
def test_broadcast_table_is_built_once_for_all_tasks(hashed: bool) -> None:
    given = numbers("k", [1, 2, 3])
    source = BroadcastSource(output=given.output, broadcast=0)
    cache = BroadcastCache(0)
    keys = ["k"] if hashed else ()
    for values in ([1, 1, 5], [3], []):
        node = join(numbers("k", values), source, J.INNER, False, keys)
        task = Task(node, builder=providing(given, cache))
        found = [row[0] for row in task.rows()]
        assert found == ([v for v in values if v < 5] if hashed else [v for v in values for _ in range(3)])
        assert len(task.instance.pipelines) == 1
    assert cache.statistics()["values"] == 1
    Task(join(numbers("k", [1]), source, J.LEFT_SEMI, False, keys), builder=providing(given, cache)).rows()
    assert cache.statistics()["values"] == 2
    assert not hashed or cache.statistics()["bytes"] > 0


@pytest.mark.parametrize("hashed", [True, False], ids=["hash", "loops"])
def test_broadcast_table_is_accounted_to_the_building_task(hashed: bool) -> None:
    given = numbers("k", range(1000))
    source = BroadcastSource(output=given.output, broadcast=0)
    tables = MemoryTracker("tables")
    cache = BroadcastCache(0, tables)
    node = join(numbers("k", range(1500)), source, J.INNER, False, ["k"] if hashed else ())
    name = "HashJoinProbe" if hashed else "NestedLoopJoinProbe"
    with pytest.raises(ResourceExhaustedError, match=rf"{name}.* asked for \d+ bytes .* of its limit 100 bytes"):
        small = Task(node, builder=providing(given, cache), memory=MemoryTracker("task", limit=100))
        small.rows()
    assert small.memory.held == tables.held == cache.statistics()["values"] == 0
    task = Task(node, builder=providing(given, cache))
    next(task.chunks)
    table = cache.statistics()["bytes"]
    assert task.memory.held >= table > 0 == tables.held
    task.chunks.close()
    assert (task.memory.held, tables.held) == (0, table)
    assert task.operator(name)["peak_bytes"] >= table
    again = Task(node, builder=providing(given, cache), memory=MemoryTracker("task", limit=20_000))
    next(again.chunks)
    again.chunks.close()
    assert again.memory.peak < table == tables.held


@pytest.mark.parametrize(
    ("kind", "build_left"), [(J.RIGHT_OUTER, False), (J.FULL_OUTER, False), (J.LEFT_OUTER, True), (J.LEFT_ANTI, True)]
)
def test_broadcast_of_outer_side_is_rejected(kind: JoinType, build_left: bool) -> None:
    source = BroadcastSource(output=fields("k:bigint, ks:string"), broadcast=0)
    left, right = (source, numbers("k", [1])) if build_left else (numbers("k", [1]), source)
    with pytest.raises(UnsupportedPlanError):
        Builder().decompose(join(left, right, kind, build_left, ["k"]))


# --- the wire -------------------------------------------------------------------------------------


def wire(op: str, *, keys: bool = True, right_type: str = "bigint", **given: Any) -> Join:
    columns = [{"id": i, "name": f"c{i}", "type": "bigint", "nullable": True} for i in range(3)]
    columns[2]["type"] = right_type
    leaves = [
        {"op": "Input", "input": 0, "output": columns[:2]},
        {"op": "Input", "input": 1, "output": columns[2:]},
    ]
    refs = [{"ref": i, "type": column["type"], "nullable": True} for i, column in enumerate(columns)]
    given = {**({"leftKeys": refs[:1], "rightKeys": refs[2:]} if keys else {}), "condition": None, **given}
    if given["condition"] == "less":
        given["condition"] = {"class": "LessThan", "type": "boolean", "nullable": True, "args": refs[1:]}
    made = decode_node({"op": op, "output": columns, "fields": given, "children": leaves})
    assert isinstance(made, Join)
    return made


@pytest.mark.parametrize("op", ["SortMergeJoinExec", "ShuffledHashJoinExec", "BroadcastHashJoinExec"])
def test_hash_joins_are_decoded(op: str) -> None:
    made = wire(op, joinType="LeftOuter", buildSide="BuildRight", condition="less")
    assert isinstance(made, HashJoin)
    assert made.join_type is J.LEFT_OUTER and not made.build_left and not made.null_aware
    assert [key.ordinal for key in (*made.left_keys, *made.right_keys)] == [0, 0]  # type: ignore[attr-defined]
    assert [arg.ordinal for arg in made.condition.args] == [1, 2]  # type: ignore[union-attr]
    left = wire(op, joinType="Cross", buildSide="BuildLeft")
    assert left.build_left and left.join_type is J.INNER


def test_null_aware_joins_are_decoded() -> None:
    made = wire("BroadcastHashJoinExec", joinType="LeftAnti", buildSide="BuildRight", isNullAwareAntiJoin=True)
    assert isinstance(made, HashJoin) and made.null_aware


def test_nested_loop_joins_are_decoded() -> None:
    made = wire("BroadcastNestedLoopJoinExec", keys=False, joinType="LeftAnti", buildSide="BuildRight")
    assert isinstance(made, NestedLoopJoin) and made.join_type is J.LEFT_ANTI
    product = wire("CartesianProductExec", keys=False, condition="less")
    assert product.join_type is J.INNER and product.condition is not None


@pytest.mark.parametrize(
    ("op", "given"),
    [
        ("SortMergeJoinExec", {"joinType": "LeftSometimes"}),
        ("ShuffledHashJoinExec", {"joinType": "LeftSingle", "buildSide": "BuildLeft"}),
        ("SortMergeJoinExec", {"joinType": "Inner", "right_type": "int"}),
        ("SortMergeJoinExec", {"joinType": "Inner", "leftKeys": [], "rightKeys": []}),
        ("ShuffledHashJoinExec", {"joinType": "ExistenceJoin", "buildSide": "BuildLeft"}),
        ("BroadcastHashJoinExec", {"joinType": "RightOuter", "buildSide": "BuildRight"}),
        ("BroadcastHashJoinExec", {"joinType": "LeftSemi", "buildSide": "BuildLeft"}),
        ("BroadcastHashJoinExec", {"joinType": "LeftAnti", "condition": "less", "isNullAwareAntiJoin": True}),
        ("BroadcastNestedLoopJoinExec", {"joinType": "FullOuter", "keys": False}),
        ("BroadcastNestedLoopJoinExec", {"joinType": "LeftOuter", "buildSide": "BuildLeft", "keys": False}),
    ],
)
def test_unsupported_join_is_rejected(op: str, given: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedPlanError):
        wire(op, **given)

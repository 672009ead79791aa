"""Joins whose build side does not fit spill both sides, return the same rows, and delete all files."""

from __future__ import annotations

import random
from contextlib import closing
from typing import Any

import pytest

from pyspark_pipeline.errors import PipelineError, ResourceExhaustedError
from pyspark_pipeline.exchange import SinkFactory, StreamTransport
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.exec.instance import FragmentInstance
from pyspark_pipeline.exec.output_queue import OutputQueue
from pyspark_pipeline.memory import MemoryTracker, SpillBudget
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.joins import spilled_probe
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.joins import HashJoin, JoinType
from pyspark_pipeline.plan.nodes import Limit, Node, Project, ResultSink, Settings
from tests.operators.join_kit import RoundRobinBuilder, Row, bag, expected, join, less, side
from tests.operators.kit import call, column, literal, to_table
from tests.operators.sort_kit import counted
from tests.operators.spill_kit import spill_folder  # noqa: F401 (a fixture for every test)
from tests.operators.test_joins import NAMES, SHAPES, rows, spec

J = JoinType


def limited(
    node: Node, limit: int | None, *, dop: int = 1, batch_rows: int = 1000, codec: str = "none"
) -> FragmentInstance:
    """Return an instance that runs ``node`` with ``limit`` bytes; chunks are distributed over the drivers."""
    settings = Settings(
        ansi=True, time_zone="UTC", options=Options({"batchRows": str(batch_rows), "output.queueChunks": "1"})
    )
    builder = RoundRobinBuilder(settings, dop=dop)
    queue = OutputQueue(2)
    sink = SinkFactory(ResultSink(), tuple(f.type for f in node.output), settings, StreamTransport(queue))
    builder.add_pipeline([*builder.decompose(node), sink])
    memory = MemoryTracker("instance", limit=limit)
    return FragmentInstance(builder.pipelines, queue, memory=memory, spill=SpillBudget(codec=codec))


def run(node: Node, instance: FragmentInstance, dop: int = 1) -> list[Row]:
    table = to_table(node, list(execute(instance, dop)))
    assert instance.memory.held == 0
    return list(zip(*(values.to_pylist() for values in table.columns), strict=True))


def made(kinds: tuple[str, ...], count: int, seed: int) -> list[Row]:
    """Return rows with frequent, unique and NULL keys."""
    dice = random.Random(seed)
    given = rows(dice, kinds, count)
    if kinds[0] == "bigint":
        given = [(dice.randrange(60) if dice.random() < 0.6 else key, *rest) for key, *rest in given]
    if kinds[0] == "string":
        given = [(f"key {dice.randrange(60)}" if dice.random() < 0.6 else key, *rest) for key, *rest in given]
    return given


def both(
    kinds: tuple[str, ...], left: list[Row], right: list[Row], shape: tuple[JoinType, bool], conditional: bool
) -> HashJoin:
    first, second = side(spec(kinds, "l"), left, 11, seed=1), side(spec(kinds, "r"), right, 13, seed=2)
    condition = less(first, second, "vl", "vr") if conditional else None
    node = join(first, second, shape[0], shape[1], [f"k{i}" for i in range(len(kinds))], condition=condition)
    assert isinstance(node, HashJoin)
    return node


def wanted(node: HashJoin, num_keys: int, left: list[Row], right: list[Row]) -> list[Row]:
    def holds(a: Row, b: Row) -> bool:
        return a[num_keys] is not None and b[num_keys] is not None and a[num_keys] < b[num_keys]

    return expected(left, right, node.join_type, num_keys, holds if node.condition is not None else None)


@pytest.mark.rotates
@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
@pytest.mark.parametrize("conditional", [False, True], ids=["keys", "condition"])
@pytest.mark.parametrize("dop", [1, 3])
def test_spilled_join_matches_oracle(shape: Any, conditional: bool, dop: int) -> None:
    for kinds in (("bigint",), ("string",), ("double", "decimal(38;0)"), ("date", "string")):
        left, right = made(kinds, 150, 3), made(kinds, 130, 4)
        node = both(kinds, left, right, shape, conditional)
        instance = limited(node, 4000 if kinds[0] == "bigint" else 1, dop=dop, batch_rows=50)
        assert bag(run(node, instance, dop)) == bag(wanted(node, len(kinds), left, right))
        assert counted(instance, "spill_files") > 10
        assert counted(instance, "spilled_bytes") > 1000


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
@pytest.mark.parametrize("sizes", [(0, 100), (100, 0), (1, 100), (100, 1)])
def test_spilled_join_of_small_or_empty_sides(shape: Any, sizes: tuple[int, int]) -> None:
    left, right = made(("bigint",), sizes[0], 3), made(("bigint",), sizes[1], 4)
    node = both(("bigint",), left, right, shape, False)
    found = run(node, limited(node, 1))
    unlimited = run(node, limited(node, None))
    assert bag(found) == bag(unlimited)


@pytest.mark.rotates
@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
@pytest.mark.parametrize("conditional", [False, True], ids=["keys", "condition"])
@pytest.mark.parametrize("dop", [1, 3])
def test_spilled_join_of_one_key_that_does_not_fit(shape: Any, conditional: bool, dop: int) -> None:
    """All rows of one key stay in one partition at every level of repartitioning."""
    probe = [(7 if i % 3 else i, i % 9, f"p{i}") for i in range(30)]
    build = [(7 if i % 8 else i, i % 7, f"b{i}") for i in range(400)]
    left, right = (build, probe) if shape[1] else (probe, build)
    node = both(("bigint",), left, right, shape, conditional)
    instance = limited(node, 1000, dop=dop)
    assert bag(run(node, instance, dop)) == bag(wanted(node, 1, left, right))
    assert counted(instance, "spill_files") >= 16
    assert counted(instance, "join_blocks") > 1


@pytest.mark.rotates
@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
@pytest.mark.parametrize("conditional", [False, True], ids=["keys", "condition"])
def test_spilled_join_in_blocks_of_several_keys(shape: Any, conditional: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe row matches in no block, in one, or in all, and is emitted the right number of times."""
    monkeypatch.setattr(spilled_probe, "LAST_LEVEL", 0)
    monkeypatch.setattr(spilled_probe, "_PIECE_ROWS", 7)
    for kinds in (("bigint",), ("string",), ("date", "string")):
        left, right = made(kinds, 300, 5), made(kinds, 330, 6)
        node = both(kinds, left, right, shape, conditional)
        instance = limited(node, 1, batch_rows=50)
        assert bag(run(node, instance)) == bag(wanted(node, len(kinds), left, right))
        assert counted(instance, "join_blocks") > 2 * counted(instance, "join_partitions")


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_spilled_join_of_one_key_stays_within_memory_limit(shape: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill_partitions, "_WRITTEN_BYTES", 1 << 20)
    monkeypatch.setattr(spill_partitions, "_READ_BYTES", 1 << 18)
    probe = [(7, i, "p") for i in range(3)]
    build = [(7, i % 5, "wide " * 200) for i in range(12_000)]
    left, right = (build, probe) if shape[1] else (probe, build)
    first, second = side(spec(("bigint",), "l"), left, 1000), side(spec(("bigint",), "r"), right, 1000)
    node = join(first, second, shape[0], shape[1], ["k0"], condition=less(first, second, "vl", "vr"))
    instance = limited(node, 4 << 20)
    assert bag(run(node, instance)) == bag(run(node, limited(node, None)))
    assert instance.memory.peak <= 8 << 20


def test_probes_of_spilled_join_are_blocked_by_each_other() -> None:
    left, right = made(("bigint",), 150, 3), made(("bigint",), 130, 4)
    node = both(("bigint",), left, right, (J.INNER, False), False)
    instance = limited(node, 1, dop=3)
    assert run(node, instance)
    probes = next(p for p in instance.metrics()["pipelines"] if p["operators"][1]["name"] == "HashJoinProbe")
    assert probes["operators"][1]["blocked_s"].keys() == {"join build", "join probe"}


def test_too_large_partition_is_repartitioned(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: set[int] = set()
    start = spill_partitions.SpillPartitions.__init__

    def watched(self: Any, level: int, keys: Any, budget: Any) -> None:
        levels.add(level)
        start(self, level, keys, budget)

    monkeypatch.setattr(spill_partitions.SpillPartitions, "__init__", watched)
    left, right = [(i, 1, "l") for i in range(900)], [(i, 2, "r") for i in range(1200)]
    node = both(("bigint",), left, right, (J.FULL_OUTER, False), False)
    instance = limited(node, 4000)
    assert bag(run(node, instance)) == bag([(i, 1, "l", i, 2, "r") for i in range(900)]
                                           + [(None, None, None, i, 2, "r") for i in range(900, 1200)])  # fmt: skip
    assert {0, 1} <= levels <= set(range(spill_partitions.LAST_LEVEL + 1))


def test_join_spills_only_if_table_does_not_fit() -> None:
    left, right = [(i, 1, "l") for i in range(300)], [(i, 2, "r") for i in range(4000)]
    node = both(("bigint",), left, right, (J.INNER, False), False)
    roomy = limited(node, 10**9)
    found = run(node, roomy)
    assert counted(roomy, "spill_files") == 0 and len(found) == 300
    # the chunks fit, but not the table made of them
    tight = limited(node, 150_000)
    assert bag(run(node, tight)) == bag(found)
    assert counted(tight, "spill_files") > 0


def test_spill_writes_only_needed_columns() -> None:
    left = [(i, i % 9, "wide " * 20) for i in range(500)]
    right = [(i, 2, "r") for i in range(500)]
    node = both(("bigint",), left, right, (J.INNER, False), False)
    few = Project(output=node.output[:1], exprs=(column(node, "k0"),), child=node)
    whole, narrow = limited(node, 1000), limited(few, 1000)
    assert len(run(node, whole)) == len(run(few, narrow)) == 500
    assert counted(narrow, "spilled_bytes") < counted(whole, "spilled_bytes")


def test_stacked_spilled_joins() -> None:
    facts = [(i % 50, i % 20, f"f{i}") for i in range(400)]
    first = side("a:bigint, b:int, s:string", facts, 17)
    keys = side("a:bigint, t:string", [(i, f"a{i}") for i in range(0, 50, 2)], 3)
    others = side("b:int, u:string", [(i, f"b{i}") for i in range(0, 20, 3)], 3)
    lower = join(first, keys, J.INNER, False, ["a"])
    node = join(lower, others, J.LEFT_OUTER, False, ["b"])
    for dop in (1, 3):
        found = run(node, limited(node, 1, dop=dop), dop)
        assert bag(found) == bag(run(node, limited(node, None, dop=dop), dop))


@pytest.mark.parametrize("dop", [1, 3])
@pytest.mark.parametrize("shape", [(J.INNER, False), (J.FULL_OUTER, False), (J.LEFT_ANTI, True)])
def test_spill_files_are_deleted_after_early_close_and_limit(shape: Any, dop: int) -> None:
    left, right = made(("bigint",), 400, 3), made(("bigint",), 300, 4)
    node = both(("bigint",), left, right, shape, False)
    instance = limited(node, 2000, dop=dop, batch_rows=5)
    with closing(execute(instance, dop)) as found:
        next(found)
    assert instance.memory.held == 0
    assert counted(instance, "spill_files") >= 16
    few = limited(Limit(output=node.output, limit=3, child=node), 2000, dop=1, batch_rows=5)
    assert sum(row.rows for row in execute(few)) == 3
    assert few.memory.held == 0


@pytest.mark.parametrize("dop", [1, 3])
def test_spill_files_are_deleted_after_condition_error(dop: int) -> None:
    left, right = [(i, i, "l") for i in range(300)], [(i, 299 - i, "r") for i in range(300)]
    node = both(("bigint",), left, right, (J.INNER, False), True)
    condition = node.condition
    assert condition is not None
    cast = call("Cast", "double", condition.args[0])  # type: ignore[attr-defined]
    risky = call(
        "GreaterThan", "boolean",
        call("Divide", "double", literal(1.0, "double"), cast, evalMode="ANSI"), literal(0.0, "double"),
    )  # fmt: skip
    broken = join(node.left, node.right, J.INNER, False, ["k0"], condition=risky)
    instance = limited(broken, 3000, dop=dop)
    with pytest.raises(PipelineError, match="DIVIDE_BY_ZERO"):
        list(execute(instance, dop))
    assert counted(instance, "spill_files") >= 16
    assert instance.memory.held == 0


def test_missing_spill_directory_raises_resource_exhausted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/not-there")
    left, right = made(("bigint",), 100, 3), made(("bigint",), 100, 4)
    instance = limited(both(("bigint",), left, right, (J.INNER, False), False), 1000)
    with pytest.raises(ResourceExhaustedError, match="not-there"):
        list(execute(instance))


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_partition_size_is_judged_by_bytes_in_memory(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition that compression shrinks to a tenth on disk is not built whole for that reason."""
    monkeypatch.setattr(spill_partitions, "_WRITTEN_BYTES", 1 << 16)
    monkeypatch.setattr(spill_partitions, "_READ_BYTES", 1 << 14)
    build = [(i, i, f"{i} " + "wide " * 800) for i in range(6000)]
    first, second = side(spec(("bigint",), "l"), build[::200], 20), side(spec(("bigint",), "r"), build, 20)
    node = join(first, second, J.LEFT_OUTER, False, ["k0"])
    instance = limited(node, 1 << 20, batch_rows=20, codec=codec)
    assert len(run(node, instance)) == 30
    assert instance.memory.peak < 1.3 * (1 << 20)

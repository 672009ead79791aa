"""If operators buffer rows at the same time and memory is short, the largest spills: same rows, nothing left behind."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from pyspark_pipeline.errors import PipelineError, ResourceExhaustedError
from pyspark_pipeline.exchange import StreamTransport
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.plan.joins import JoinType
from pyspark_pipeline.plan.nodes import Node
from tests.operators.aggregate_kit import aggregate_call, complete_node
from tests.operators.arbitration_kit import Stage
from tests.operators.join_kit import Row, bag, join, side
from tests.operators.kit import Chunks, column
from tests.operators.sort_kit import Direction, sort
from tests.operators.spill_kit import spill_folder  # noqa: F401 (a fixture for every test)

LEAST = 2000
SLACK = 3000
SINKS = {"aggregation": "AggregateSink", "sort": "SortSink", "join": "HashJoinBuild"}
DICE = random.Random(5)
MANY: list[Row] = [(i % 5000, DICE.randrange(100), f"some text {i % 90}") for i in range(6000)]
FEW: list[Row] = [(i * 3, i, f"few {i}") for i in range(400)]
DOPS = pytest.mark.parametrize("dop", [1, 3])


@pytest.fixture(autouse=True)
def least(spill_folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Lower the threshold for a spill, but not to zero."""
    monkeypatch.setattr(spill_partitions, "MIN_SPILL_BYTES", LEAST)


def leaf(rows: list[Row], chunk_rows: int, key: str = "k") -> Chunks:
    return side(f"{key}:bigint, v:bigint, s:string", rows, chunk_rows)


def grouped(child: Node) -> Node:
    calls = [aggregate_call("Sum", column(child, "v")), aggregate_call("Max", column(child, "s"))]
    return complete_node(child, [column(child, "k")], calls)


def ordered(child: Node) -> Node:
    return sort(child, ["v", "k"], [Direction(), Direction()])


def staged(large: str, small: str, dop: int) -> Stage:
    """Build a join; on one side ``large`` buffers many rows, on the other ``small`` few. One of them is the join."""
    rows = {"many": (MANY, 250), "few": (FEW, 50)}
    probe, build = ("few", "many") if large == "join" else ("many", "few")
    collector = small if large == "join" else large
    key = "r0" if collector == "aggregation" else "k"
    leaves = {probe: leaf(*rows[probe]), build: leaf(*rows[build], key)}
    left = grouped(leaves[probe]) if collector == "aggregation" else ordered(leaves[probe])
    return Stage(join(left, leaves[build], JoinType.INNER, False, [key]), leaves, dop)


def let_few_arrive(stage: Stage, small: str, seen: list[int], large: str) -> None:
    """Release the few rows when all others are blocked and memory is nearly full, then the last of the many."""

    lock = threading.Lock()

    def first(_: int) -> bool:
        with lock:
            if not seen and stage.is_quiet("few"):
                stage.instance.memory.limit = stage.instance.memory.held + SLACK
                seen.append(stage.held(large))
        return bool(seen)

    def last(_: int) -> bool:
        with lock:
            is_settled = stage.is_done(SINKS[small]) and stage.is_quiet("many") and not stage.is_reclaiming()
            if len(seen) == 1 and is_settled:
                seen.append(stage.held(large))
        return len(seen) > 1

    stage.gates["few", "first"] = first
    stage.gates["many", "last"] = last


PAIRS = pytest.mark.parametrize(
    ("large", "small"), [("aggregation", "join"), ("sort", "join"), ("join", "aggregation"), ("join", "sort")]
)


@pytest.mark.rotates
@PAIRS
@DOPS
def test_larger_operator_is_reclaimed_while_blocked_and_the_smaller_is_not(large: str, small: str, dop: int) -> None:
    wanted = bag(staged(large, small, dop).rows())
    stage, seen = staged(large, small, dop), list[int]()
    let_few_arrive(stage, small, seen, SINKS[large])
    assert bag(stage.rows()) == wanted
    assert stage.counted(SINKS[large], "revocations") >= 1
    assert stage.counted(SINKS[large], "spilled_bytes") > 0
    assert stage.counted(SINKS[small], "revocations") == stage.counted(SINKS[small], "spill_files") == 0
    held, later = seen
    assert later < held * (dop - 1) / dop + LEAST
    assert stage.instance.memory.held == 0


@pytest.mark.rotates
@DOPS
@pytest.mark.parametrize("small", ["aggregation", "sort"])
def test_partitions_of_finished_build_drivers_are_spilled_by_the_last_driver(small: str, dop: int) -> None:
    wanted = bag(staged("join", small, dop).rows())
    stage, seen = staged("join", small, dop), list[int]()
    let_few_arrive(stage, small, seen, "build side")
    last = stage.gates["many", "last"]
    stage.gates["many", "last"] = lambda driver: driver < dop - 1 or last(driver)
    assert bag(stage.rows()) == wanted
    held, later = seen
    assert held > 100_000 if dop > 1 else held == 0
    assert later == 0 and stage.instance.memory.held == 0
    assert stage.counted("HashJoinBuild", "revocations") == 1
    assert stage.counted(SINKS[small], "spill_files") == 0


@pytest.mark.parametrize(
    ("large", "small", "dop"),
    [
        ("aggregation", "join", 1),
        ("sort", "join", 1),
        ("sort", "join", 3),
        ("join", "aggregation", 1),
        ("join", "aggregation", 3),
        ("join", "sort", 3),
    ],
)
def test_operator_asked_to_reclaim_at_its_finish_still_spills(large: str, small: str, dop: int) -> None:
    wanted = bag(staged(large, small, dop).rows())
    stage, granted, lock = staged(large, small, dop), list[bool](), threading.Lock()

    def ended(_: int) -> bool:
        """Request one reclaim during the sources' ``is_finished``, directly before the sink's ``set_finishing``."""
        memory = stage.instance.memory
        with lock:
            if not granted and stage.held(SINKS[large]) > LEAST and stage.is_quiet("many"):
                memory.limit = memory.held
                beside = memory.child("beside")
                granted.append(beside.try_reserve(100))
                beside.close()
                memory.limit = 10**9
        return True

    stage.gates["few", "first"] = lambda _: bool(granted)
    stage.gates["many", "ended"] = ended
    assert bag(stage.rows()) == wanted
    assert granted == [True] and stage.instance.memory.held == 0
    assert stage.counted(SINKS[large], "revocations") >= 1
    assert stage.counted(SINKS[large], "spill_files") > 0


@PAIRS
@DOPS
def test_reclaim_without_spill_space_raises_and_leaks_nothing(
    large: str, small: str, dop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, seen = staged(large, small, dop), list[int]()
    let_few_arrive(stage, small, seen, SINKS[large])
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/not-there")
    with pytest.raises(ResourceExhaustedError, match="not-there"):
        stage.rows()
    assert stage.counted(SINKS[small], "spill_files") == 0
    assert len(seen) == 1 and stage.instance.memory.held == 0


@PAIRS
@DOPS
def test_files_are_removed_if_another_operator_fails_after_a_reclaim(large: str, small: str, dop: int) -> None:
    stage, seen = staged(large, small, dop), list[int]()
    let_few_arrive(stage, small, seen, SINKS[large])
    last = stage.gates["many", "last"]

    def fails(driver: int) -> bool:
        if last(driver):
            raise ValueError("told to fail")
        return False

    stage.gates["many", "last"] = fails
    with pytest.raises(PipelineError, match="told to fail"):
        stage.rows()
    assert len(seen) == 2 and stage.instance.memory.held == 0
    assert stage.counted(SINKS[large], "revocations") >= 1


@DOPS
def test_build_partitions_after_abandonment_are_neither_held_nor_reclaimed(
    dop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, abandoned = staged("join", "sort", dop), list[bool]()
    monkeypatch.setattr(StreamTransport, "is_abandoned", lambda self: bool(abandoned))

    def last(driver: int) -> bool:
        if stage.is_quiet("many"):
            abandoned.append(True)
        return dop > 1 and driver == 0

    stage.gates["many", "last"] = last
    assert stage.rows() == []
    assert abandoned and stage.instance.memory.held == 0
    assert stage.instance.memory.child("beside").try_reserve(10**9)
    assert stage.counted("HashJoinBuild", "revocations") == 0


@DOPS
@pytest.mark.parametrize("limit", [400_000, 600_000, 900_000])
def test_competing_operators_return_the_same_rows(limit: int, dop: int) -> None:
    def node() -> tuple[Node, dict[str, Chunks]]:
        facts, dates, texts = leaf(MANY, 250), leaf(FEW, 50), leaf(MANY[:2000], 70, "r0")
        below = grouped(join(facts, dates, JoinType.LEFT_OUTER, False, ["k"]))
        return join(below, sort(texts, ["v"], [Direction()]), JoinType.FULL_OUTER, False, ["r0"]), {"many": facts}

    wanted = bag(Stage(*node(), dop).rows())
    stage = Stage(*node(), dop)
    stage.instance.memory.limit = limit
    assert bag(stage.rows()) == wanted
    assert stage.instance.memory.held == 0

"""Aggregations over the memory limit spill their groups, return the same rows, and leave no file behind."""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from contextlib import closing
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.errors import PipelineError, ResourceExhaustedError
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.kernels.murmur3 import driver_ids, hash_rows, partition_ids
from pyspark_pipeline.memory import tracker
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.aggregation import spill as aggregate_spill
from pyspark_pipeline.operators.aggregation.aggregator import Aggregator
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Aggregate, AggregateCall, Limit, Node, Settings
from tests.operators.aggregate_kit import (
    aggregate_call,
    chunks_of,
    complete_node,
    leaf,
    merge_node,
    partial_node,
    rows_of,
)
from tests.operators.kit import DEFAULTS, Chunks, call, column, literal, run, to_table
from tests.operators.sort_kit import counted, limited
from tests.operators.spill_kit import spill_folder  # noqa: F401 (a fixture for every test)

ROWS = 3000
LITTLE = 60_000
LEGACY = Settings(ansi=False, time_zone="UTC", options=Options({}))
POOLS: dict[str, Sequence[Any]] = {
    "boolean": [True, False],
    "tinyint": [-128, 127, 0],
    "smallint": [-(2**15), 3],
    "int": [2**31 - 1, -(2**31), 5],
    "bigint": [2**40, -(2**40), 7],
    "float": [0.0, -0.0, 1.5, float("nan"), float("inf")],
    "double": [0.0, -0.0, 1.5, float("nan"), float("-inf"), 0.25],
    "decimal(9;2)": [Decimal("1.10"), Decimal("-7.77")],
    "decimal(38;0)": [Decimal(10**30), Decimal(-(10**30)), Decimal(1)],
    "string": ["", "a", "text of some length", "ü"],
    "binary": [b"", b"\xff\x00", b"abc"],
    "date": [datetime.date(1970, 1, 1), datetime.date(2020, 2, 29)],
    "array<bigint>": [[], [None], [1, None], [1]],
    'struct<"a":string>': [(None,), ("",)],
    "timestamp_ntz": [datetime.datetime(1970, 1, 1), datetime.datetime(2020, 2, 29, 1, 2, 3, 4)],
}
NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal(9;2)", "decimal(38;0)")
FUNCTIONS = [
    *(("Sum", kind) for kind in NUMERIC),
    *(("Average", kind) for kind in NUMERIC),
    *((name, kind) for name in ("Count", "Min", "Max") for kind in POOLS if "<" not in kind),
]


def given(keys: Sequence[str], kinds: Sequence[str], rows: int = ROWS, groups: int = 400) -> Chunks:
    """Build rows of keys, with about ``groups`` distinct values, and of arguments."""
    dice = random.Random(len(keys) + len(kinds))
    made: dict[str, list[Any]] = {}
    for i, kind in enumerate(keys):
        pool = [None, *POOLS[kind]]
        pool += [_key(kind, number) for number in range(groups) if kind != "boolean"]
        made[f"k{i}"] = [dice.choice(pool) for _ in range(rows)]
    for i, kind in enumerate(kinds):
        made[f"v{i}"] = [None if dice.random() < 0.3 else dice.choice(POOLS[kind]) for _ in range(rows)]
    spec = ", ".join(f"{name}:{kind}" for name, kind in zip(made, [*keys, *kinds], strict=True))
    below = leaf(spec, [])
    types = [field.type.arrow for field in below.output]
    table = pa.table({name: pa.array(values, kind) for (name, values), kind in zip(made.items(), types, strict=True)})
    return leaf(spec, chunks_of(table, 300))


def _key(kind: str, number: int) -> Any:
    made = {
        "string": f"key {number}",
        "double": number / 4,
        "decimal(38;0)": Decimal(number * 10**25),
        "array<bigint>": [number % 20] * (number // 20),
        'struct<"a":string>': (f"key {number}",),
    }
    return made.get(kind, number)


def calls_of(child: Node, *, ansi: bool = True) -> list[AggregateCall]:
    values = [column(child, f.name) for f in child.output if f.name.startswith("v")]
    return [aggregate_call(name, value, ansi=ansi) for value in values for name in ("Sum", "Average", "Count", "Max")]


def keys_of(child: Node) -> list[Expr]:
    return [column(child, f.name) for f in child.output if f.name.startswith("k")]


def compared(node: Aggregate, limit: int, *, dop: int = 1, settings: Settings = DEFAULTS) -> int:
    """Run a node with ``limit`` bytes; assert the rows of a run without a limit; return the number of spill files."""
    instance = limited(node, limit, settings=settings, dop=dop)
    found = to_table(node, list(execute(instance, dop)))
    assert rows_of(found) == rows_of(run(node))
    assert instance.memory.held == 0
    assert (counted(instance, "spilled_bytes") > 0) == (counted(instance, "spill_files") > 0)
    return counted(instance, "spill_files")


@pytest.mark.parametrize(("function", "kind"), FUNCTIONS)
def test_spilled_function_equals_unspilled(function: str, kind: str) -> None:
    child = given(["int"], [kind])
    call_ = aggregate_call(function, column(child, "v0"), ansi=False)
    node = complete_node(child, keys_of(child), [aggregate_call("Count", column(child, "k0"), ansi=False), call_])
    assert compared(node, LITTLE, settings=LEGACY) >= 16


@pytest.mark.rotates
@pytest.mark.parametrize(
    "keys",
    [
        ("string",),
        ("double",),
        ("decimal(38;0)", "string"),
        ("boolean", "bigint"),
        ("string", "string"),
        ("array<bigint>", "string"),
        ('struct<"a":string>',),
    ],
)
@pytest.mark.parametrize("dop", [1, 3])
@pytest.mark.parametrize("limit", [LITTLE, 10**9])
def test_spilled_keys_equal_unspilled(keys: tuple[str, ...], dop: int, limit: int) -> None:
    child = given(keys, ["decimal(9;2)", "string"])
    calls = [
        aggregate_call("Sum", column(child, "v0")),
        aggregate_call("Min", column(child, "v1"), condition=call("IsNotNull", "boolean", column(child, "v0"))),
    ]
    files = compared(complete_node(child, keys_of(child), calls), limit, dop=dop)
    assert files >= 16 if limit < 10**9 else files == 0


@pytest.mark.rotates
@pytest.mark.parametrize("mode", ["PartialMerge", "Final"])
@pytest.mark.parametrize("dop", [1, 3])
def test_spilled_merge_stage_equals_unspilled(mode: str, dop: int) -> None:
    child = given(["int", "string"], ["double", "decimal(38;0)", "bigint"], rows=1000)
    first = partial_node(child, keys_of(child), calls_of(child, ansi=False))
    node = merge_node(first, mode, first)
    instance = limited(node, LITTLE, settings=LEGACY, dop=dop)
    found = to_table(node, list(execute(instance, dop)))
    assert rows_of(found) == rows_of(run(node))
    assert counted(instance, "spill_files") >= 16


def test_spilled_distinct_equals_unspilled() -> None:
    child = given(["int", "string"], [])
    assert compared(complete_node(child, keys_of(child), []), LITTLE) >= 16
    assert compared(partial_node(child, keys_of(child), []), LITTLE) >= 16


def test_empty_input_does_not_spill() -> None:
    child = given(["int"], ["bigint"], rows=0)
    assert compared(complete_node(child, keys_of(child), calls_of(child)), 1) == 0


def test_aggregation_without_keys_does_not_spill() -> None:
    child = given([], ["string", "bigint"])
    calls = [aggregate_call("Max", column(child, "v0")), aggregate_call("Sum", column(child, "v1"))]
    assert compared(complete_node(child, [], calls), 1) == 0


def test_sum_that_overflowed_before_a_spill_remains_overflowed() -> None:
    values = [Decimal(10**37 * 9)] * 2 + [Decimal(-(10**37) * 9)] * 2
    rows = [(k, v) for v in values for k in range(400)]
    table = pa.table({"k0": pa.array([k for k, _ in rows]), "v0": pa.array([v for _, v in rows], pa.decimal128(38, 0))})
    child = leaf("k0:bigint, v0:decimal(38;0)", chunks_of(table, 50))
    calls = [aggregate_call(name, column(child, "v0"), ansi=False) for name in ("Sum", "Average")]
    node = complete_node(child, keys_of(child), calls)
    instance = limited(node, 20_000, settings=LEGACY)
    found = to_table(node, list(execute(instance)))
    assert counted(instance, "spill_files") >= 16
    assert set(found["r1"].to_pylist()) == {None} and set(found["r2"].to_pylist()) == {None}
    loud = complete_node(child, keys_of(child), [aggregate_call("Sum", column(child, "v0"))])
    with pytest.raises(PipelineError, match="ARITHMETIC_OVERFLOW"):
        list(execute(limited(loud, 20_000)))


@pytest.mark.rotates
def test_too_large_spill_partition_is_partitioned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[int] = []
    made = spill_partitions.SpillPartitions.__init__

    def watched(self: Any, level: int, keys: Any, room: Any) -> None:
        levels.append(level)
        made(self, level, keys, room)

    monkeypatch.setattr(spill_partitions.SpillPartitions, "__init__", watched)
    child = given(["bigint"], ["bigint"], rows=10_000, groups=7_000)
    compared(complete_node(child, keys_of(child), calls_of(child)), 50_000)
    assert levels[0] == 0 and 1 in levels and max(levels) <= spill_partitions.LAST_LEVEL


def test_aggregation_without_memory_stops_at_the_last_level() -> None:
    child = given(["bigint"], ["bigint"], rows=200, groups=50)
    assert compared(complete_node(child, keys_of(child), calls_of(child)), 1) > 100


@pytest.mark.parametrize("keys", [["k0"], []], ids=["keys", "none"])
def test_single_group_over_the_limit_raises_with_the_operator_name(keys: list[str]) -> None:
    rows = [(k, letter * (1 << 20)) for letter in "abcd" for k in range(2)]
    table = pa.table({"k0": pa.array([k for k, _ in rows]), "v0": pa.array([v for _, v in rows])})
    child = leaf("k0:bigint, v0:string", chunks_of(table, 2))
    node = complete_node(child, [column(child, k) for k in keys], [aggregate_call("Max", column(child, "v0"))])
    assert len(list(execute(limited(node, 16 << 20)))) >= 1
    instance = limited(node, 1000)
    told = r"AggregateS\w+.* asked for \d+ bytes and holds \d+; instance holds \d+ of its limit 1000 bytes .*held by"
    with pytest.raises(ResourceExhaustedError, match=told):
        list(execute(instance))
    assert instance.memory.held == 0 and instance.memory.peak < 8 << 20


def test_groups_over_the_limit_at_the_last_level_raise_with_the_operator_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "ALWAYS_GRANTED_BYTES", 0)
    child = given(["bigint"], ["bigint"], rows=200, groups=50)
    with pytest.raises(ResourceExhaustedError, match="AggregateSource.* asked for .* of its limit 1 bytes"):
        list(execute(limited(complete_node(child, keys_of(child), calls_of(child)), 1)))


def test_max_of_long_strings_stays_within_the_limit() -> None:
    strings = pa.array(["text " * 20 + str(i) for i in range(60_000)])
    child = leaf("v0:string", [pa.record_batch([strings], names=["c0"])])
    node = complete_node(child, [], [aggregate_call("Max", column(child, "v0"))])
    instance = limited(node, 1 << 20)
    assert to_table(node, list(execute(instance))).column(0).to_pylist() == [max(strings.to_pylist())]
    assert instance.memory.peak <= 1 << 20


def test_spill_partitions_are_independent_of_spark_and_driver_partitions() -> None:
    keys = pa.array(np.arange(400_000))
    hashes = hash_rows([keys], len(keys))
    for chosen in (partition_ids(hashes, 16) == 3, driver_ids(hashes, 16) == 5, partition_ids(hashes, 200) == 7):
        rows = keys.filter(pa.array(chosen))
        places = [spill_partitions.spill_partition_ids([rows], len(rows), level) for level in range(5)]
        for level in range(5):
            counts = np.bincount(places[level], minlength=16)
            assert counts.min() > 0.7 * counts.mean() and counts.max() < 1.3 * counts.mean()
        within = np.bincount(places[1][places[0] == 2], minlength=16)
        assert len(rows) < 10_000 or within.min() > 0.6 * within.mean()


def test_files_are_removed_after_an_input_error() -> None:
    child = given(["int"], ["bigint"])
    risky = call("Divide", "double", literal(1.0, "double"), _less_one(child), evalMode="ANSI")
    node = complete_node(child, keys_of(child), [aggregate_call("Sum", risky)])
    rows = sum(chunk.num_rows for chunk in child.chunks)
    last = pa.record_batch([pa.array([1], pa.int32()), pa.array([1], pa.int64())], names=["c0", "c1"])
    safe = Chunks(output=child.output, chunks=(*child.chunks, last))
    node = complete_node(safe, node.grouping, [aggregate_call("Sum", risky)])
    instance = limited(node, LITTLE)
    with pytest.raises(PipelineError, match="DIVIDE_BY_ZERO"):
        list(execute(instance))
    assert rows == ROWS
    assert instance.memory.held == 0


def _less_one(child: Node) -> Expr:
    return call(
        "Subtract", "double", call("Cast", "double", column(child, "v0")), literal(1.0, "double"), evalMode="ANSI"
    )


@pytest.mark.parametrize("dop", [1, 3])
def test_files_are_removed_after_cancel_or_limit(dop: int) -> None:
    child = given(["int", "string"], ["bigint"])
    small = Settings(ansi=True, time_zone="UTC", options=Options({"batchRows": "20", "output.queueChunks": "1"}))
    node = complete_node(child, keys_of(child), calls_of(child))
    instance = limited(node, LITTLE, settings=small, dop=dop)
    with closing(execute(instance, dop)) as rows:
        next(rows)
    assert counted(instance, "spill_files") >= 16
    assert instance.memory.held == 0
    few = limited(Limit(output=node.output, limit=3, child=node), LITTLE, settings=small)
    assert sum(row.rows for row in execute(few)) == 3
    assert counted(few, "spill_files") >= 16
    assert few.memory.held == 0


def test_missing_spill_space_raises_resource_exhausted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/not-there")
    child = given(["int"], ["bigint"])
    with pytest.raises(ResourceExhaustedError, match="not-there"):
        list(execute(limited(complete_node(child, keys_of(child), calls_of(child)), 20_000)))


def test_memory_is_reserved_before_the_table_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is exceeded by at most one chunk's groups, though arrays double."""
    child = given(["bigint"], ["bigint"], rows=20_000, groups=15_000)
    node = complete_node(child, keys_of(child), calls_of(child))
    most = 0
    add = Aggregator.add

    def watched(self: Aggregator, chunk: pa.RecordBatch) -> None:
        nonlocal most
        add(self, chunk)
        most = max(most, self.nbytes)

    monkeypatch.setattr(Aggregator, "add", watched)
    monkeypatch.setattr(aggregate_spill, "_SLICE_ROWS", 100)
    limit = 600_000
    assert list(execute(limited(node, limit)))
    assert most <= limit

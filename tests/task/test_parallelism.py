"""An instance returns the same rows with one and with several threads."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import (
    Aggregate,
    ExchangeSource,
    Filter,
    HashExchange,
    Limit,
    Project,
    Range,
    Settings,
    SingleExchange,
)
from tests.operators.aggregate_kit import aggregate_call, complete_node, merge_node, partial_node, rows_of
from tests.operators.kit import call, column, fields, literal
from tests.operators.sort_kit import Direction, sort
from tests.task.kit import CPUS, Outcome, run_task, scan, write_files

SPEC = "k:bigint, s:string, x:int, d:decimal(10;2), f:double"
SCAN = scan(SPEC)
ROWS = 30_000
SMALL = Settings(
    ansi=True, time_zone="UTC", options=Options({"batchRows": "50", "parallelism.rowsPerDriver": "100"})
)
PARTITIONS = 2


@pytest.fixture(scope="module")
def table() -> pa.Table:
    chance = np.random.default_rng(7)
    k = chance.integers(0, 900, ROWS)
    x = pa.array(chance.integers(-50, 50, ROWS), pa.int32(), mask=chance.random(ROWS) < 0.1)
    d = pa.array([Decimal(int(v)) / 100 for v in chance.integers(-9999, 9999, ROWS)], pa.decimal128(10, 2))
    s = pa.array(np.array(["", "aa", "b", None, "ccc"], dtype=object)[k % 5], pa.string())
    f = chance.integers(0, 1 << 20, ROWS) / 1024  # whose sums are exact in any order
    return pa.table({"k": k, "s": s, "x": x, "d": d, "f": f})


@pytest.fixture(scope="module")
def splits(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return write_files(tmp_path_factory.mktemp("rows"), table, files=3, row_group=1500)


def two_stages(
    first: Aggregate, splits: list[dict[str, Any]], cpus: int, drivers: int = 1
) -> list[tuple[Any, ...]]:
    """Run partial, exchange to one of ``drivers``, final; every task with ``cpus`` threads."""
    keys = tuple(column(first, f.name) for f in first.output[: len(first.grouping)])
    sink = HashExchange(keys=keys, num_partitions=PARTITIONS, drivers=drivers) if keys else SingleExchange()
    sent = run_task(first, sink, cpus=cpus, splits={0: splits})
    final = merge_node(first, "Final", received(first, drivers))
    numbers = range(PARTITIONS if keys else 1)
    done = [run_task(final, cpus=cpus, inputs=[r for r in sent.rows if r.partition == n]) for n in numbers]
    return rows_of(pa.concat_tables([task.table() for task in done]))


def received(first: Aggregate, drivers: int) -> ExchangeSource:
    keys = tuple(column(first, f.name) for f in first.output[: len(first.grouping)])
    return ExchangeSource(output=first.output, input_id=0, partitioning=keys, drivers=drivers)


def drivers(outcome: Outcome) -> list[int]:
    assert outcome.statistics is not None
    return [pipeline["dop"] for pipeline in json.loads(outcome.statistics["profile"])["pipelines"]]


def test_two_stage_aggregation_by_keys(table: pa.Table, splits: list[dict[str, Any]]) -> None:
    kept = Filter(
        output=SCAN.output, condition=call("GreaterThan", "boolean", column(SCAN, "x"), literal(-20, "int")), child=SCAN
    )
    wanted = (("Sum", "d"), ("Count", "x"), ("Average", "f"), ("Min", "x"), ("Max", "s"))
    calls = [aggregate_call(name, column(kept, of)) for name, of in wanted]
    first = partial_node(kept, [column(kept, "k"), column(kept, "s")], calls)
    one, three = (two_stages(first, splits, cpus) for cpus in CPUS)
    assert one == three
    assert one == two_stages(first, splits, cpus=3, drivers=3) == two_stages(first, splits, cpus=3, drivers=2)
    oracle = table.filter(pc.greater(table["x"], -20)).group_by(["k", "s"]).aggregate([("d", "sum"), ("x", "count")])
    columns = [oracle[name].to_pylist() for name in ("k", "s", "d_sum", "x_count")]
    expected = sorted(zip(*columns, strict=True), key=repr)
    assert sorted((row[:4] for row in three), key=repr) == expected


def test_rows_partitioned_by_sender_are_not_repartitioned(splits: list[dict[str, Any]]) -> None:
    first = partial_node(SCAN, [column(SCAN, "k")], [aggregate_call("Count", column(SCAN, "x"))])
    sink = HashExchange(keys=received(first, 3).partitioning, num_partitions=1, drivers=3)
    sent = run_task(first, sink, cpus=3, splits={0: splits}).rows
    partitioned = run_task(merge_node(first, "Final", received(first, 3)), cpus=3, inputs=sent)
    repartitioned = run_task(merge_node(first, "Final", received(first, 2)), cpus=3, inputs=sent)
    assert drivers(partitioned) == [3, 3] and drivers(repartitioned) == [3, 3, 3]
    assert rows_of(partitioned.table()) == rows_of(repartitioned.table())


def test_two_stage_aggregation_without_keys(table: pa.Table, splits: list[dict[str, Any]]) -> None:
    calls = [aggregate_call("Sum", column(SCAN, "d")), aggregate_call("Count", column(SCAN, "x"))]
    first = partial_node(SCAN, [], calls)
    expected = [(pc.sum(table["d"]).as_py(), pc.count(table["x"]).as_py())]
    for cpus in CPUS:
        assert two_stages(first, splits, cpus) == expected


def test_aggregation_of_no_rows_without_keys_returns_one_row(splits: list[dict[str, Any]]) -> None:
    calls = [aggregate_call("Count", column(SCAN, "x")), aggregate_call("Max", column(SCAN, "s"))]
    first = partial_node(SCAN, [], calls)
    for cpus in CPUS:
        assert two_stages(first, [], cpus) == [(0, None)]


def test_one_stage_aggregation_with_drivers(table: pa.Table, splits: list[dict[str, Any]]) -> None:
    node = complete_node(SCAN, [column(SCAN, "s")], [aggregate_call("Sum", column(SCAN, "x"))])
    one, three = (run_task(node, cpus=cpus, splits={0: splits}) for cpus in CPUS)
    assert rows_of(one.table()) == rows_of(three.table())
    assert len(rows_of(three.table())) == 5
    assert drivers(one) == [1, 1]
    assert drivers(three) == [3, 3, 3]
    assert three.statistics is not None and three.statistics["metrics"]["inputRows"] == ROWS


def test_distinct_is_complete_after_exchange(table: pa.Table, splits: list[dict[str, Any]]) -> None:
    """Deduplication after an exchange is complete: the stage above counts the rows."""
    first = partial_node(SCAN, [column(SCAN, "k"), column(SCAN, "s")], [])
    one, three = (two_stages(first, splits, cpus) for cpus in CPUS)
    assert one == three
    assert len(three) == len(set(three)) == table.select(["k", "s"]).group_by(["k", "s"]).aggregate([]).num_rows


@pytest.mark.parametrize("limit", [0, 1, 2000, ROWS + 1])
def test_limit_counts_rows_of_all_drivers(limit: int, splits: list[dict[str, Any]]) -> None:
    node = Limit(output=SCAN.output, limit=limit, child=SCAN)
    for cpus in CPUS:
        done = run_task(node, cpus=cpus, splits={0: splits})
        assert done.table().num_rows == min(limit, ROWS)


@pytest.mark.parametrize(("rows", "at_work"), [(0, 0), (1, 1), (99, 1), (60_000, None)])
def test_sort_parallelism_adapts_to_input_rows(rows: int, at_work: int | None) -> None:
    numbers = Range(output=fields("n:bigint"), input_id=0)
    sent = run_task(numbers, SingleExchange(), splits={0: [0, rows, 1]}, settings=SMALL)
    source = ExchangeSource(output=numbers.output, input_id=0)
    node = sort(source, ["n"], [Direction(descending=True)])
    done = run_task(node, cpus=3, inputs=sent.rows, settings=SMALL)
    assert done.table()["n"].to_pylist() == list(range(rows - 1, -1, -1))
    assert done.statistics is not None
    profile = json.loads(done.statistics["profile"])
    (sinks,) = (p for p in profile["pipelines"] if p["operators"][0]["name"] == "CollectSource")
    used = sum(driver["moves"] > 0 for driver in sinks["drivers"])
    assert used == at_work or (at_work is None and used >= 1)


def test_exchange_source_and_range_stream_rows() -> None:
    numbers = Range(output=fields("n:bigint"), input_id=0)
    doubled = Project(
        output=numbers.output,
        exprs=(call("Multiply", "bigint", column(numbers, "n"), literal(2, "bigint"), evalMode="ANSI"),),
        child=numbers,
    )
    keys = (column(doubled, "n"),)
    for cpus in CPUS:
        sent = run_task(doubled, HashExchange(keys=keys, num_partitions=4), cpus=cpus, splits={0: [5, 200_000, 1]})
        parts = [sent.table(partition)["n"].to_pylist() for partition in range(4)]
        assert sorted(n for part in parts for n in part) == [2 * (5 + i) for i in range(200_000)]
        source = ExchangeSource(output=doubled.output, input_id=0)
        moved = run_task(source, cpus=cpus, inputs=[row for row in sent.rows if row.partition == 1])
        assert sorted(moved.table()["n"].to_pylist()) == sorted(parts[1])
        counts = {row.partition: 0 for row in sent.rows}
        for row in sent.rows:
            assert row.sequence == counts[row.partition]
            counts[row.partition] += 1

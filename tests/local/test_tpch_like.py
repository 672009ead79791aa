"""A query of six fragments over Parquet files, like TPC-H's third: it equals its oracle for any cut and transport."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.local import Conditions, LocalFragment, run_query
from pyspark_pipeline.local.aggregates import aggregate_call, complete_node
from pyspark_pipeline.local.write import call, column, file_splits, fragment, literal, scan, select, source, where
from pyspark_pipeline.plan.broadcasts import BroadcastExchange
from pyspark_pipeline.plan.joins import HashJoin, JoinType
from pyspark_pipeline.plan.nodes import HashExchange, Node, SingleExchange, Sink
from pyspark_pipeline.plan.sorts import SortKey, TopN

CUSTOMERS, ORDERS, LINES, FIRST = 200, 3000, 12_000, 10
OPTIONS = {"batchRows": "500", "exchange.chunkBytes": "2048", "debug.checkChunks": "true"}


@dataclass(frozen=True)
class Files:
    """The three tables and their paths."""

    customer: pa.Table
    orders: pa.Table
    lineitem: pa.Table
    folder: Path

    def splits(self, table: str) -> list[dict[str, Any]]:
        return file_splits(sorted(self.folder.glob(f"{table}-*.parquet")), pieces=2)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    chance = np.random.default_rng(11)
    segments = np.array(["BUILDING", "MACHINERY", "AUTOMOBILE"])
    customer = {"c_custkey": np.arange(CUSTOMERS), "c_mktsegment": segments[chance.integers(0, 3, CUSTOMERS)]}
    orders = {
        "o_orderkey": np.arange(ORDERS) * 4,
        "o_custkey": chance.integers(0, CUSTOMERS, ORDERS),
        "o_shippriority": pa.array(chance.integers(0, 5, ORDERS), pa.int32()),
    }
    prices = [Decimal(int(cents)).scaleb(-2) for cents in chance.integers(100, 10_000_00, LINES)]
    lineitem = {
        "l_orderkey": chance.integers(0, ORDERS, LINES) * 4,
        "l_quantity": chance.integers(1, 51, LINES),
        "l_extendedprice": pa.array(prices, pa.decimal128(12, 2)),
    }
    made = Files(pa.table(customer), pa.table(orders), pa.table(lineitem), tmp_path_factory.mktemp("tables"))
    for name in ("customer", "orders", "lineitem"):
        table = getattr(made, name)
        half = table.num_rows // 2
        for number in range(2):
            part = table.slice(number * half, half)
            pq.write_table(part, made.folder / f"{name}-{number}.parquet", row_group_size=max(half // 8, 10))
    return made


def join(left: Node, right: Node, left_key: str, right_key: str) -> HashJoin:
    return HashJoin(
        output=(*left.output, *right.output), left=left, right=right, join_type=JoinType.INNER, build_left=True,
        left_keys=(column(left, left_key),), right_keys=(column(right, right_key),),
    )  # fmt: skip


def third_query(
    files: Files, *, instances: int, dop: int = 1, broadcast: bool = False, drivers: int = 1
) -> list[LocalFragment]:
    """Cut the query into fragments of ``instances`` each; the customers are broadcast, or partitioned by key."""

    def by(node: Node, key: str) -> Sink:
        return HashExchange(keys=(column(node, key),), num_partitions=instances, drivers=drivers)

    runs: dict[str, Any] = {"instances": instances, "dop": dop, "options": OPTIONS}
    customers = scan("c_custkey:bigint, c_mktsegment:string")
    building = call("EqualTo", "boolean", column(customers, "c_mktsegment"), literal("BUILDING", "string"))
    kept = where(customers, building)
    buyers = select(kept, c_custkey=column(kept, "c_custkey"))
    to_all = BroadcastExchange(num_partitions=instances) if broadcast else by(buyers, "c_custkey")
    one = fragment(1, buyers, to_all, splits={0: files.splits("customer")}, **runs)

    orders = scan("o_orderkey:bigint, o_custkey:bigint, o_shippriority:int")
    two = fragment(2, orders, by(orders, "o_custkey"), splits={0: files.splits("orders")}, **runs)
    joined = join(source(buyers.output), source(orders.output, 1), "c_custkey", "o_custkey")
    three = fragment(3, joined, by(joined, "o_orderkey"), inputs={0: 1, 1: 2}, **runs)

    lines = scan("l_orderkey:bigint, l_quantity:bigint, l_extendedprice:decimal(12,2)")
    many = where(lines, call("GreaterThan", "boolean", column(lines, "l_quantity"), literal(10, "bigint")))
    four = fragment(4, many, by(many, "l_orderkey"), splits={0: files.splits("lineitem")}, **runs)
    all_ = join(source(joined.output), source(many.output, 1), "o_orderkey", "l_orderkey")
    keys = [column(all_, "o_orderkey"), column(all_, "o_shippriority")]
    revenue = complete_node(all_, keys, [aggregate_call("Sum", column(all_, "l_extendedprice"))])
    order = (SortKey(expr=column(revenue, "r2"), descending=True), SortKey(expr=column(revenue, "r0")))
    best = TopN(output=revenue.output, limit=FIRST, keys=order, child=revenue)
    five = fragment(5, best, SingleExchange(), inputs={0: 3, 1: 4}, **runs)
    top = TopN(output=best.output, limit=FIRST, keys=order, child=source(best.output))
    return [one, two, three, four, five, fragment(6, top, inputs={0: 5}, options=OPTIONS)]


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.fixture(scope="module")
def expected(files: Files) -> list[tuple[Any, ...]]:
    """Compute the expected rows by a loop."""
    building = {r["c_custkey"] for r in files.customer.to_pylist() if r["c_mktsegment"] == "BUILDING"}
    wanted = {r["o_orderkey"]: r["o_shippriority"] for r in files.orders.to_pylist() if r["o_custkey"] in building}
    sums: dict[int, Decimal] = {}
    for line in files.lineitem.to_pylist():
        if line["l_orderkey"] in wanted and line["l_quantity"] > 10:
            sums[line["l_orderkey"]] = sums.get(line["l_orderkey"], Decimal(0)) + line["l_extendedprice"]
    found = sorted((-total, key) for key, total in sums.items())[:FIRST]
    return [(key, wanted[key], -total) for total, key in found]


def test_one_instance_returns_expected_rows(files: Files, expected: list[tuple[Any, ...]]) -> None:
    assert len(expected) == FIRST
    assert rows(run_query(third_query(files, instances=1))) == expected


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("serialize", [False, True])
@pytest.mark.parametrize(
    "cut",
    [
        {"instances": 3},
        {"instances": 3, "broadcast": True},
        {"instances": 2, "dop": 3},
        {"instances": 2, "dop": 2, "drivers": 2},
        {"instances": 5, "dop": 2, "broadcast": True},
    ],
    ids=str,
)
def test_any_fragment_cut_returns_expected_rows(
    files: Files, expected: list[tuple[Any, ...]], cut: dict[str, Any], serialize: bool, threads: int
) -> None:
    assert rows(run_query(third_query(files, **cut), threads=threads, serialize=serialize)) == expected


@pytest.mark.parametrize("seed", range(5))
def test_jitter_does_not_change_rows(
    files: Files, expected: list[tuple[Any, ...]], seed: int
) -> None:
    slow = Conditions(latency=1, jitter=30, seed=seed)
    cut = third_query(files, instances=3, dop=2)
    assert rows(run_query(cut, conditions=slow, window=4, queue_length=1)) == expected

"""The pipelines of a plan with many joins, their dependencies, and their execution in that order.

The plan is TPC-H Q5 in one fragment: the revenue of each Asian nation from customers and suppliers of that nation in
1994. In two join orders: a chain of builds, and one pipeline that depends on three builds (row C11).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from benchmarks.tpch import data
from pyspark_pipeline.exec.topology import dependencies
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.joins import HashJoin, JoinType
from pyspark_pipeline.plan.nodes import FileScan, Filter, Node, ScanSplit
from pyspark_pipeline.plan.sorts import Sort, SortKey
from tests.operators.aggregate_kit import aggregate_call, complete_node
from tests.operators.kit import Builder, call, column, fields, literal, run_rows, to_table

COLUMNS = {
    "lineitem": "l_orderkey:bigint, l_suppkey:bigint, l_extendedprice:decimal(15;2)",
    "orders": "o_orderkey:bigint, o_custkey:bigint, o_orderdate:date",
    "customer": "c_custkey:bigint, c_nationkey:bigint",
    "supplier": "s_suppkey:bigint, s_nationkey:bigint",
    "nation": "n_nationkey:bigint, n_name:string, n_regionkey:bigint",
    "region": "r_regionkey:bigint, r_name:string",
}
Q5 = """
    select n_name, sum(l_extendedprice) as revenue
    from customer, orders, lineitem, supplier, nation, region
    where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey
      and c_nationkey = s_nationkey and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'ASIA'
      and o_orderdate >= date '1994-01-01' and o_orderdate < date '1995-01-01'
    group by n_name order by revenue desc"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return data.make(0.01, tmp_path_factory.mktemp("tpch") / "small")


def scan(table: str) -> FileScan:
    output = fields(COLUMNS[table])
    return FileScan(format="parquet", output=output, input_id=list(COLUMNS).index(table), num_data_columns=len(output))


def where(child: Node, name: str, condition: str, value: object) -> Filter:
    test = call(condition, "boolean", column(child, name), literal(value, str(column(child, name).type)))
    return Filter(output=child.output, condition=test, child=child)


def joined(probe: Node, build: Node, keys: Mapping[str, str]) -> HashJoin:
    def refs(side: Node, names: Sequence[str]) -> tuple[Expr, ...]:
        return tuple(column(side, name) for name in names)

    return HashJoin(
        output=(*probe.output, *build.output), left=probe, right=build, join_type=JoinType.INNER, build_left=False,
        condition=None, left_keys=refs(probe, [*keys]), right_keys=refs(build, [*keys.values()]), null_aware=False,
    )  # fmt: skip


def _days(year: int) -> int:
    """Return the first of January in the form of a date literal: days since 1970."""
    return (datetime.date(year, 1, 1) - datetime.date(1970, 1, 1)).days


def q5() -> Node:
    """Build the small sides first: region, nation, customer, orders; then probe orders and suppliers with lineitem."""
    asian = joined(scan("nation"), where(scan("region"), "r_name", "EqualTo", "ASIA"), {"n_regionkey": "r_regionkey"})
    customers = joined(scan("customer"), asian, {"c_nationkey": "n_nationkey"})
    year = where(scan("orders"), "o_orderdate", "GreaterThanOrEqual", _days(1994))
    year = where(year, "o_orderdate", "LessThan", _days(1995))
    orders = joined(year, customers, {"o_custkey": "c_custkey"})
    lines = joined(scan("lineitem"), orders, {"l_orderkey": "o_orderkey"})
    return revenue_of(joined(lines, scan("supplier"), {"l_suppkey": "s_suppkey", "c_nationkey": "s_nationkey"}))


def drawn_q5() -> Node:
    """Build orders, customers, and the suppliers of Asian nations; probe all three with lineitem."""
    asian = joined(scan("nation"), where(scan("region"), "r_name", "EqualTo", "ASIA"), {"n_regionkey": "r_regionkey"})
    suppliers = joined(scan("supplier"), asian, {"s_nationkey": "n_nationkey"})
    year = where(scan("orders"), "o_orderdate", "GreaterThanOrEqual", _days(1994))
    year = where(year, "o_orderdate", "LessThan", _days(1995))
    lines = joined(scan("lineitem"), year, {"l_orderkey": "o_orderkey"})
    lines = joined(lines, scan("customer"), {"o_custkey": "c_custkey"})
    return revenue_of(joined(lines, suppliers, {"l_suppkey": "s_suppkey", "c_nationkey": "s_nationkey"}))


def revenue_of(own: Node) -> Node:
    """Sum the joined rows by nation, in descending order."""
    revenue = complete_node(own, [column(own, "n_name")], [aggregate_call("Sum", column(own, "l_extendedprice"))])
    key = SortKey(expr=column(revenue, "r1"), descending=True, nulls_first=False)
    return Sort(output=revenue.output, keys=(key,), child=revenue)


def builder(folder: Path, dop: int) -> Builder:
    paths = data.tables(folder)
    splits = {
        number: [ScanSplit(path=paths[table], start=0, length=Path(paths[table]).stat().st_size)]
        for number, table in enumerate(COLUMNS)
    }
    return Builder(dop=dop, scans=splits)


# Pipelines are numbered as they are closed: supplier, region, nation, customer, orders, lineitem, groups, order.
SUPPLIER, REGION, NATION, CUSTOMER, ORDERS, LINEITEM = range(6)
BUILDS = {SUPPLIER: [], REGION: [], NATION: [REGION], CUSTOMER: [NATION], ORDERS: [CUSTOMER]}


@pytest.mark.parametrize(
    ("dop", "after"),
    [
        (1, {LINEITEM: [ORDERS, SUPPLIER], 6: [LINEITEM], 7: [6]}),
        (3, {LINEITEM: [ORDERS, SUPPLIER], 6: [LINEITEM], 7: [6], 8: [7]}),
    ],
    ids=["one driver", "three drivers and a local exchange before the groups"],
)
def test_q5_fragment_has_the_expected_pipeline_dependencies(
    folder: Path, dop: int, after: dict[int, list[int]]
) -> None:
    made = builder(folder, dop)
    table = to_table(q5(), run_rows(q5(), builder=made, threads=dop))
    assert dependencies(made.pipelines) == {**BUILDS, **after}
    names = [[factory.name for factory in pipeline.factories] for pipeline in made.pipelines]
    probing, last = ["HashJoinProbe", "HashJoinBuild"], [["AggregateSource", "SortSink"], ["SortSource", "ResultSink"]]
    grouping = [["AggregateSink"]] if dop == 1 else [["LocalExchangeSink"], ["LocalExchangeSource", "AggregateSink"]]
    assert names == [
        ["FileScan", "HashJoinBuild"],
        ["FileScan", "Filter", "HashJoinBuild"],
        ["FileScan", *probing],
        ["FileScan", *probing],
        ["FileScan", "Filter", "Filter", *probing],
        ["FileScan", "HashJoinProbe", "HashJoinProbe", *grouping[0]],
        *grouping[1:],
        *last,
    ]
    assert_is_q5(table, folder)


@pytest.mark.parametrize("threads", [1, 3])
def test_bushy_q5_has_the_expected_pipeline_dependencies(folder: Path, threads: int) -> None:
    """P2 depends on P1, P3 on P2, P6 on P3, P4 and P5, P7 on P6, P8 on P7; named by the table each pipeline reads."""
    made = builder(folder, 1)
    table = to_table(drawn_q5(), run_rows(drawn_q5(), builder=made, threads=threads))
    region, nation, supplier, customer, orders, lineitem, groups, order = range(8)
    assert dependencies(made.pipelines) == {
        region: [], nation: [region], supplier: [nation], customer: [], orders: [],
        lineitem: [orders, customer, supplier], groups: [lineitem], order: [groups],
    }  # fmt: skip
    assert [pipeline.factories[0].name for pipeline in made.pipelines] == [
        *["FileScan"] * 6, "AggregateSource", "SortSource"
    ]  # fmt: skip
    assert_is_q5(table, folder)


def assert_is_q5(table: pa.Table, folder: Path) -> None:
    """Compare with DuckDB's result of the query."""
    with duckdb.connect() as database:
        for name, path in data.tables(folder).items():
            database.execute(f"create view {name} as select * from '{path}'")
        expected = database.execute(Q5).fetchall()
    assert len(expected) == 5
    assert list(zip(*(values.to_pylist() for values in table.columns), strict=True)) == expected

"""Compares the user's Python functions in fragments with Spark's, over lineitem of TPC-H.

``python -m benchmarks.udf --scale 10 --json FILE``: 60 M rows. Both engines run each query in turn in one run, warm.
The operators of each query that run in the engine are counted; a form that stays in Spark is a record of that.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pickle
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from benchmarks.command_line import add_table_options, configuration, emit_document, make_parser, write_document
from benchmarks.engine import Engine
from benchmarks.report import versions
from benchmarks.session import PIPELINE, SPARK
from benchmarks.tpch import data

_QUERIES = {
    "arrow_udf of a column": "select sum(taxed(l_tax_d)) from items",
    "arrow_udf into groups": "select l_returnflag, sum(taxed(l_tax_d)), count(*) from items group by l_returnflag",
    "pandas_udf of three columns": "select sum(net(l_price_d, l_discount_d, l_tax_d)) from items",
    "pandas_udf of a string": "select lowered(l_shipmode), count(*) from items group by 1",
    "arrow_udf in a filter": "select count(*), sum(l_partkey) from items where taxed(l_tax_d) > 1.5",
    "mapInArrow into groups": "select flag, sum(x), count(*) from arrow_items group by flag",
    "mapInPandas into groups": "select flag, sum(x), count(*) from pandas_items group by flag",
    "udf(useArrow=True)": "select max(code(l_returnflag, l_linestatus)) from few_items",
    "udf, pickled": "select max(pickled_code(l_returnflag, l_linestatus)) from few_items",
    "applyInPandas of 100 000 groups": "select count(*), sum(x) from pandas_groups",
    "applyInArrow of 100 000 groups": "select count(*), sum(x) from arrow_groups",
    "pandas_udf of 100 000 groups": "select count(*), sum(x) from (select middle(l_tax_d) x from items group by k)",
    "arrow_udf of 100 000 groups": "select count(*), sum(x) from (select arrow_mean(l_tax_d) x from items group by k)",
    "pandas_udf of 3 groups": "select l_returnflag, middle(l_tax_d) as x from items group by l_returnflag",
    "pandas_udf over windows": """select count(*), sum(x) from (
        select middle(l_tax_d) over (partition by k) x from items)""",
    "pandas_udf over sliding windows": """select count(*), sum(x) from (
        select middle(l_tax_d) over (partition by k order by l_orderkey, l_linenumber
            rows between 2 preceding and 2 following) x from fewest_items)""",
    "applyInPandas of 20 000 cogroups": "select count(*), sum(n) from pandas_cogroups",
    "applyInArrow of 20 000 cogroups": "select count(*), sum(n) from arrow_cogroups",
    "a table function of rows": "select count(*), sum(x) from few_items, lateral parts(l_orderkey)",
    "a data source in Python": "select k, count(*), sum(x) from source_rows group by k",
    "pandas_udf over an iterator": "select sum(net_of_batches(l_price_d, l_discount_d)) from items",
    "arrow_udf beside 50 columns": "select max(xxhash64(*)) from (select *, taxed(l_tax_d) as x from wide_items)",
    "mapInArrow of 50 columns": "select max(xxhash64(*)) from arrow_wide",
    "mapInPandas of 50 columns": "select max(xxhash64(*)) from pandas_wide",
    "applyInPandas of 50 columns": "select max(xxhash64(*)) from pandas_wide_groups",
}
_ITEMS = """select *, pmod(hash(l_orderkey), 100000) as k, cast(l_tax as double) as l_tax_d,
    cast(l_extendedprice as double) as l_price_d,
    cast(l_discount as double) as l_discount_d from lineitem"""
#: Fifty columns: those of ``_ITEMS`` and more of their types.
_WIDE = ["*", *(f"l_partkey + {i} as b{i}" for i in range(10)), *(f"l_tax_d + {i} as d{i}" for i in range(10)),
         *(f"concat(l_shipmode, '{i}') as s{i}" for i in range(5)),
         *(f"l_shipdate + {i} as t{i}" for i in range(5))]  # fmt: skip


class _Parts:
    """Two rows for each number."""

    def eval(self, number: int) -> Iterator[tuple[int]]:
        yield (number,)
        yield (number % 7,)


class _BatchReader(DataSourceReader):
    """Reads Arrow batches of numbers and their remainders."""

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(i) for i in range(4)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for batch in range(100):
            first = (partition.value * 100 + batch) * 10_000
            x = np.arange(first, first + 10_000)
            yield pa.RecordBatch.from_pydict({"k": pa.array(x % 10), "x": pa.array(x)})


class _Batches(DataSource):
    """Four million rows."""

    @classmethod
    def name(cls) -> str:
        return "benchmark_batches"

    def schema(self) -> str:
        return "k bigint, x bigint"

    def reader(self, schema: Any) -> DataSourceReader:
        return _BatchReader()


def functions() -> dict[str, Any]:
    """Return the functions of the queries by name; needs a session."""
    forms: Any = importlib.import_module("pyspark.sql.functions")

    def taxed(tax: pa.Array) -> pa.Array:
        return pc.multiply(pc.add(tax, 1.0), 1.5)

    def net(price: pd.Series, discount: pd.Series, tax: pd.Series) -> pd.Series:
        return price * (1 - discount) * (1 + tax)

    def lowered(text: pd.Series) -> pd.Series:
        return text.str.lower()

    def net_of_batches(batches: Iterator[tuple[pd.Series, pd.Series]]) -> Iterator[pd.Series]:
        for price, discount in batches:
            yield price * (1 - discount)

    def middle(values: pd.Series) -> float:
        return float(values.mean())

    def arrow_mean(values: pa.Array) -> float:
        return float(pc.mean(values).as_py())

    def code(flag: str, status: str) -> str:
        return f"{flag}-{status}"

    # Spark reads the kind of a function from its annotations, which are strings here.
    middle.__annotations__ = {"values": pd.Series, "return": float}
    arrow_mean.__annotations__ = {"values": pa.Array, "return": float}
    net_of_batches.__annotations__ = {
        "batches": Iterator[tuple[pd.Series, pd.Series]],
        "return": Iterator[pd.Series],
    }
    return {
        "net_of_batches": forms.pandas_udf(net_of_batches, "double"),
        "middle": forms.pandas_udf(middle, "double"),
        "arrow_mean": forms.arrow_udf(arrow_mean, "double"),
        "taxed": forms.arrow_udf(taxed, "double"),
        "net": forms.pandas_udf(net, "double"),
        "lowered": forms.pandas_udf(lowered, "string"),
        "code": forms.udf(code, "string", useArrow=True),
        "pickled_code": forms.udf(code, "string", useArrow=False),
        "parts": forms.udtf(_Parts, returnType="x bigint"),
    }


def frames(spark: SparkSession) -> dict[str, DataFrame]:
    """Return the views of the queries by name."""

    def taxed(batches: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            x = pc.multiply(pc.add(batch["tax"], 1.0), 1.5)
            yield pa.RecordBatch.from_arrays([batch["flag"], x], ["flag", "x"])

    def taxed_frames(batches: Any) -> Iterator[Any]:
        for batch in batches:
            yield pd.DataFrame({"flag": batch["flag"], "x": (batch["tax"] + 1.0) * 1.5})

    def centered(group: Any) -> Any:
        return pd.DataFrame({"x": group["x"] - group["x"].min()})

    def centered_table(group: pa.Table) -> pa.Table:
        return pa.table({"x": pc.subtract(group["x"], pc.min(group["x"]))})

    def same(batches: Any) -> Iterator[Any]:
        yield from batches

    def same_group(group: Any) -> Any:
        return group

    def sizes(left: Any, right: Any) -> Any:
        return pd.DataFrame({"n": [len(left) * len(right)]})

    def table_sizes(left: pa.Table, right: pa.Table) -> pa.Table:
        return pa.table({"n": [left.num_rows * right.num_rows]})

    spark.dataSource.register(_Batches)
    items = spark.sql(_ITEMS)
    left = items.where("l_linenumber < 3").selectExpr("k % 20000 as k", "l_tax_d as x").groupBy("k")
    right = items.where("l_linenumber = 3").selectExpr("k % 20000 as k", "l_price_d as y").groupBy("k")
    groups = items.selectExpr("k", "l_tax_d as x").groupBy("k")
    columns = items.selectExpr("l_returnflag as flag", "l_tax_d as tax")
    wide = items.where("l_orderkey % 50 = 0").selectExpr(*_WIDE)
    return {
        "wide_items": wide,
        "arrow_wide": wide.mapInArrow(same, wide.schema),
        "pandas_wide": wide.mapInPandas(same, wide.schema),
        "pandas_wide_groups": wide.groupBy(f.expr("k % 2000")).applyInPandas(same_group, wide.schema),
        "items": items,
        "few_items": items.where("l_orderkey % 10 = 0"),
        "fewest_items": items.where("l_orderkey % 100 = 0"),
        "pandas_cogroups": left.cogroup(right).applyInPandas(sizes, "n bigint"),
        "arrow_cogroups": left.cogroup(right).applyInArrow(table_sizes, "n bigint"),
        "source_rows": spark.read.format("benchmark_batches").load(),
        "arrow_items": columns.mapInArrow(taxed, "flag string, x double"),
        "pandas_groups": groups.applyInPandas(centered, "x double"),
        "arrow_groups": groups.applyInArrow(centered_table, "x double"),
        "pandas_items": columns.mapInPandas(taxed_frames, "flag string, x double"),
    }


def main(words: list[str] | None = None) -> int:
    """Run the benchmark and print the JSON document."""
    parser = make_parser("udf", __doc__)
    add_table_options(parser, runs=3)
    only = "parts of the names of the forms to run; the others keep their figures in the file of --json (default: all)"
    parser.add_argument("--only", nargs="*", default=[""], metavar="PART", help=only)
    parser.add_argument("--memory", default="4g", help="spark.driver.memory of both sessions (default 4g)")
    arguments = parser.parse_args(words)
    conf = configuration(arguments, {"spark.driver.memory": arguments.memory})
    table = data.tables(data.make(arguments.scale, arguments.data))["lineitem"]
    queries = _known(arguments)
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine(SPARK, conf, log=arguments.log) as spark,
        Engine(PIPELINE, conf, log=arguments.log) as pipeline,
    ):
        for engine in (spark, pipeline):
            engine.call("views", tables={"lineitem": table})
            engine.call("functions", module="benchmarks.udf")
        for label, sql in _QUERIES.items():
            if not any(part in label for part in arguments.only):
                continue
            queries[label] = _measured(label, sql, {SPARK: spark, PIPELINE: pipeline}, arguments.runs, Path(folder))
            write_document(_document(arguments, queries), arguments.json)
            print(label, queries[label]["times_faster"], queries[label]["seconds"], file=sys.stderr, flush=True)
    emit_document(_document(arguments, queries), arguments.json)
    return 0


def _known(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the figures in the file of the results, of the forms that will not run."""
    if arguments.only == [""] or arguments.json is None or not arguments.json.exists():
        return {}
    known: dict[str, Any] = json.loads(arguments.json.read_text(encoding="utf-8"))["queries"]
    return known


def _document(arguments: argparse.Namespace, queries: dict[str, Any]) -> dict[str, Any]:
    """Return the document of the forms that have run."""
    return {
        "meta": {"versions": versions(), "scale": arguments.scale, "runs": arguments.runs},
        "times_faster": {label: query["times_faster"] for label, query in queries.items()},
        "different": [label for label, query in queries.items() if not query["equal"]],
        "queries": queries,
    }


def _measured(label: str, sql: str, engines: dict[str, Engine], runs: int, folder: Path) -> dict[str, Any]:
    """Run a query on both engines in turn; return the medians of the warm runs and whether the rows are equal."""
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    rows: dict[str, list[Any]] = {}
    summary: dict[str, Any] = {}
    for run in range(runs + 1):
        for name, engine in engines.items():
            answer = str(folder / name)
            made = engine.call("run", sql=sql, sink="collect", **({} if run else {"answer": answer}))
            if run:
                seconds[name].append(made["seconds"])
            else:
                rows[name] = sorted(pickle.loads(Path(answer).read_bytes())[2], key=repr)
                summary = made.get("summary") or summary
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    return {
        "sql": sql,
        "seconds": {name: round(value, 3) for name, value in medians.items()},
        "times_faster": round(medians[SPARK] / medians[PIPELINE], 2),
        "equal": _are_close(rows[SPARK], rows[PIPELINE]),
        **{key: summary[key] for key in ("operators", "converted") if key in summary},
    }


def _are_close(expected: list[Any], made: list[Any]) -> bool:
    """Return whether rows are equal, sums of doubles up to the order of their additions."""
    values = [(a, b) for row, other in zip(expected, made, strict=True) for a, b in zip(row, other, strict=True)]
    return len(expected) == len(made) and all(
        abs(a - b) <= 1e-9 * abs(a) if isinstance(a, float) else a == b for a, b in values
    )


if __name__ == "__main__":
    sys.exit(main())

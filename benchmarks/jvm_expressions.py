"""Measures queries with expressions that Spark evaluates for the engine, in vanilla Spark and in the engine.

The functions are excluded by option, so that the expressions themselves are cheap: what they cost is the way to the
JVM and back; other queries have functions of the engine that Spark computes faster (``without`` is the engine's own
there). ``without`` and ``times_faster`` are Spark's median time over that of the engine without and with
``spark.pysparkPipeline.jvmExpressions``. ``python -m benchmarks.jvm_expressions --scale 1 --runs 3 --json FILE``;
``--forced`` switches the cost rule off.
"""

from __future__ import annotations

import pickle
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.command_line import add_table_options, configuration, emit_document, make_parser
from benchmarks.engine import Engine
from benchmarks.report import versions
from benchmarks.session import PIPELINE, SPARK
from benchmarks.tpch import data

QUERIES = {
    "sum of integers": "select sum(abs(l_linenumber)) from lineitem",
    "sum of decimals": "select sum(abs(l_extendedprice)) from lineitem",
    "sum of lengths": "select sum(length(reverse(l_comment))) from lineitem",
    "filter of texts": "select count(*) from lineitem where substring(l_comment, 2, 1) = 'a'",
    "a term of Q1": """select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice * (1 - l_discount)),
        avg(l_discount), sum(abs(l_tax)) from lineitem where l_shipdate < date'1998-09-02' group by 1, 2""",
    "key of few texts": "select reverse(l_returnflag), sum(l_quantity) from lineitem group by 1",
    "many groups": """select l_orderkey, sum(abs(l_tax)) as x, max(reverse(l_shipmode)) from lineitem group by 1
        having x > 0.5""",
    "join": """select o_orderpriority, count(*), sum(abs(l_extendedprice)) from lineitem join orders
        on l_orderkey = o_orderkey group by 1""",
    "patterns in a column": """select l_shipmode, count(*) from lineitem
        where l_comment rlike concat(l_returnflag, '|[x-z]{2}') group by 1""",
    "formats in a column": """select date_format(l_shipdate, if(l_linenumber > 3, 'yyyy-MM', concat('yyyy', ''))) as m,
        sum(l_quantity) from lineitem group by 1""",
}
# Functions of the engine that Spark computes faster.
_SLOWER = (
    "soundex(l_comment)", "overlay(l_comment placing 'xyz' from 3)", "url_encode(l_comment)", "mask(l_comment)",
    "find_in_set(l_shipmode, concat(l_comment, ',', l_shipmode))", "encode(l_comment, 'utf-16')",
    "parse_url(concat('http://a.b/', l_orderkey, '?x=', l_linenumber), 'QUERY')",
    "printf('%05d %s', l_orderkey, l_shipmode)", "to_char(l_extendedprice, '999,999.99')", "unhex(hex(l_comment))",
    "make_dt_interval(l_linenumber, 2, 3, 4.5)", "(l_receiptdate - l_shipdate) * l_tax",
    "regexp_replace(l_comment, '(?<=e)[a-z]', '-')",
)  # fmt: skip
QUERIES |= {
    function: f"select l_shipmode, count(x), max(x) from (select l_shipmode, {function} as x from lineitem) group by 1"
    for function in _SLOWER
}
_CONF = {"spark.driver.memory": "4g", "spark.pysparkPipeline.exclude": "abs,reverse,substring"}
_WITHOUT, _WITH = "without", "with"


def measure(
    conf: Mapping[str, str], tables: Mapping[str, str], queries: Mapping[str, str], runs: int, log: Path | None
) -> dict[str, Any]:
    """Run each query in three sessions in turn, ``runs`` times after a warm-up; return medians, ratios, equality."""
    option = "spark.pysparkPipeline.jvmExpressions"
    measured: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine(SPARK, dict(conf), log=log) as spark,
        Engine(PIPELINE, {**conf, option: "false"}, log=log) as without,
        Engine(PIPELINE, dict(conf), log=log) as engine,
    ):
        engines = {SPARK: spark, _WITHOUT: without, _WITH: engine}
        for one in engines.values():
            one.call("views", tables=dict(tables))
        for name, sql in queries.items():
            rows, converted = {}, {}
            for kind, one in engines.items():
                answer = Path(folder) / kind
                summary = one.call("run", sql=sql, sink="collect", answer=str(answer))["summary"]
                rows[kind] = sorted(map(str, pickle.loads(answer.read_bytes())[2]))
                converted[kind] = f"{summary.get('converted', 0)} of {summary.get('operators', 0)}"
            times: dict[str, list[float]] = {kind: [] for kind in engines}
            for _ in range(runs):
                for kind, one in engines.items():
                    times[kind].append(one.call("run", sql=sql, sink="collect")["seconds"])
            medians = {kind: statistics.median(seconds) for kind, seconds in times.items()}
            measured[name] = {
                "seconds": {kind: round(seconds, 3) for kind, seconds in medians.items()},
                "converted": {kind: converted[kind] for kind in (_WITHOUT, _WITH)},
                "without": round(medians[SPARK] / medians[_WITHOUT], 2),
                "times_faster": round(medians[SPARK] / medians[_WITH], 2),
                "equal": rows[SPARK] == rows[_WITHOUT] == rows[_WITH],
            }
    return measured


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark and print the JSON document; the exit status is 1 if an answer differs."""
    parser = make_parser("jvm_expressions", __doc__)
    add_table_options(parser, runs=3)
    parser.add_argument("--forced", action="store_true", help="convert also what the cost rule leaves to Spark")
    parser.add_argument("--only", default="", help="queries with one of these texts in their names")
    arguments = parser.parse_args(words)
    queries = {name: sql for name, sql in QUERIES.items() if any(part in name for part in arguments.only.split(","))}
    conf = configuration(arguments, _CONF)
    if arguments.forced:
        conf["spark.pysparkPipeline.cost.enabled"] = "false"
    tables = data.tables(data.make(arguments.scale, arguments.data))
    measured = measure(conf, tables, queries, arguments.runs, arguments.log)
    meta = {"versions": versions(), "scale": arguments.scale, "runs": arguments.runs, "forced": arguments.forced}
    means = {
        key: round(statistics.geometric_mean(one[key] for one in measured.values()), 2)
        for key in ("without", "times_faster")
    }
    equal = all(one["equal"] for one in measured.values())
    emit_document({"meta": meta, "queries": measured, "summary": means | {"all_equal": equal}}, arguments.json)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())

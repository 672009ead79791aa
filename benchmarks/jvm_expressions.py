"""Measures queries with expressions that Spark evaluates for the engine, in vanilla Spark and in the engine.

The functions are excluded by option, so that the expressions themselves are cheap: what they cost is the way to the
JVM and back. ``without`` and ``times_faster`` are Spark's median time over that of the engine without and with
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
_CONF = {"spark.driver.memory": "4g", "spark.pysparkPipeline.exclude": "abs,reverse,substring"}
_WITHOUT, _WITH = "without", "with"


def measure(conf: Mapping[str, str], tables: Mapping[str, str], runs: int, log: Path | None) -> dict[str, Any]:
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
        for name, sql in QUERIES.items():
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
    arguments = parser.parse_args(words)
    conf = configuration(arguments, _CONF)
    if arguments.forced:
        conf["spark.pysparkPipeline.cost.enabled"] = "false"
    measured = measure(conf, data.tables(data.make(arguments.scale, arguments.data)), arguments.runs, arguments.log)
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

"""Compares aggregates over a cached table: the engine's cache of chunks against Spark's cache, memory included.

The table is lineitem of TPC-H with nine of its columns, 6 M rows a unit of scale. Each engine caches it in a session of
its own, one after the other, since both together need twice the memory; then it runs every query ``--runs`` times after
a warm-up. ``python -m benchmarks.cache --scale 10 --json FILE``
"""

from __future__ import annotations

import pickle
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.command_line import add_table_options, configuration, emit_document, make_parser
from benchmarks.engine import Engine
from benchmarks.report import versions
from benchmarks.session import PIPELINE, SPARK
from benchmarks.tpch import data

_CACHE = """cache table lines as select l_orderkey, l_suppkey, l_quantity, l_extendedprice, l_discount, l_tax,
    l_returnflag, l_linestatus, l_shipdate from lineitem"""
_QUERIES = {
    "count": "select count(*), count(l_tax) from lines",
    "sums": "select sum(l_extendedprice), sum(l_quantity), min(l_shipdate), max(l_orderkey) from lines",
    "filtered sum": """select sum(l_extendedprice * l_discount) from lines where l_shipdate >= date'1994-01-01'
        and l_shipdate < date'1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24""",
    "few groups": """select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice * (1 - l_discount)),
        avg(l_tax), count(*) from lines group by l_returnflag, l_linestatus""",
    "many groups": """select count(*), max(q) from (select l_suppkey, sum(l_quantity) as q from lines
        group by l_suppkey)""",
}


def measure(name: str, conf: dict[str, str], table: str, runs: int, log: Path | None) -> dict[str, Any]:
    """Cache the table in a session of the engine ``name``; return seconds, bytes and rows."""
    measured: dict[str, Any] = {"queries": {}, "rows": {}}
    with tempfile.TemporaryDirectory() as folder, Engine(name, conf, log=log) as engine:
        engine.call("views", tables={"lineitem": table})
        measured["cache_s"] = round(engine.call("run", sql=_CACHE, sink="collect")["seconds"], 2)
        measured |= engine.call("storage")
        for label, sql in _QUERIES.items():
            answer = str(Path(folder) / label)
            first = engine.call("run", sql=sql, sink="collect", answer=answer)
            times = [engine.call("run", sql=sql, sink="collect")["seconds"] for _ in range(runs)]
            measured["queries"][label] = {"seconds": round(statistics.median(times), 3), **_counts(first["summary"])}
            measured["rows"][label] = sorted(pickle.loads(Path(answer).read_bytes())[2], key=repr)
        measured["peak_mib"] = engine.memory.all_time_mib
    return measured


def _counts(summary: dict[str, Any]) -> dict[str, Any]:
    return {key: summary[key] for key in ("operators", "converted") if key in summary}


def main(words: list[str] | None = None) -> int:
    """Run the benchmark and print the JSON document."""
    parser = make_parser("cache", __doc__)
    add_table_options(parser, runs=3)
    parser.add_argument("--memory", default="8g", help="spark.driver.memory of both sessions (default 8g)")
    arguments = parser.parse_args(words)
    own = {"spark.driver.memory": arguments.memory, "spark.pysparkPipeline.cache.enabled": "true"}
    conf = configuration(arguments, own)
    table = data.tables(data.make(arguments.scale, arguments.data))["lineitem"]
    found = {name: measure(name, conf, table, arguments.runs, arguments.log) for name in (SPARK, PIPELINE)}
    rows = {name: entry.pop("rows") for name, entry in found.items()}
    seconds = {name: {label: q["seconds"] for label, q in entry["queries"].items()} for name, entry in found.items()}
    ratios = {label: round(seconds[SPARK][label] / seconds[PIPELINE][label], 2) for label in _QUERIES}
    document = {
        "meta": {"versions": versions(), "scale": arguments.scale, "runs": arguments.runs},
        "times_faster": ratios,
        "geometric_mean": round(statistics.geometric_mean(ratios.values()), 2),
        "different": [label for label in _QUERIES if rows[SPARK][label] != rows[PIPELINE][label]],
        **found,
    }
    emit_document(document, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

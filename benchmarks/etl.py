"""Compares an ordinary job with Spark's, ``examples/clean_orders.py``: ``python -m benchmarks.etl --scale 5``.

At scale 5 it reads five million orders. Both engines run the whole job in turn, ``--runs`` times, and its tables are
compared afterwards: small ones row by row, larger ones, which have no column of aggregated doubles, by the sum of the
hashes of their rows.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import answers, etl_data, report
from benchmarks.command_line import configuration, make_parser, write_document
from benchmarks.engine import Engine
from benchmarks.session import PIPELINE, SPARK
from benchmarks.suite import meta

_JOB = "examples.clean_orders"
_FEW_ROWS = 100_000


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark; return 0 if all tables were equal, else 1."""
    parser = make_parser("etl", __doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="millions of orders (default 1)")
    parser.add_argument("--runs", type=int, default=3, help="runs of the job in each session, the first cold")
    parser.add_argument("--memory", default="4g", help="spark.driver.memory of both sessions (default 4g)")
    arguments = parser.parse_args(words)
    source = etl_data.make(arguments.scale)
    conf = configuration(arguments, {"spark.driver.memory": arguments.memory, "spark.driver.host": "localhost"})
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine(SPARK, conf, log=arguments.log) as spark,
        Engine(PIPELINE, conf, log=arguments.log) as pipeline,
    ):
        engines = {SPARK: spark, PIPELINE: pipeline}
        targets = {name: str(Path(folder) / name) for name in engines}
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in engines}
        for number in range(arguments.runs):
            for name, engine in engines.items():
                made = engine.call("job", module=_JOB, source=str(source), target=targets[name])
                runs[name].append(made["tables"])
                seconds = sum(table["seconds"] for table in made["tables"].values())
                print(f"run {number} of {name}: {seconds:.1f} s", flush=True)
        tables = {table: _table(table, runs, targets, spark, Path(folder)) for table in runs[SPARK][0]}
        document = {"meta": meta(arguments, engines), "tables": tables, "summary": _summary(tables, runs)}
    for line in report.table(tables):
        print(line)
    print(document["summary"])
    write_document(document, arguments.json)
    return 0 if document["summary"]["all_equal"] else 1


def _table(
    name: str, runs: Mapping[str, Sequence[Mapping[str, Any]]], targets: Mapping[str, str], spark: Engine, folder: Path
) -> dict[str, Any]:
    """Return the document's part on one table: times, the ratio, the conversion, whether both engines' are equal."""
    seconds = {engine: [run[name]["seconds"] for run in made] for engine, made in runs.items()}
    conversion = runs[PIPELINE][-1][name]
    contents = [_content(spark, f"{target}/{name}", folder) for target in targets.values()]
    found = answers.difference(contents[0], contents[1], "")
    return {
        **{engine: report.timing(values) for engine, values in seconds.items()},
        **{key: conversion[key] for key in ("operators", "converted", "transitions")},
        "fallback_reasons": conversion["reasons"],
        "ratio": report.ratio(seconds[SPARK], seconds[PIPELINE]),
        "equal": found is None,
        **({} if found is None else {"equal_difference": found}),
    }


def _content(spark: Engine, path: str, folder: Path) -> answers.Answer:
    """Return the rows of a table, or the digest of many rows."""
    spark.call("views", tables={"written": path})
    sql, file = "select * from written", folder / "answer"
    spark.call("run", sql="select count(*) from written", sink="collect", answer=str(file))
    ((rows,),) = pickle.loads(file.read_bytes())[2]
    spark.call("run", sql=sql, sink="collect" if rows <= _FEW_ROWS else "noop", answer=str(file))
    columns, schema, content = pickle.loads(file.read_bytes())
    return answers.Answer(columns=columns, schema=schema, rows=content)


def _summary(
    tables: Mapping[str, Mapping[str, Any]], runs: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """Return the summary of the tables, and the times and the ratio of the whole job, the first run cold."""
    whole = {name: [sum(table["seconds"] for table in run.values()) for run in made] for name, made in runs.items()}
    summary = report.summary(tables)
    return summary | {
        "converted_share": round(summary["converted"] / summary["operators"], 3),
        "job_s": {name: report.timing(seconds) for name, seconds in whole.items()},
        "job_ratio": report.ratio(whole[SPARK], whole[PIPELINE]),
        "job_cold_ratio": report.ratio(whole[SPARK][:1], whole[PIPELINE][:1]),
    }


if __name__ == "__main__":
    sys.exit(main())

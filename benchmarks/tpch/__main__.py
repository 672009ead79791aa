"""The command line of the TPC-H benchmark."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.command_line import configuration, extra_settings, make_parser
from benchmarks.engine import Engine
from benchmarks.session import PIPELINE, SPARK
from benchmarks.tpch import data, report
from benchmarks.tpch.options import add_options
from benchmarks.tpch.queries import choose
from benchmarks.tpch.run import Plan, run_all


def parser() -> argparse.ArgumentParser:
    """Build the parser."""
    result = make_parser("tpch", __doc__)
    add_options(result)
    result.add_argument("--memory", default="8g", help="spark.driver.memory of both sessions (default 8g)")
    result.add_argument("--engines", default=f"{SPARK},{PIPELINE}", help=f"{SPARK},{PIPELINE} (default both)")
    return result


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark; return 0 if every answer was equal, else 1."""
    arguments = parser().parse_args(words)
    engine_names = arguments.engines.split(",")
    if not set(engine_names) <= {SPARK, PIPELINE} or arguments.runs < 1:
        parser().error(f"--engines takes {SPARK} and {PIPELINE}, --runs at least 1")
    try:
        queries = choose(arguments.queries, arguments.scale)
    except (KeyError, ValueError) as error:
        parser().error(str(error.args[0]))
    tables = data.tables(data.make(arguments.scale, arguments.data))
    conf = configuration(arguments, {"spark.driver.memory": arguments.memory, "spark.driver.host": "localhost"})
    with contextlib.ExitStack() as stack:
        engines = {name: stack.enter_context(Engine(name, conf, log=arguments.log)) for name in engine_names}
        for engine in engines.values():
            engine.call("views", tables=tables)
        plan = Plan(runs=arguments.runs, scale=arguments.scale, cores=arguments.cores, tables=tables)
        results = run_all(queries, engines, plan)
        document = {
            "meta": meta(arguments, engines),
            "queries": results,
            "summary": report.summary(results) if len(engines) == 2 else {},
        }
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(document, indent=1, default=str) + "\n", encoding="utf-8")
    print(json.dumps(document["summary"]))
    return 0 if len(engines) < 2 or document["summary"]["all_equal"] else 1


def meta(arguments: argparse.Namespace, engines: dict[str, Engine]) -> dict[str, Any]:
    """Return the run's metadata: versions, sizes, settings, peak memory of each engine, start time of each session."""
    return {
        "spark": next(iter(engines.values())).started["spark"],
        "cores": arguments.cores,
        "driver_memory": arguments.memory,
        "scale": arguments.scale,
        "runs": arguments.runs,
        "conf": extra_settings(arguments),
        "versions": report.versions(),
        "session_start_s": {name: round(engine.started["start_s"], 3) for name, engine in engines.items()},
        "peak_rss_mib": {name: engine.memory.all_time_mib for name, engine in engines.items()},
    }


if __name__ == "__main__":
    sys.exit(main())

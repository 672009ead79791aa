"""The command line of a benchmark of queries over tables: options, sessions, runs, the JSON document."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.command_line import configuration, extra_settings, make_parser, write_document
from benchmarks.engine import Engine
from benchmarks.oracle import Texts
from benchmarks.queries import Query
from benchmarks.run import Plan, run_all
from benchmarks.session import PIPELINE, SPARK


def _no_answers(scale: float) -> Mapping[str, Texts]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A benchmark: its tables, its queries, and the settings of Spark that their texts need in both sessions.

    ``tables`` makes the tables of a scale, in a folder or the default one, and returns their files; ``choose`` returns
    the queries that a text selects, all if it is None, and raises :class:`KeyError` for an unknown one; ``published``
    returns the published answers at a scale by query name, in which the columns ``not_published`` are not compared. The
    queries run in DuckDB too if the suite ``has_oracle``. ``views`` returns the statements that create the views of the
    files; without it each table is a view of a file of Parquet.
    """

    name: str
    description: str | None
    query_help: str
    tables: Callable[[float, Path | None], Mapping[str, str]]
    choose: Callable[[str | None, float], Sequence[Query]]
    settings: Mapping[str, str] = field(default_factory=dict)
    published: Callable[[float], Mapping[str, Texts]] = _no_answers
    not_published: frozenset[str] = frozenset()
    has_oracle: bool = True
    views: Callable[[Mapping[str, str]], Sequence[str]] | None = None

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add ``--scale``, ``--queries``, ``--runs`` and ``--data``."""
        parser.add_argument("--scale", type=float, default=1.0, help="scale factor (default 1)")
        parser.add_argument("--queries", help=f"comma-separated, ranges as 1-5 ({self.query_help})")
        parser.add_argument("--runs", type=int, default=3, help="runs of each query in each session, the first cold")
        parser.add_argument("--data", type=Path, help="folder of the tables; made there if missing")

    def parser(self) -> argparse.ArgumentParser:
        """Build the parser."""
        result = make_parser(self.name, self.description)
        self.add_options(result)
        result.add_argument("--memory", default="8g", help="spark.driver.memory of both sessions (default 8g)")
        result.add_argument("--engines", default=f"{SPARK},{PIPELINE}", help=f"{SPARK},{PIPELINE} (default both)")
        return result

    def main(self, words: Sequence[str] | None = None) -> int:
        """Run the benchmark; return 0 if every answer was equal, else 1."""
        arguments = self.parser().parse_args(words)
        engine_names = arguments.engines.split(",")
        if not set(engine_names) <= {SPARK, PIPELINE} or arguments.runs < 1:
            self.parser().error(f"--engines takes {SPARK} and {PIPELINE}, --runs at least 1")
        try:
            queries = self.choose(arguments.queries, arguments.scale)
        except (KeyError, ValueError) as error:
            self.parser().error(str(error.args[0]))
        tables = self.tables(arguments.scale, arguments.data)
        own = {"spark.driver.memory": arguments.memory, "spark.driver.host": "localhost"}
        conf = configuration(arguments, own | dict(self.settings))
        plan = Plan(
            runs=arguments.runs,
            cores=arguments.cores,
            tables=tables,
            published=self.published(arguments.scale),
            not_published=self.not_published,
            has_oracle=self.has_oracle,
        )
        with contextlib.ExitStack() as stack:
            engines = {name: stack.enter_context(Engine(name, conf, log=arguments.log)) for name in engine_names}
            for engine in engines.values():
                if self.views is None:
                    engine.call("views", tables=tables)
                else:
                    engine.call("statements", texts=list(self.views(tables)))
            results = run_all(queries, engines, plan)
            document = {
                "meta": meta(arguments, engines),
                "queries": results,
                "summary": report.summary(results),
            }
        write_document(document, arguments.json)
        print(json.dumps(document["summary"]))
        return 0 if document["summary"].get("all_equal", True) else 1


def meta(arguments: argparse.Namespace, engines: Mapping[str, Engine]) -> dict[str, Any]:
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

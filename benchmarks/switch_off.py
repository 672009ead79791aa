"""Times queries while one function or operator at a time stays in Spark (option ``exclude``).

For each name that the converted plan of a query has, vanilla Spark and the engine with this name excluded run the query
alternately. ``ratio`` is Spark's median warm time divided by the engine's, so the worst shows what one unsupported
function costs a query. Names that no plan has are listed as ``not_used``; the file is written after each name::

    python -m benchmarks.switch_off --suite tpcds --scale 1 --names stddev_samp,Window,CaseWhen
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import Any

from benchmarks import answers, report
from benchmarks.command_line import configuration, emit_document, make_parser, write_document
from benchmarks.engine import Engine
from benchmarks.queries import Query
from benchmarks.run import Measurement, measure
from benchmarks.session import PIPELINE, SPARK
from benchmarks.suite import Suite
from benchmarks.tpcds.suite import TPCDS
from benchmarks.tpch.suite import TPCH

_SUITES = {"tpcds": TPCDS, "tpch": TPCH}
_EXCLUDE = "spark.pysparkPipeline.exclude"


def choose(used: Mapping[str, Sequence[str]], names: Sequence[str], per_name: int) -> dict[str, list[str]]:
    """Return for each name the queries to run: the first ``per_name`` whose plans have it.

    ``used`` has the names in the plan of each query, by query. Without ``names`` all that occur are taken.
    """
    wanted = names or sorted({name for found in used.values() for name in found})
    return {name: [query for query, found in used.items() if name in found][:per_name] for name in wanted}


def compare(query: Query, vanilla: Measurement, excluded: Measurement) -> dict[str, Any]:
    """Return ratio, converted operators and whether the answers are equal."""
    if vanilla.answer is None or excluded.answer is None:
        return {"equal": False, "error": excluded.error or vanilla.error}
    return {
        "ratio": report.ratio(vanilla.seconds, excluded.seconds),
        "converted": f"{excluded.summary['converted']} of {excluded.summary['operators']}",
        "transitions": excluded.summary["transitions"],
        "equal": answers.difference(excluded.answer, vanilla.answer, query.sql) is None,
    }


def run(
    suite: Suite, queries: Sequence[Query], engines: Mapping[str, Engine], words: Any, save: Callable[[Any], None]
) -> dict[str, Any]:
    """Run the benchmark on started sessions; ``save`` its document after each name, and return it."""
    by_name = {query.name: query for query in queries}
    pipeline = engines[PIPELINE]
    used = {name: pipeline.call("names", sql=query.sql)["names"] for name, query in by_name.items()}
    chosen = choose(used, words.names.split(",") if words.names else [], words.per_name)
    meta = {"suite": suite.name, "scale": words.scale, "runs": words.runs, "versions": report.versions()}
    results: dict[str, dict[str, Any]] = {}
    document: dict[str, Any] = {"meta": meta, "names": results, "summary": summary(results, set(chosen))}
    for name, found in chosen.items():
        pipeline.call("configure", settings={_EXCLUDE: name})
        results[name] = {}
        for number in found:
            query = by_name[number]
            measured = measure(query, engines, words.runs)
            part = compare(query, measured[SPARK], measured[PIPELINE])
            results[name][number] = part
            print(name, number, part, file=sys.stderr, flush=True)
        document = {"meta": meta, "names": results, "summary": summary(results, set(chosen) - set(results))}
        save(document)
    return document


def summary(results: Mapping[str, Mapping[str, Any]], not_run: Set[str]) -> dict[str, Any]:
    """Return the worst ratios, and the names without a query and those that did not run."""
    pairs = [(part["ratio"], f"{name} in {query}") for name, found in results.items()
             for query, part in found.items() if part.get("ratio")]  # fmt: skip
    return {
        "names": len(results),
        "runs_with_a_name_off": len(pairs),
        "worst": {pair: ratio for ratio, pair in sorted(pairs)[:20]},
        "below_0.95": sum(ratio < 0.95 for ratio, _ in pairs),
        "not_used": [name for name, found in results.items() if not found],
        "not_run": sorted(not_run),
        "all_equal": all(part["equal"] for found in results.values() for part in found.values()),
    }


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark; return 1 if an answer differs, else 0."""
    parser = make_parser("switch_off", __doc__)
    TPCH.add_options(parser)
    parser.add_argument("--suite", choices=sorted(_SUITES), default="tpcds")
    parser.add_argument("--names", help="functions (classes of Catalyst) and operators; all that the plans have")
    parser.add_argument("--per-name", type=int, default=1000, help="queries of each name at most")
    arguments = parser.parse_args(words)
    suite = _SUITES[arguments.suite]
    own = {"spark.driver.memory": "6g", "spark.driver.host": "localhost"} | dict(suite.settings)
    tables = suite.tables(arguments.scale, arguments.data)
    with contextlib.ExitStack() as stack:
        conf = configuration(arguments, own)
        engines = {name: stack.enter_context(Engine(name, conf, log=arguments.log)) for name in (SPARK, PIPELINE)}
        for engine in engines.values():
            engine.call("views", tables=tables)
        chosen = suite.choose(arguments.queries, arguments.scale)
        document = run(suite, chosen, engines, arguments, partial(write_document, path=arguments.json))
    emit_document(document, arguments.json)
    return 0 if document["summary"]["all_equal"] else 1


if __name__ == "__main__":
    sys.exit(main())

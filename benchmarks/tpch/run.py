"""Runs queries on the engines alternately: each run of a query on one engine, then the same run on the other."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import answers
from benchmarks.engine import Engine, EngineError
from benchmarks.session import PIPELINE, SPARK
from benchmarks.tpch import published, report
from benchmarks.tpch.queries import Query

_CONVERSION = ("operators", "converted", "transitions")


@dataclass(slots=True, kw_only=True)
class Measurement:
    """The results of one engine for one query."""

    seconds: list[float] = field(default_factory=list)
    answer: answers.Answer | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters of a run: runs per query, scale, cores, tables."""

    runs: int
    scale: float
    cores: int
    tables: Mapping[str, str]


def run_query(query: Query, engines: Mapping[str, Engine], plan: Plan) -> dict[str, Any]:
    """Run ``query`` on each engine, alternately; return its part of the JSON document."""
    measured = {name: Measurement() for name in engines}
    for engine in engines.values():
        engine.memory.reset()
    for number in range(plan.runs):
        for name, engine in engines.items():
            if measured[name].error is None:
                run_once(query, engine, measured[name], is_first=number == 0)
    result: dict[str, Any] = {name: _engine_part(engines[name], measured[name]) for name in engines}
    if PIPELINE in engines:
        result |= _conversion_part(measured[PIPELINE].summary)
    if len(measured) == 2:
        result |= _comparison_part(query, measured[SPARK], measured[PIPELINE])
    answer = (measured.get(PIPELINE) or measured[SPARK]).answer
    return result | (_oracle_part(query, answer, plan) if answer is not None else {})


def run_once(query: Query, engine: Engine, measurement: Measurement, *, is_first: bool) -> None:
    """Run ``query`` once and add the results to ``measurement``, with the answer for the first run."""
    with tempfile.NamedTemporaryFile() as file:
        try:
            response = engine.call("run", sql=query.sql, sink=query.sink, answer=file.name if is_first else None)
        except EngineError as error:
            measurement.error = str(error)
            return
        measurement.seconds.append(response["seconds"])
        measurement.summary = response["summary"]
        measurement.spent = response["spent"]
        if is_first:
            columns, schema, rows = pickle.loads(Path(file.name).read_bytes())
            measurement.answer = answers.Answer(columns=columns, schema=schema, rows=rows)


def _engine_part(engine: Engine, measurement: Measurement) -> dict[str, Any]:
    part: dict[str, Any] = report.timing(measurement.seconds) if measurement.seconds else {}
    part["breakdown_s"] = measurement.spent | measurement.summary.get("breakdown_s", {})
    part["peak_rss_mib"] = engine.memory.peak_mib
    return part | ({} if measurement.error is None else {"error": measurement.error})


def _conversion_part(summary: Mapping[str, Any]) -> dict[str, Any]:
    part = {key: summary.get(key) for key in _CONVERSION}
    if "error" in summary:
        part["explain_error"] = summary["error"]
    return part | {"fallback_reasons": summary.get("reasons", [])}


def _comparison_part(query: Query, spark: Measurement, pipeline: Measurement) -> dict[str, Any]:
    finished = spark.error is None and pipeline.error is None
    factor = report.ratio(spark.seconds, pipeline.seconds) if finished else None
    if spark.answer is None or pipeline.answer is None:
        return {"ratio": factor} | _equality("equal", "an engine gave no answer")
    return {"ratio": factor} | _equality("equal", answers.difference(spark.answer, pipeline.answer, query.sql))


def _oracle_part(query: Query, answer: answers.Answer, plan: Plan) -> dict[str, Any]:
    """Return the comparison of our answer (vanilla Spark's if the pipeline engine did not run) with the oracles."""
    if query.sink != "collect":
        return {}
    texts, seconds = published.duckdb_answer(query.sql, plan.tables, runs=plan.runs, threads=plan.cores)
    part: dict[str, Any] = {"duckdb": report.timing(seconds)}
    part |= _equality("duckdb_equal", published.difference(answer, texts))
    rows = published.answers(plan.scale).get(query.name)
    if rows is not None:
        part |= _equality("published_equal", published.difference(answer, rows, published.RANDOM_TEXTS))
    return part


def _equality(key: str, difference: str | None) -> dict[str, Any]:
    return {key: difference is None} | ({} if difference is None else {f"{key}_difference": difference[:1000]})


def run_all(queries: Sequence[Query], engines: Mapping[str, Engine], plan: Plan) -> dict[str, Any]:
    """Run every query and print its line when it is done; return the ``queries`` part of the JSON document."""
    results: dict[str, Any] = {}
    header, *_ = report.table({})
    print(header, flush=True)
    for query in queries:
        results[query.name] = run_query(query, engines, plan)
        print(list(report.table({query.name: results[query.name]}))[1], flush=True)
    return results

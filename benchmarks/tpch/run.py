"""Runs queries on the engines in turn: each run of a query on one engine, then the same run on the other."""

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
    """What one engine did with one query."""

    seconds: list[float] = field(default_factory=list)
    answer: answers.Answer | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    error: str | None = None


def run_query(query: Query, engines: Mapping[str, Engine], runs: int, scale: float) -> dict[str, Any]:
    """Run ``query`` ``runs`` times on each engine, in turn; return its part of the JSON document."""
    measured = {name: Measurement() for name in engines}
    for engine in engines.values():
        engine.memory.reset()
    for number in range(runs):
        for name, engine in engines.items():
            if measured[name].error is None:
                _run_once(query, engine, measured[name], is_first=number == 0)
    result: dict[str, Any] = {name: _engine_part(engines[name], measured[name]) for name in engines}
    if PIPELINE in engines:
        result |= _conversion_part(measured[PIPELINE].summary)
    return result | _comparison_part(query, measured, scale)


def _run_once(query: Query, engine: Engine, measurement: Measurement, *, is_first: bool) -> None:
    with tempfile.NamedTemporaryFile() as file:
        try:
            told = engine.call("run", sql=query.sql, sink=query.sink, answer=file.name if is_first else None)
        except EngineError as error:
            measurement.error = str(error)
            return
        measurement.seconds.append(told["seconds"])
        measurement.summary = told["summary"]
        if is_first:
            columns, schema, rows = pickle.loads(Path(file.name).read_bytes())
            measurement.answer = answers.Answer(columns=columns, schema=schema, rows=rows)


def _engine_part(engine: Engine, measurement: Measurement) -> dict[str, Any]:
    part: dict[str, Any] = report.timing(measurement.seconds) if measurement.seconds else {}
    if engine.name == PIPELINE:
        part["breakdown_s"] = measurement.summary.get("breakdown_s", {})
    part["peak_rss_mib"] = engine.memory.peak_mib
    return part | ({} if measurement.error is None else {"error": measurement.error})


def _conversion_part(summary: Mapping[str, Any]) -> dict[str, Any]:
    part = {key: summary.get(key) for key in _CONVERSION}
    return part | {"fallback_reasons": summary.get("reasons", [])}


def _comparison_part(query: Query, measured: Mapping[str, Measurement], scale: float) -> dict[str, Any]:
    part: dict[str, Any] = {}
    if len(measured) == 2:
        spark, pipeline = measured[SPARK], measured[PIPELINE]
        finished = spark.error is None and pipeline.error is None
        part["ratio"] = report.ratio(spark.seconds, pipeline.seconds) if finished else None
        part |= _equality("equal", _difference(query, spark.answer, pipeline.answer))
    oracle = published.answers(scale) if scale in published.SCALES else {}
    last = measured.get(PIPELINE) or measured[SPARK]
    if query.name in oracle and last.answer is not None:
        part |= _equality("published_equal", published.difference(last.answer, oracle[query.name]))
    return part


def _difference(query: Query, left: answers.Answer | None, right: answers.Answer | None) -> str | None:
    if left is None or right is None:
        return "an engine gave no answer"
    return answers.difference(left, right, query.sql)


def _equality(key: str, difference: str | None) -> dict[str, Any]:
    return {key: difference is None} | ({} if difference is None else {f"{key}_difference": difference[:1000]})


def run_all(queries: Sequence[Query], engines: Mapping[str, Engine], runs: int, scale: float) -> dict[str, Any]:
    """Run every query and print its line as it is done; return the ``queries`` part of the JSON document."""
    results: dict[str, Any] = {}
    header, *_ = report.table({})
    print(header, flush=True)
    for query in queries:
        results[query.name] = run_query(query, engines, runs, scale)
        print(list(report.table({query.name: results[query.name]}))[1], flush=True)
    return results

"""Runs queries on the engines alternately: each run of a query on one engine, then the same run on the other."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks import answers, cpu, oracle, report
from benchmarks.engine import Engine, EngineError
from benchmarks.queries import Query
from benchmarks.session import PIPELINE, SPARK

_CONVERSION = ("operators", "converted", "transitions")


@dataclass(slots=True, kw_only=True)
class Measurement:
    """The results of one engine for one query."""

    seconds: list[float] = field(default_factory=list)
    answer: answers.Answer | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parameters of a run: runs per query, cores, tables, and those published answers that exist, by query name.

    The columns ``not_published`` are not compared with the published answers. Without ``has_oracle`` the answers of the
    engines are only compared with each other.
    """

    runs: int
    cores: int
    tables: Mapping[str, str]
    published: Mapping[str, oracle.Texts]
    not_published: frozenset[str]
    has_oracle: bool = True


def run_query(query: Query, engines: Mapping[str, Engine], plan: Plan) -> dict[str, Any]:
    """Run ``query`` on each engine, alternately; return its part of the JSON document."""
    for engine in engines.values():
        engine.memory.reset()
    measured = measure(query, engines, plan.runs)
    result: dict[str, Any] = {name: _engine_part(engines[name], measured[name]) for name in engines}
    if PIPELINE in engines:
        result |= _conversion_part(measured[PIPELINE].summary)
    if len(measured) == 2:
        result |= _comparison_part(query, engines, measured)
    best = PIPELINE if PIPELINE in engines else SPARK
    answer = measured[best].answer
    return result | (_oracle_part(query, engines[best], answer, plan) if answer is not None else {})


def measure(query: Query, engines: Mapping[str, Engine], runs: int) -> dict[str, Measurement]:
    """Run ``query`` ``runs`` times on each engine, alternately, the first cold, until it fails."""
    measured = {name: Measurement() for name in engines}
    for number in range(runs):
        for name, engine in engines.items():
            if measured[name].error is None:
                run_once(query, engine, measured[name], is_first=number == 0)
    return measured


def run_once(query: Query, engine: Engine, measurement: Measurement, *, is_first: bool) -> None:
    """Run ``query`` once and add the results to ``measurement``, with the answer for the first run."""
    jvm = int(engine.started["jvm"])
    with tempfile.NamedTemporaryFile() as file:
        before = cpu.reading(jvm)
        try:
            response = engine.call("run", sql=query.sql, sink=query.sink, answer=file.name if is_first else None)
        except EngineError as error:
            measurement.error = str(error)
            return
        measurement.cpu = cpu.spent(before, cpu.reading(jvm))
        measurement.seconds.append(response["seconds"])
        measurement.summary = response["summary"]
        measurement.spent = response["spent"]
        if is_first:
            columns, schema, rows = pickle.loads(Path(file.name).read_bytes())
            measurement.answer = answers.Answer(columns=columns, schema=schema, rows=rows)


def _engine_part(engine: Engine, measurement: Measurement) -> dict[str, Any]:
    part: dict[str, Any] = report.timing(measurement.seconds) if measurement.seconds else {}
    part["breakdown_s"] = measurement.spent | measurement.summary.get("breakdown_s", {})
    part["cpu_s"] = measurement.cpu
    part["peak_rss_mib"] = engine.memory.peak_mib
    return part | ({} if measurement.error is None else {"error": measurement.error})


def _conversion_part(summary: Mapping[str, Any]) -> dict[str, Any]:
    part = {key: summary.get(key) for key in _CONVERSION}
    if "error" in summary:
        part["explain_error"] = summary["error"]
    return part | {"fallback_reasons": summary.get("reasons", [])}


def _comparison_part(
    query: Query, engines: Mapping[str, Engine], measured: Mapping[str, Measurement]
) -> dict[str, Any]:
    spark, pipeline = measured[SPARK], measured[PIPELINE]
    finished = spark.error is None and pipeline.error is None
    part: dict[str, Any] = {"ratio": report.ratio(spark.seconds, pipeline.seconds) if finished else None}
    if spark.answer is None or pipeline.answer is None:
        return part | _equality("equal", "an engine gave no answer")
    limited = (spark.answer, pipeline.answer)
    found = answers.difference(*limited, query.sql)
    if found is not None and (whole := _without_limit(query)) is not None:
        all_rows = [_answer(whole, engines[name]) for name in (SPARK, PIPELINE)]
        if all_rows[0] is not None and all_rows[1] is not None:
            part["ties"] = True
            found = answers.difference_with_ties(limited, (all_rows[0], all_rows[1]), query.sql)
    return part | _equality("equal", found)


def _without_limit(query: Query) -> Query | None:
    sql = answers.without_limit(query.sql) if query.sink == "collect" else None
    return None if sql is None else replace(query, sql=sql)


def _answer(query: Query, engine: Engine) -> answers.Answer | None:
    measurement = Measurement()
    run_once(query, engine, measurement, is_first=True)
    return measurement.answer


def _oracle_part(query: Query, engine: Engine, answer: answers.Answer, plan: Plan) -> dict[str, Any]:
    """Return the comparison of ``answer``, which ``engine`` gave, with the oracles."""
    if query.sink != "collect" or not plan.has_oracle:
        return {}
    texts, seconds = oracle.duckdb_answer(query.sql, plan.tables, runs=plan.runs, threads=plan.cores)
    part: dict[str, Any] = {"duckdb": report.timing(seconds)}
    found = oracle.difference(answer, texts)
    if found is not None and (whole := _without_limit(query)) is not None:
        texts, _ = oracle.duckdb_answer(whole.sql, plan.tables, threads=plan.cores)
        all_rows = _answer(whole, engine)
        found = found if all_rows is None else oracle.difference(all_rows, texts)
    part |= _equality("duckdb_equal", found)
    rows = plan.published.get(query.name)
    if rows is not None:
        part |= _equality("published_equal", oracle.difference(answer, rows, plan.not_published))
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

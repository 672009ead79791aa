"""Builds the JSON document of a run from its measurements, and the printed table."""

from __future__ import annotations

import math
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_PACKAGES = ("pyspark", "pyspark-pipeline", "pyarrow", "pandas", "numpy", "numba", "duckdb", "tpchgen-cli")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def timing(seconds: Sequence[float]) -> dict[str, Any]:
    """Return cold and warm times of one engine's runs: the first is cold, the others warm."""
    return {"cold_s": round(seconds[0], 4), "warm_s": [round(value, 4) for value in seconds[1:]]}


def ratio(spark: Sequence[float], pipeline: Sequence[float]) -> float | None:
    """Return the median warm time of vanilla Spark divided by ours; of the cold times if there are no warm ones."""
    if not spark or not pipeline:
        return None
    return round(statistics.median(spark[1:] or spark) / statistics.median(pipeline[1:] or pipeline), 3)


def summary(queries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the summary of a run, of what the queries have: equal answers, ratios of times, converted operators."""
    return _equality(queries) | _ratios(queries) | _conversion(queries)


def _equality(queries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return for Spark and each oracle whether all answers were equal, and the names of those that were not."""
    result: dict[str, Any] = {}
    for oracle in ("", "duckdb_", "published_"):
        equal = {name: query[f"{oracle}equal"] for name, query in queries.items() if f"{oracle}equal" in query}
        if equal:
            result[f"all_{oracle}equal"] = all(equal.values())
            different = [name for name, is_equal in equal.items() if not is_equal]
            result |= {f"not_{oracle}equal": different} if different else {}
    return result


def _ratios(queries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return mean, minimum and total ratio, the ratios below 1 by query, and the ratio to DuckDB."""
    both = {name: query for name, query in queries.items() if query.get("ratio")}
    result: dict[str, Any] = {}
    behind = [warm(query["pipeline"]) / warm(query["duckdb"]) for query in both.values() if "duckdb" in query]
    if behind:
        result["geomean_behind_duckdb"] = round(geomean(behind), 3)
    if both:
        ratios = {name: query["ratio"] for name, query in both.items()}
        totals = {engine: sum(warm(query[engine]) for query in both.values()) for engine in ("spark", "pipeline")}
        slower = sorted((ratio, name) for name, ratio in ratios.items() if ratio < 1)
        result |= {
            "geomean_ratio": round(geomean(ratios.values()), 3),
            "min_ratio": min(ratios.values()),
            "total_ratio": round(totals["spark"] / totals["pipeline"], 3),
            "total_warm_s": {engine: round(total, 3) for engine, total in totals.items()},
            "slower_than_spark": {name: ratio for ratio, name in slower},
        }
    return result


def _conversion(queries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums of operators, converted ones and transitions, and the queries that Spark runs a part of."""
    counted = {name: query for name, query in queries.items() if query.get("operators")}
    if not counted:
        return {}
    partly = {
        name: f"{query['converted']}/{query['operators']}"
        for name, query in counted.items()
        if query["converted"] < query["operators"]
    }
    sums = {key: sum(query[key] for query in counted.values()) for key in ("operators", "converted", "transitions")}
    return {"queries": len(counted), "wholly_converted": len(counted) - len(partly), **sums, "partly_converted": partly}


def geomean(ratios: Iterable[float]) -> float:
    """Return the geometric mean."""
    return math.exp(statistics.fmean(map(math.log, ratios)))


def warm(engine: Mapping[str, Any]) -> float:
    """Return the median of an engine's warm runs of a query; the cold one if there are none."""
    return float(statistics.median(engine["warm_s"] or [engine["cold_s"]]))


def table(queries: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    """Yield the lines of a table: one per query, median warm seconds."""
    yield f"{'query':>8} {'spark':>8} {'pipeline':>8} {'ratio':>7} {'converted':>9} {'duckdb':>8}  equal"
    for name, query in queries.items():
        parts = [query.get(engine, {}) for engine in ("spark", "pipeline")]
        cells = [f"{warm(part):8.3f}" if "cold_s" in part else " " * 8 for part in parts]
        factor = f"{query['ratio']:7.2f}" if query.get("ratio") else " " * 7
        converted = f"{query.get('converted', '-')}/{query.get('operators', '-')}"
        duckdb = f"{warm(query['duckdb']):8.3f}" if "duckdb" in query else " " * 8
        equal = query.get("equal", query.get("duckdb_equal", "-"))
        yield f"{name:>8} {cells[0]} {cells[1]} {factor} {converted:>9} {duckdb}  {equal}"

"""Builds the JSON document of a run from its measurements, and the printed table."""

from __future__ import annotations

import math
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_PACKAGES = ("pyspark", "pyspark-pipeline", "pyarrow", "pandas", "numpy", "numba", "tpchgen-cli")


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
    """Return the summary of a run: mean, minimum and total ratio, ratio to DuckDB, whether all answers were equal."""
    ratios = [query["ratio"] for query in queries.values() if query.get("ratio")]
    both = [query for query in queries.values() if query.get("ratio")]
    result: dict[str, Any] = {"all_equal": all(query.get("equal") is True for query in queries.values())}
    for oracle in ("duckdb", "published"):
        equal = [query[f"{oracle}_equal"] for query in queries.values() if f"{oracle}_equal" in query]
        if equal:
            result[f"all_{oracle}_equal"] = all(equal)
    behind = [warm(query["pipeline"]) / warm(query["duckdb"]) for query in both if "duckdb" in query]
    if behind:
        result["geomean_behind_duckdb"] = round(_geomean(behind), 3)
    if ratios:
        totals = {engine: sum(warm(query[engine]) for query in both) for engine in ("spark", "pipeline")}
        result |= {
            "geomean_ratio": round(_geomean(ratios), 3),
            "min_ratio": min(ratios),
            "total_ratio": round(totals["spark"] / totals["pipeline"], 3),
            "total_warm_s": {engine: round(total, 3) for engine, total in totals.items()},
        }
    return result


def _geomean(ratios: Sequence[float]) -> float:
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

"""TPC-DS as a suite; vanilla Spark and DuckDB are its oracles, for it has no published answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import benchmarks.tpcds
from benchmarks.suite import Suite
from benchmarks.tpcds import data
from benchmarks.tpcds.queries import SETTINGS, choose


def _tables(scale: float, folder: Path | None) -> Mapping[str, str]:
    return data.tables(data.make(scale, folder))


TPCDS = Suite(
    name="tpcds",
    description=benchmarks.tpcds.__doc__,
    query_help="default 1-99; 14 has the statements 14a and 14b, so have 23, 24 and 39",
    tables=_tables,
    choose=choose,
    settings=SETTINGS,
)

"""TPC-H as a suite: tables of ``tpchgen-cli``, 22 queries, the published answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import benchmarks.tpch
from benchmarks.suite import Suite
from benchmarks.tpch import data, published
from benchmarks.tpch.queries import choose, names


def _tables(scale: float, folder: Path | None) -> Mapping[str, str]:
    return data.tables(data.make(scale, folder))


TPCH = Suite(
    name="tpch",
    description=benchmarks.tpch.__doc__,
    query_help=f"default 1-22; also: {', '.join(names()[22:])}",
    tables=_tables,
    choose=choose,
    published=published.answers,
    not_published=published.RANDOM_TEXTS,
)

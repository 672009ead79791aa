"""A sort of every type in every direction outputs Spark's order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.datatypes import parse_type
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import run
from tests.operators.sort_kit import Direction, sort, top_n
from tests.operators.test_aggregates_spark import KINDS, MAKERS

ROWS = 400
NAMES = [f"v{i}" for i in range(len(KINDS))]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory, vanilla: Any) -> pa.Table:
    """Build a table of a row number and a column of every type, a tenth NULL, also registered as a view in Spark."""
    chance = random.Random(11)
    columns = {"row": pa.array(range(ROWS), pa.int64())}
    for name, kind in zip(NAMES, KINDS, strict=True):
        values = [MAKERS[kind]() if chance.random() > 0.1 else None for _ in range(ROWS)]
        columns[name] = pa.array(values, parse_type(kind.replace(";", ",")).arrow)
    table = pa.table(columns)
    path = Path(tmp_path_factory.mktemp("sort")) / "rows.parquet"
    pq.write_table(table, path)
    vanilla.read.parquet(str(path)).createOrReplaceTempView("sort_rows")
    return table


def sql_of(name: str, direction: Direction) -> str:
    way = "DESC" if direction.descending else "ASC"
    return f"{name} {way} NULLS {'FIRST' if direction.nulls_first else 'LAST'}"


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
def test_sort_of_every_type_equals_spark(given: pa.Table, vanilla: Any, descending: bool, nulls_first: bool) -> None:
    spec = "row:bigint, " + ", ".join(f"{name}:{kind}" for name, kind in zip(NAMES, KINDS, strict=True))
    child = leaf(spec, chunks_of(given, 90))
    directions = [Direction(descending, nulls_first), Direction()]
    for name, kind in zip(NAMES, KINDS, strict=True):
        query = f"SELECT row FROM sort_rows ORDER BY {sql_of(name, directions[0])}, row"
        wanted = [row[0] for row in vanilla.sql(query).collect()]
        assert run(sort(child, [name, "row"], directions))["row"].to_pylist() == wanted, kind
        first = top_n(child, [name, "row"], directions, 37, 5)
        assert run(first)["row"].to_pylist() == wanted[5:37], kind


def test_sort_by_several_keys_equals_spark(given: pa.Table, vanilla: Any) -> None:
    chance = random.Random(5)
    spec = "row:bigint, " + ", ".join(f"{name}:{kind}" for name, kind in zip(NAMES, KINDS, strict=True))
    child = leaf(spec, chunks_of(given, 90))
    coarse = [name for name, kind in zip(NAMES, KINDS, strict=True) if kind in ("boolean", "float", "double", "string")]
    for _ in range(5):
        names = [*chance.sample(coarse, 3), "row"]
        directions = [Direction(chance.random() < 0.5, chance.random() < 0.5) for _ in names]
        by = ", ".join(map(sql_of, names, directions))
        wanted = [row[0] for row in vanilla.sql(f"SELECT row FROM sort_rows ORDER BY {by}").collect()]
        assert run(sort(child, names, directions))["row"].to_pylist() == wanted, by

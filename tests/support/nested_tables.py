"""Tables of arrays, maps and structs: NULL and empty at each level, layouts of other writers, files that differ."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.support import values as v
from tests.support.tables import table, write

_ROWS = 330
_NAN = float("nan")


def _lists(values: list[Any], rows: int, step: int = 1) -> list[list[Any] | None]:
    """Return NULL, empty lists, lists of one NULL, and lists of up to four values with NULLs."""
    made: list[list[Any] | None] = []
    for row in range(rows):
        kind = row * step % 7
        if kind < 3:
            made.append((None, [], [None])[kind])
        else:
            made.append([values[(row * step + place) % len(values)] for place in range(kind - 2)])
    return made


def _structs(rows: int) -> list[dict[str, Any] | None]:
    texts, numbers = ["a", "é", None, "", "a b"], [1, None, -7, 2**31 - 1]
    return [
        None if row % 11 == 0 else {
            "x": numbers[row % 4],
            "s": texts[row % 5],
            "d": None if row % 6 == 0 else Decimal(row * 101 % 977 - 300).scaleb(-2),
            "in": None if row % 5 == 0 else {
                "u": None if row % 3 == 0 else datetime(1600 if row % 2 else 2020, 1, 29, 1, 2, 3, row, UTC),
                "v": [None, row] if row % 4 else [],
            },
        }
        for row in range(rows)
    ]  # fmt: skip


def _maps(rows: int) -> list[list[tuple[str, Any]] | None]:
    return [
        [[("a", row), ("é", None), ("k" * (row % 9), -row)][: row % 5 - 1], None, []][[1, 2, 0, 0, 0][row % 5]]
        for row in range(rows)
    ]


def _maps_of_structs(rows: int) -> list[list[tuple[int, Any]] | None]:
    return [
        found and [(len(key) + place, {"p": value, "Q r": key}) for place, (key, value) in enumerate(found)]
        for found in _maps(rows)
    ]


def nests_data(rows: int = _ROWS) -> pa.Table:
    """Return columns of nested types; ``id`` is unique and never NULL."""
    inner = pa.struct([("u", pa.timestamp("us", tz="UTC")), ("v", pa.list_(pa.int32()))])
    struct = pa.struct([("x", pa.int32()), ("s", pa.string()), ("d", pa.decimal128(9, 2)), ("in", inner)])
    pairs = pa.struct([("p", pa.int64()), ("Q r", pa.string())])
    days = [date(1500, 3, 1), date(1970, 1, 1), None, date(9999, 12, 31)]
    columns = {
        "id": v.column(range(rows), pa.int64()),
        "k": v.column(v.cycle(["a", None, "é", "kk", "zz"], rows), pa.string()),
        "i": v.column(v.cycle([0, 1, -1, None, 2, 5, -3], rows, 3), pa.int32()),
        "ai": pa.array(_lists([1, None, -5, 2**31 - 1], rows), pa.list_(pa.int32())),
        "at": pa.array(_lists(["a", "é", None, ""], rows, 3), pa.list_(pa.string())),
        "ad": pa.array(_lists([1.5, _NAN, None, -0.0, 0.0], rows, 2), pa.list_(pa.float64())),
        "an": pa.array(_lists([Decimal("1.25"), None, Decimal("-99.10")], rows, 5), pa.list_(pa.decimal128(9, 2))),
        "ay": pa.array(_lists(days, rows, 4), pa.list_(pa.date32())),
        "aa": pa.array(_lists([[1, 2], [], None, [None]], rows, 3), pa.list_(pa.list_(pa.int64()))),
        "st": pa.array(_structs(rows), struct),
        "m": pa.array(_maps(rows), pa.map_(pa.string(), pa.int64())),
        "ms": pa.array(_maps_of_structs(rows), pa.map_(pa.int32(), pairs)),
        "ast": pa.array(_lists([{"p": 1, "Q r": "x"}, None, {"p": None, "Q r": None}], rows, 2), pa.list_(pairs)),
    }  # fmt: skip
    return pa.table(columns)


@table
def nests(_spark: SparkSession, folder: Path) -> None:
    write(folder, nests_data(), files=4)


@table
def legacy_nests(spark: SparkSession, folder: Path) -> None:
    """The layouts of lists and maps that old Sparks wrote, and INT96."""
    settings = {
        "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.sql.parquet.outputTimestampType": "INT96",
        "spark.pysparkPipeline.enabled": "false",
    }
    before = {key: spark.conf.get(key, None) for key in settings}
    source = spark.createDataFrame(nests_data(120).drop_columns(["ad"]))
    for key, value in settings.items():
        spark.conf.set(key, value)
    source.coalesce(2).write.parquet(str(folder))
    for key, old in before.items():
        spark.conf.unset(key) if old is None else spark.conf.set(key, old)


@table
def evolved_nests(_spark: SparkSession, folder: Path) -> str:
    """Files with other fields of a struct, in other order and case, of narrower types, or without the column."""
    folder.mkdir(parents=True)
    one = {"id": [1, 2], "st": [{"x": 1, "y": "a"}, None], "a": [[{"q": 1}], None], "m": [[("k", {"x": 1})], []]}
    structs = [{"z": 1.5, "Y": "b", "X": 7}, {"z": None, "Y": None, "X": None}]
    two = {"id": [3, 4], "st": structs, "a": [[{"r": "r"}, None], []]}
    three = {"id": [5], "other": [1]}
    kinds = {"m": pa.map_(pa.string(), pa.struct([("x", pa.int32())])), "st": None, "a": None}
    for number, data in enumerate((one, two, three)):
        arrays = {name: pa.array(values, kinds.get(name)) for name, values in data.items()}
        pq.write_table(pa.table(arrays), folder / f"part-{number}.parquet")
    return (
        "id BIGINT, st STRUCT<x: BIGINT, y: STRING, w: DOUBLE>, a ARRAY<STRUCT<q: BIGINT, r: STRING>>, "
        "m MAP<STRING, STRUCT<x: BIGINT, none: INT>>"
    )

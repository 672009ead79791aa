"""Tables of JSON files: lines with every kind of damage, in files that end them in every way, and partitions."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

from pyspark.sql import SparkSession

from tests.support.json_lines import random_lines
from tests.support.tables import json_table

_MARK = b"\xef\xbb\xbf"
_NESTED = "a array<int>, b struct<x:int,y:string,_corrupt_record:int>, c map<string,double>"


def _write_lines(folder: Path) -> None:
    folder.mkdir(parents=True)
    lines = random_lines(random.Random(5), 300)
    (folder / "unix.json").write_bytes(b"\n".join(lines) + b"\n")
    (folder / "dos.json").write_bytes(_MARK + b"\r\n".join(lines[:100]))
    (folder / "mac.json").write_bytes(b"\r".join(lines[100:150]))
    (folder / "empty.json").write_bytes(b"")
    (folder / "mark.json").write_bytes(_MARK)
    (folder / "ends.json").write_bytes(b"\n\r\n\n\r")
    (folder / "members.json.gz").write_bytes(gzip.compress(b'{"a":1}\n{"a"') + gzip.compress(b':2}\n{"a":3'))


@json_table()
def json_lines(_spark: SparkSession, folder: Path) -> str:
    """Texts, with those of malformed lines."""
    _write_lines(folder)
    return "a string, _corrupt_record string, b string, c string"


@json_table(mode="DROPMALFORMED", allowComments="true", allowNumericLeadingZeros="true", encoding="UTF-8")
def json_dropped(_spark: SparkSession, folder: Path) -> str:
    """Numbers and a text without malformed lines."""
    _write_lines(folder)
    return "a bigint, b double, c decimal(20,5), x string"


@json_table(columnNameOfCorruptRecord="bad", allowUnquotedFieldNames="true")
def json_nested(_spark: SparkSession, folder: Path) -> str:
    """Nested values."""
    _write_lines(folder)
    return f"{_NESTED}, bad string"


@json_table()
def json_days(_spark: SparkSession, folder: Path) -> str:
    """9 000 lines in files below partitions."""
    source = random.Random(3)
    words = ["the", "a", "engine", "", "na\u00efve", "a, \"b\"\n", None]
    for number in range(3):
        place = folder / f"day=2024-01-0{number + 1}"
        place.mkdir(parents=True)
        rows = [
            {
                "id": row,
                "word": source.choice(words),
                "share": round(source.random(), 4),
                "price": row + row % 100 / 100,
                "at": f"2024-01-01T{row % 24:02}:00:00Z",
                "tags": [f"t{row % 7}"] * (row % 4),
                "more": {"left": row, "right": None} if row % 5 else None,
            }
            for row in range(3000)
        ]
        (place / "rows.json").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return (
        "id int, word string, share double, price decimal(8,2), at timestamp, tags array<string>, "
        "more struct<left:bigint,right:string>, day date"
    )

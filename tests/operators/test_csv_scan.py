"""CSV files in a scan: row groups, headers, malformed lines by mode, fields as values, and lines that fail the read."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyspark_pipeline.errors import CorruptFileError, MissingFileError
from pyspark_pipeline.expressions.csv_options import CsvOptions
from pyspark_pipeline.expressions.registry import ExpressionSettings
from pyspark_pipeline.kernels import csv_scan
from pyspark_pipeline.local import LocalQuery
from pyspark_pipeline.local.write import fields, file_splits, fragment
from pyspark_pipeline.operators.scan.csv import warm_up
from pyspark_pipeline.operators.scan.csv.format import CsvFileReader
from pyspark_pipeline.plan.nodes import FileScan, ScanSplit

_DEFAULTS = {
    "counts": "true",
    "mode": "PERMISSIVE",
    "header": "false",
    "separator": str(ord(",")),
    "quote": str(ord('"')),
    "escape": str(ord("\\")),
    "comment": "-1",
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
    "nullValue": "",
    "emptyValue": "",
    "nanValue": "NaN",
    "positiveInf": "Inf",
    "negativeInf": "-Inf",
}


def read(
    folder: Path, data: bytes, schema: str, *, pieces: int = 1, name: str = "a.csv", **given: str
) -> list[tuple[Any, ...]]:
    """Return the rows of a file of ``data``."""
    (folder / name).write_bytes(data)
    columns = fields(schema)
    width = len(columns)
    options = {**_DEFAULTS, "places": " ".join(map(str, range(width))), "width": str(width), **given}
    root = FileScan(output=columns, input_id=0, format="csv", num_data_columns=width, options=options)
    splits = file_splits([folder / name], pieces)
    settings = {"batchRows": "3", "debug.checkChunks": "true"}
    table = LocalQuery([fragment(1, root, splits={0: splits}, options=settings)]).table()
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_each_line_is_one_row_but_the_header(tmp_path: Path, pieces: int) -> None:
    lines = [f'{number},"{number}, x"' for number in range(40)]
    data = "\r\n".join(["", " ", "id,text", *lines]).encode()
    rows = read(tmp_path, data, "id:int,text:string", pieces=pieces, header="true")
    assert sorted(rows) == [(number, f"{number}, x") for number in range(40)]
    rows = read(tmp_path, gzip.compress(data), "id:int,text:string", name="a.csv.gz", header="true")
    assert sorted(rows) == [(number, f"{number}, x") for number in range(40)]


def test_header_may_be_in_a_later_row_group(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"\n" * 100 + b"#c\n" + b"name\n" + b"x\n" * 60)
    options = CsvOptions.of({**_DEFAULTS, "places": "0", "width": "1", "header": "true", "comment": str(ord("#"))})
    reader = CsvFileReader(str(path), fields("v:string"), options, ExpressionSettings(), group_bytes=16)
    groups = reader.row_groups(ScanSplit(path=str(path), start=0, length=path.stat().st_size, partition_values=()))
    chunks = [chunk for group in groups for chunk in reader.chunks(group, 7)]
    assert [text for chunk in chunks for text in chunk.column(0).to_pylist()] == ["x"] * 60


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b'"a,b",c', ("a,b", "c")),
        (b'"a""b",c', ('"a""b"', "c")),
        (b'"a\\"b",c', ('a"b', "c")),
        (b'"a\\\\",c', ("a\\", "c")),
        (b'"a" b,c', ('"a" b', "c")),
        (b'"a"b,c', ('"a"b', "c")),
        (b'"a" ,c', ("a", "c")),
        (b'"a,c', ("a,c", None)),
        (b'a"b,"', ('a"b', '"')),
        (b'a,"b\\', ("a", "b")),
        (b'"a"\\b,c', ('a"\\bc', None)),
        (b'"",', (None, None)),
    ],
)
def test_quotes(tmp_path: Path, line: bytes, row: tuple[str | None, ...]) -> None:
    assert read(tmp_path, line, "a:string,b:string") == [row]
    assert read(tmp_path, line + b"\nx,y\n", "a:string,b:string") == [row, ("x", "y")]


@pytest.mark.parametrize(
    ("mode", "rows"),
    [
        ("PERMISSIVE", [(1, "x", None), (None, "x", "a,x"), (2, None, "2"), (3, "x", "3,x,y")]),
        ("DROPMALFORMED", [(1, "x", None)]),
    ],
)
def test_malformed_lines(tmp_path: Path, mode: str, rows: list[tuple[Any, ...]]) -> None:
    data = b"1,x\na,x\n2\n3,x,y\n"
    given: Mapping[str, str] = {"mode": mode, "places": "0 1 -1", "width": "2"}
    assert read(tmp_path, data, "n:int,v:string,bad:string", **given) == rows


def test_fast_failure_keeps_the_rows_before(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"1\n2\nx\n")
    options = CsvOptions.of({**_DEFAULTS, "places": "0", "width": "1", "mode": "FAILFAST"})
    reader = CsvFileReader(str(path), fields("n:int"), options, ExpressionSettings())
    reader.row_groups(ScanSplit(path=str(path), start=0, length=6, partition_values=()))
    chunks = reader.chunks(0, 10)
    assert next(chunks).column(0).to_pylist() == [1, 2]
    with pytest.raises(OSError, match="malformed"):
        next(chunks)


def test_values_for_null_and_empty_fields(tmp_path: Path) -> None:
    data = b'NA,"",\n"NA",x,"NA"\n'
    rows = read(tmp_path, data, "a:string,b:string,c:string", nullValue="NA", emptyValue="none")
    assert rows == [(None, "none", None), (None, "x", None)]


def test_line_of_too_many_fields_fails(tmp_path: Path) -> None:
    most = b"," * 20479
    assert read(tmp_path, most, "a:string", counts="false") == [(None,)]
    with pytest.raises(CorruptFileError, match=r"a\.csv could not be read as CSV: a line has too many fields"):
        read(tmp_path, most + b",", "a:string", counts="false")


def test_kernels_have_one_form(tmp_path: Path) -> None:
    warm_up()
    read(tmp_path, b'a,"",b\n\'"a" \'x, y ,', "a:string,b:string", ignoreLeadingWhiteSpace="true", nullValue="a")
    read(tmp_path, b"a,\xff\n", "a:string", counts="false", header="true", comment="35", emptyValue="x")
    kernels = [value for value in vars(csv_scan).values() if hasattr(value, "signatures")]
    assert kernels and all(len(kernel.signatures) <= 1 for kernel in kernels)


def test_damaged_and_missing_files_raise(tmp_path: Path) -> None:
    with pytest.raises(CorruptFileError, match=r"a\.gz could not be read as CSV"):
        read(tmp_path, gzip.compress(b"a\n" * 100)[:-5], "a:string", name="a.gz")
    splits = [{"path": str(tmp_path / "none.csv"), "start": 0, "length": 5, "partitionValues": []}]
    options = {**_DEFAULTS, "places": "0", "width": "1"}
    root = FileScan(output=fields("v:string"), input_id=0, format="csv", num_data_columns=1, options=options)
    with pytest.raises(MissingFileError):
        LocalQuery([fragment(1, root, splits={0: splits})]).table()

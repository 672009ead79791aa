"""JSON files in a scan: row groups, rows by mode, arrays, bytes of strings, encodings, members of the same name."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from pyspark_pipeline.errors import CorruptFileError, MissingFileError
from pyspark_pipeline.local import LocalQuery
from pyspark_pipeline.local.write import call, column, fields, file_splits, fragment, literal
from pyspark_pipeline.operators.scan.json.format import JsonFileReader
from pyspark_pipeline.operators.scan.json.options import JsonOptions
from pyspark_pipeline.operators.scan.reader import ReadRequest
from pyspark_pipeline.plan.nodes import FileScan, ScanSplit

_ARRAY = '[{"n":"x"},{"n":3}]'
_DEFAULTS = {"corrupt": "-1", "mode": "PERMISSIVE", "decodes": "false"}


def read(
    folder: Path, data: bytes, schema: str, *, pieces: int = 1, name: str = "a.json", bound: int | None = None,
    **given: str,
) -> list[tuple[Any, ...]]:  # fmt: skip
    """Return the rows of a file of ``data``; ``bound`` is a pushed filter, an upper bound of the column ``n``."""
    (folder / name).write_bytes(data)
    columns = fields(schema)
    options = {**_DEFAULTS, **given}
    root = FileScan(output=columns, input_id=0, format="json", num_data_columns=len(columns), options=options)
    if bound is not None:
        below = call("LessThan", "boolean", column(root, "n"), literal(bound, "int"))
        root = FileScan(
            output=columns, input_id=0, format="json", num_data_columns=len(columns), options=options, filters=(below,)
        )
    splits = file_splits([folder / name], pieces)
    settings = {"batchRows": "3", "debug.checkChunks": "true"}
    table = LocalQuery([fragment(1, root, splits={0: splits}, options=settings)]).table()
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_each_document_is_one_row(tmp_path: Path, pieces: int) -> None:
    lines = [f'{{"id":{number},"text":"{number}"}}' for number in range(40)]
    data = "\r\n".join(["", " ", *lines]).encode()
    rows = read(tmp_path, data, "id:int,text:string", pieces=pieces)
    assert sorted(rows) == [(number, str(number)) for number in range(40)]
    rows = read(tmp_path, gzip.compress(data), "id:int,text:string", name="a.json.gz")
    assert sorted(rows) == [(number, str(number)) for number in range(40)]


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        (b'{"v":[1,  2.50]}', ["[1,  2.50]"]),
        (b'{"v":-0}', ["-0"]),
        (b'{"v":"\\u00e9"}', ["é"]),
        (b'[{"v":1},{"v":"x"}]', ["1", "x"]),
        (b"[]", []),
        (b"\t ", []),
        (b"null", [None]),
        (b"[null]", [None]),
        (b'{"v":1,"v":2}', ["2"]),
        (b"{'v':tru}", [None]),
        (b'\xef\xbb\xbf{"v":1}', ["1"]),
        (b'{"v":"\xc3"}', [None]),
        (b'{"z":"\xed\xa0\x80","v":1}', ["1"]),
        ('{"v":"x","n":1}'.encode("utf-16-le"), ["x"]),
        ('{"v":1}'.encode("utf-16-be"), [""]),
        ('{"v":"x"}'.encode("utf-32-le"), ["x"]),
        ('{"v":"x"}'.encode("utf-32"), ["x"]),
        (b'\0\0\xff\xfe{"v":1}', [None]),
    ],
)
def test_rows_of_a_line(tmp_path: Path, line: bytes, rows: list[str | None]) -> None:
    assert read(tmp_path, b'{"v":"before"}\n' + line, "v:string") == [("before",), *[(text,) for text in rows]]


@pytest.mark.parametrize(
    ("mode", "rows"),
    [
        ("PERMISSIVE", [(1, None), (None, _ARRAY), (3, _ARRAY), (None, '{"n":'), (4, None)]),
        ("DROPMALFORMED", [(1, None), (4, None)]),
    ],
)
def test_malformed_lines(tmp_path: Path, mode: str, rows: list[tuple[Any, ...]]) -> None:
    data = f'{{"n":1}}\n{_ARRAY}\n{{"n":\n{{"n":4}}\n'.encode()
    assert read(tmp_path, data, "n:int,bad:string", mode=mode, corrupt="1") == rows
    assert read(tmp_path, data, "bad:string,n:int", mode=mode, corrupt="0") == [(text, number) for number, text in rows]


def test_fast_failure_keeps_the_rows_before(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"n":1}\n{"n":2}\nx\n')
    request = ReadRequest(columns=fields("n:int"))
    reader = JsonFileReader(str(path), request, JsonOptions.of({**_DEFAULTS, "mode": "FAILFAST"}))
    reader.row_groups(ScanSplit(path=str(path), start=0, length=18, partition_values=()))
    chunks = reader.chunks(0, 10)
    assert next(chunks).column(0).to_pylist() == [1, 2]
    with pytest.raises(OSError, match="malformed"):
        next(chunks)


def test_scan_without_columns_counts_rows(tmp_path: Path) -> None:
    data = b'{"n":1}\n\n[{},{}]\n{"n":\n'
    assert read(tmp_path, data, "") == [()] * 4
    assert read(tmp_path, data, "", mode="DROPMALFORMED") == [()] * 3


def test_decoded_lines_print_values_again(tmp_path: Path) -> None:
    data = b'{"v":[1,  2.50]}\n{"v":"\xff"}\n{"v":1}\xff\n{"v":1}\xc3'
    assert read(tmp_path, data, "v:string", decodes="true") == [("[1,2.5]",), (None,), (None,), ("1",)]


def test_features_and_separator(tmp_path: Path) -> None:
    allowed = ["UnquotedFieldNames", "NumericLeadingZeros", "Comments", "BackslashEscapingAnyCharacter"]
    options = {f"allow{name}": "true" for name in allowed}
    rows = read(tmp_path, b"{v:007}|{/*c*/'v':\"\\x\"}|{}", "v:string", lineSep="|", **options)
    assert rows == [("007",), ("x",), (None,)]


def test_filter_drops_objects_by_the_first_of_equal_members(tmp_path: Path) -> None:
    data = b'{"n":9,"n":1}\n{"n":1,"n":9}\n{"n":9}\n{"n":2,"v":1,"v":2}\n{"n":"x","n":3}\n'
    found = read(tmp_path, data, "n:int,v:string,bad:string", bound=5, corrupt="2")
    assert found == [(9, None, '{"n":1,"n":9}'), (9, None, None), (2, "2", None), (3, None, '{"n":"x","n":3}')]


def test_damaged_and_missing_files_raise(tmp_path: Path) -> None:
    with pytest.raises(CorruptFileError, match=r"a\.gz could not be read as JSON"):
        read(tmp_path, gzip.compress(b"{}\n" * 100)[:-5], "v:string", name="a.gz")
    splits = [{"path": str(tmp_path / "none.json"), "start": 0, "length": 5, "partitionValues": []}]
    root = FileScan(output=fields("v:string"), input_id=0, format="json", num_data_columns=1, options=_DEFAULTS)
    with pytest.raises(MissingFileError):
        LocalQuery([fragment(1, root, splits={0: splits})]).table()

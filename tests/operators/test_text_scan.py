"""The lines of text files: every line in exactly one part, however a file is cut, and the rows of a scan."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import CorruptFileError, MissingFileError
from pyspark_pipeline.local import LocalQuery
from pyspark_pipeline.local.write import fields, file_splits, fragment, scan
from pyspark_pipeline.operators.scan.lines import LineCutter
from pyspark_pipeline.operators.scan.text.format import TextFileReader
from pyspark_pipeline.plan.nodes import FileScan, ScanSplit

MARK = b"\xef\xbb\xbf"
ALPHABETS = (b"\r\na", b"\r\n", b"\n|ab", bytes(range(256)))


def lines_of(data: bytes, separator: bytes | None) -> list[bytes]:
    """Return the lines of a whole file, found byte by byte."""
    data = data.removeprefix(MARK)
    made, line, at = [], b"", 0
    while at < len(data):
        byte = data[at : at + 1]
        at += 1
        if byte == separator or (separator is None and byte in b"\r\n"):
            at += separator is None and byte == b"\r" and data[at : at + 1] == b"\n"
            made.append(line)
            line = b""
        else:
            line += byte
    return [*made, line] if line else made


def values(lines: pa.Array) -> list[bytes]:
    return list(lines.cast(pa.binary()).to_pylist())


def documents() -> Iterator[bytes]:
    source = random.Random(5)
    for alphabet in ALPHABETS:
        for size in (0, 1, 2, 5, 17, 40):
            for mark in (b"", MARK):
                yield mark + bytes(source.choices(alphabet, k=size))
    yield from (MARK * 2, MARK + b"\n", b"\r\r\n\n", b"no end", MARK[:2])


@pytest.mark.parametrize("separator", [None, b"\n", b"\r", b"|"])
def test_each_line_belongs_to_one_part(separator: bytes | None) -> None:
    cutter = LineCutter(separator)
    source = random.Random(9)
    for data in documents():
        expected = lines_of(data, separator)
        for count in (1, 2, 3, len(data)):
            cuts = sorted({0, len(data), *(source.randrange(len(data) + 1) for _ in range(count - 1))})
            parts = [cutter.part(io.BytesIO(data), *ends) for ends in zip(cuts, cuts[1:], strict=False)]
            assert [line for part in parts for line in values(cutter.lines(part))] == expected, (data, cuts)
            assert sum(map(cutter.count, parts)) == len(expected)


@pytest.mark.parametrize("separator", [None, b"\n", b"\r", b"|"])
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_stream_is_cut_between_lines(separator: bytes | None, size: int) -> None:
    cutter = LineCutter(separator)
    for data in documents():
        pieces = list(cutter.pieces(pa.BufferReader(data), size))
        assert [line for piece in pieces for line in values(cutter.lines(piece))] == lines_of(data, separator), data


def test_row_groups_cover_a_split(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"".join(b"%d\n" % number for number in range(100)))
    size = path.stat().st_size
    reader = TextFileReader(str(path), True, None, group_bytes=50)
    groups = reader.row_groups(ScanSplit(path=str(path), start=0, length=size, partition_values=()))
    assert len(groups) == -(-size // 50) and sum(map(reader.num_bytes, groups)) == size
    chunks = [chunk for group in groups for chunk in reader.chunks(group, 7)]
    assert [int(text) for chunk in chunks for text in chunk.column(0).to_pylist()] == list(range(100))
    assert max(chunk.num_rows for chunk in chunks) == 7


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("threads", [1, 3])
def test_scan_returns_lines_and_counts_them_without_columns(tmp_path: Path, pieces: int, threads: int) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"a\r\n\nb\rc")
    (tmp_path / "lines.gz").write_bytes(gzip.compress(b"d\n") + gzip.compress(b"e"))
    splits = [*file_splits([path], pieces), *file_splits([tmp_path / "lines.gz"])]
    options = {"batchRows": "2", "debug.checkChunks": "true"}
    root = scan("value:string", format="text")
    query = LocalQuery([fragment(1, root, splits={0: splits}, dop=threads, options=options)], threads=threads)
    assert sorted(query.table().column(0).to_pylist()) == ["", "a", "b", "c", "d", "e"]
    day = FileScan(output=fields("day:bigint"), input_id=0, format="text", num_data_columns=0)
    named = [split | {"partitionValues": [3]} for split in splits]
    query = LocalQuery([fragment(1, day, splits={0: named}, dop=threads, options=options)], threads=threads)
    assert query.table().column(0).to_pylist() == [3] * 6


def test_option_is_the_separator(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"a\n|b|")
    root = FileScan(
        output=fields("v:string"), input_id=0, format="text", num_data_columns=1, options={"lineSep": "|"}
    )
    query = LocalQuery([fragment(1, root, splits={0: file_splits([path])})])
    assert query.table().column(0).to_pylist() == ["a\n", "b"]


@pytest.mark.parametrize("damage", [lambda data: data[:-5], lambda data: data + b"\0" * 9, lambda data: b"x" + data])
def test_damaged_gzip_raises(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "lines.gz"
    assert callable(damage)
    path.write_bytes(damage(gzip.compress(b"a\nb\n" * 100)))
    query = LocalQuery([fragment(1, scan("v:string", format="text"), splits={0: file_splits([path])})])
    with pytest.raises(CorruptFileError, match=r"lines\.gz could not be read as text"):
        query.table()


def test_missing_file_raises(tmp_path: Path) -> None:
    splits = [{"path": str(tmp_path / "none.txt"), "start": 0, "length": 5, "partitionValues": []}]
    query = LocalQuery([fragment(1, scan("v:string", format="text"), splits={0: splits})])
    with pytest.raises(MissingFileError):
        query.table()

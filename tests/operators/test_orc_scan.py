"""ORC files in a scan: stripes of splits, runs of numbers, compression, bounds of stripes, old calendars, damage."""

from __future__ import annotations

import datetime
import decimal
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pytest

from pyspark_pipeline.errors import CorruptFileError, SparkConditionError
from pyspark_pipeline.kernels import orc_runs
from pyspark_pipeline.local import LocalQuery
from pyspark_pipeline.local.write import call, column, fields, file_splits, fragment, literal
from pyspark_pipeline.operators.scan.orc.blocks import decompressed, padded
from pyspark_pipeline.operators.scan.orc.file import OrcFileReader
from pyspark_pipeline.operators.scan.orc.protobuf import fields as message_fields
from pyspark_pipeline.operators.scan.orc.protobuf import integers, numbers
from pyspark_pipeline.operators.scan.orc.streams import read_texts, read_timestamps
from pyspark_pipeline.operators.scan.reader import ReadRequest
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ExecutorCalendar, FileScan, ScanSplit

BASE = 1420070400
_OPTIONS = {"places": "0 1 2 3 4 5", "byPlace": "false", "base": str(BASE)}
STYLES = [
    {"compression": kind, "file_version": version}
    for kind in ("uncompressed", "zlib", "snappy", "lz4", "zstd")
    for version in ("0.11", "0.12")
]


def scan(path: Path, schema: str, pieces: int = 1) -> list[tuple[Any, ...]]:
    """Return the rows of the file at ``path``."""
    columns = fields(schema)
    root = FileScan(output=columns, input_id=0, format="orc", num_data_columns=len(columns), options=_OPTIONS)
    settings = {"batchRows": "300", "debug.checkChunks": "true"}
    splits = file_splits([path], pieces)
    return [tuple(row.values()) for row in
            LocalQuery([fragment(1, root, splits={0: splits}, options=settings)]).table().to_pylist()]  # fmt: skip


def reader(path: Path, schema: str) -> OrcFileReader:
    calendar = ExecutorCalendar(time_zone="UTC")
    return OrcFileReader(str(path), ReadRequest(columns=fields(schema), options=_OPTIONS, calendar=calendar))


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("style", STYLES, ids=str)
def test_values_of_each_compression_and_version(tmp_path: Path, style: dict[str, str], share: float) -> None:
    dice = random.Random(str(style))
    rows = 3000
    seen = [None if row % 7 == 0 else dice.randrange(0, dice.choice([2**33, 2**62])) // 10**3 for row in range(rows)]
    steady = [row * 10**6 for row in range(rows)]
    words = [None if row % 5 == 0 else f"w{row % 60}é" for row in range(rows)]
    data = pa.table({"n": range(rows), "t": pa.array(seen, pa.timestamp("us")), "w": words,
                     "s": pa.array(steady, pa.timestamp("us"))})  # fmt: skip
    orc.write_table(data, str(tmp_path / "a.orc"), stripe_size=20000, batch_size=500,
                    dictionary_key_size_threshold=share, **style)  # fmt: skip
    found = scan(tmp_path / "a.orc", "n:bigint,t:timestamp,w:string,s:timestamp", pieces=7)
    expected = data.set_column(1, "t", data["t"].cast(pa.timestamp("us", "UTC")))
    expected = expected.set_column(3, "s", data["s"].cast(pa.timestamp("us", "UTC")))
    assert sorted(found) == [tuple(row.values()) for row in expected.to_pylist()]


def test_a_stripe_belongs_to_the_split_of_its_first_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"n": range(20000)}), str(path), stripe_size=1000, batch_size=1000)
    file = reader(path, "n:bigint")
    count = orc.ORCFile(str(path)).nstripes
    assert count > 5
    size = path.stat().st_size
    assert file.row_groups(ScanSplit(path=str(path), start=0, length=size)) == list(range(count))
    assert file.row_groups(ScanSplit(path=str(path), start=0, length=3)) == []
    assert file.row_groups(ScanSplit(path=str(path), start=3, length=1)) == [0]
    cuts = [0, 3, 4, 700, 5000, size]
    parts = [ScanSplit(path=str(path), start=a, length=b - a) for a, b in zip(cuts, cuts[1:], strict=False)]
    assert [group for part in parts for group in file.row_groups(part)] == list(range(count))
    assert sum(file.num_rows(group) for group in range(count)) == 20000
    assert all(0 < file.num_bytes(group) < size for group in range(count))
    file.close()


def _literal(kind: str, value: Any) -> Expr:
    return literal(value, kind)


def test_bounds_of_stripes(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    rows = 5000
    data = {
        "n": range(rows),
        "f": [row / 2 for row in range(rows)],
        "s": [f"{row:05}" for row in range(rows)],
        "d": pa.array(range(rows), pa.int32()).cast(pa.date32()),
        "x": pa.array([decimal.Decimal(row) / 100 for row in range(rows)], pa.decimal128(12, 2)),
        "o": [row if row >= rows - 10 else None for row in range(rows)],
    }
    orc.write_table(pa.table(data), str(path), stripe_size=1000, batch_size=1000)
    schema = "n:bigint,f:double,s:string,d:date,x:decimal(12,2),o:bigint,gone:int"
    file = reader(path, schema)
    groups = file.row_groups(ScanSplit(path=str(path), start=0, length=path.stat().st_size))
    columns = FileScan(output=fields(schema), input_id=0, format="orc", num_data_columns=7)

    def kept(name: str, field: str, kind: str, value: Any) -> list[int]:
        return list(file.may_match(groups, [call(name, "boolean", column(columns, field), _literal(kind, value))]))

    first, last = groups[:1], groups[-1:]
    assert kept("EqualTo", "n", "bigint", 4999) == last
    assert kept("LessThan", "n", "bigint", 1) == first
    assert kept("LessThan", "f", "double", 0.25) == first
    assert kept("EqualTo", "s", "string", b"04999") == last
    assert kept("EqualTo", "d", "date", 4999) == last
    assert kept("EqualTo", "x", "decimal(12,2)", decimal.Decimal("49.99")) == last
    assert kept("EqualTo", "o", "bigint", 4999) == last
    assert kept("EqualTo", "gone", "int", 1) == []
    file.close()


def _signed(value: int) -> bytes:
    return _varint((value << 1) ^ (value >> 63))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _integers(data: bytes, count: int, is_signed: bool) -> list[int]:
    out = np.empty(count, dtype=np.int64)
    assert orc_runs.read_integers(padded(data), len(data), is_signed, out) == count
    return out.tolist()


def test_runs_of_the_specification() -> None:
    assert _integers(bytes([0x0A, 0x27, 0x10]), 5, False) == [10000] * 5
    direct = bytes([0x5E, 0x03, 0x5C, 0xA1, 0xAB, 0x1E, 0xDE, 0xAD, 0xBE, 0xEF])
    assert _integers(direct, 4, False) == [23713, 43806, 57005, 48879]
    patched = bytes([0x8E, 0x09, 0x2B, 0x21, 0x07, 0xD0, 0x1E, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3C, 0x46, 0x50, 0x5A,
                     0xFC, 0xE8])  # fmt: skip
    assert _integers(patched, 10, False) == [2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090]
    delta = bytes([0xC6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46])
    assert _integers(delta, 10, False) == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    falling = bytes([0xC0, 0x04]) + _signed(-5) + _signed(-2)
    assert _integers(falling, 5, True) == [-5, -7, -9, -11, -13]
    for size in range(len(patched)):
        assert orc_runs.read_integers(padded(patched[:size]), size, False, np.empty(10, dtype=np.int64)) == -1
    out = np.empty(105, dtype=np.int64)
    old = bytes([0x61, 0x00, 0x07, 0xFB]) + b"".join(map(_varint, (2, 3, 6, 7, 11)))
    assert orc_runs.read_old_integers(padded(old), len(old), False, out) == 105
    assert out.tolist() == [7] * 100 + [2, 3, 6, 7, 11]
    assert orc_runs.read_old_integers(padded(old), 5, False, out) == -1
    bits = np.empty(20, dtype=np.uint8)
    assert orc_runs.read_bits(padded(bytes([0xFD, 0xA0, 0x0F, 0x80])), 4, bits) == 20
    assert bits.tolist() == [1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0]
    assert orc_runs.read_bits(padded(bytes([0xFD, 0xA0])), 2, bits) == -1


@pytest.mark.parametrize(("stored", "nanos", "expected"), [
    (1, 5 << 3, BASE * 10**6 + 10**6),
    (0, (5 << 3) | 7, BASE * 10**6 + 500_000),
    (-BASE - 1, (999 << 3) | 5, -1_001_000),
    (-BASE - 1, 999_999 << 3, -1_000_000 + 999),
])  # fmt: skip
def test_timestamps_of_streams(stored: int, nanos: int, expected: int) -> None:
    one = bytes([0xFF])
    streams = {0: bytes([0xFF, 0x40]), 1: one + _signed(stored), 5: one + _varint(nanos)}
    found = read_timestamps(streams, 2, 0, BASE)
    assert found.cast(pa.int64()).to_pylist() == [None, expected]


def test_nanoseconds_that_are_no_part_of_a_second(tmp_path: Path) -> None:
    with pytest.raises(SparkConditionError, match="nanos > 999999999 or < 0"):
        read_timestamps({1: bytes([0xFF, 0]), 5: bytes([0xFF]) + _varint((1000 << 3) | 6)}, 1, 0, 0)


def test_texts_with_a_dictionary() -> None:
    literals = bytes([0xFD])  # three numbers of a run of version 1
    streams = {0: bytes([0xFF, 0xD0]), 1: literals + bytes([1, 0, 1]), 2: bytes([0xFE, 0, 2]), 3: "é".encode()}
    found = read_texts(streams, 4, 1, 2)
    assert found.type == pa.dictionary(pa.int32(), pa.string()) and found.to_pylist() == ["é", "", None, "é"]
    for size, kind, data in ((1, 1, streams[1]), (2, 3, b"x"), (2, 0, b""), (2, 1, b"")):
        with pytest.raises(ValueError, match="dictionary|too few"):
            read_texts({**streams, kind: data}, 4, 1, size)
    with pytest.raises(ValueError, match="encoding 4"):
        read_texts(streams, 4, 4, 2)


def test_blocks() -> None:
    text = b"abcabcabc" * 999
    for kind, name in ((2, "snappy"), (4, "lz4_raw"), (5, "zstd")):
        packed = pa.Codec(name).compress(text, asbytes=True)
        chunk = (len(packed) << 1).to_bytes(3, "little") + packed
        original = (5 << 1 | 1).to_bytes(3, "little") + b"plain"
        assert decompressed(chunk + original + chunk, kind) == text + b"plain" + text
        with pytest.raises((ValueError, pa.ArrowException)):
            decompressed(chunk[:-2], kind)
    with pytest.raises(ValueError, match="compression 3"):
        decompressed(b"", 3)


def test_fields_of_messages() -> None:
    data = memoryview(bytes([0x08, 0x96, 0x01, 0x12, 2, 7, 8, 0x19]) + struct.pack("<d", 1.5) + bytes([0x10, 9]))
    assert [number for number, _ in message_fields(data)] == [1, 2, 3, 2]
    assert numbers(data, 1, 4) == [150, 0] and integers(data, 2) == [7, 8, 9]
    with pytest.raises(ValueError, match="has no value"):
        list(message_fields(data[:5]))


def test_dates_are_those_of_the_hybrid_calendar(tmp_path: Path) -> None:
    days = pa.array([-141427, -141428, -719164, None], pa.int32()).cast(pa.date32())
    orc.write_table(pa.table({"d": days}), str(tmp_path / "a.orc"))
    found = [row[0] for row in scan(tmp_path / "a.orc", "d:date")]
    day = datetime.date
    assert found == [day(1582, 10, 15), day(1582, 10, 4), day(1, 1, 1), None]


@pytest.mark.parametrize("schema", ["s:int", "t:double", "n:array<int>"])
def test_another_type_than_planned(tmp_path: Path, schema: str) -> None:
    orc.write_table(pa.table({"s": ["a"], "t": [[1]], "n": [1]}), str(tmp_path / "a.orc"))
    with pytest.raises(CorruptFileError, match=r"a\.orc"):
        scan(tmp_path / "a.orc", schema)


def test_damage_anywhere_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    stamps = pa.array(range(0, 9 * 10**9, 3 * 10**6), pa.timestamp("us"))
    orc.write_table(pa.table({"s": [str(row) for row in range(3000)], "t": stamps}), str(path), compression="zlib")
    whole = path.read_bytes()
    dice = random.Random(4)
    for number in range(150):
        at = dice.randrange(len(whole))
        damaged = whole[:at] + bytes([whole[at] ^ (1 << dice.randrange(8))]) + whole[at + 1 :]
        damaged = damaged if number % 5 else whole[:at]
        other = tmp_path / f"{number}.orc"
        other.write_bytes(damaged)
        try:
            scan(other, "s:string,t:timestamp")
        except CorruptFileError as error:
            assert str(other) in str(error)
        except SparkConditionError as error:
            assert "nanos" in str(error)

"""Map outputs that a worker writes: read back as they were written; a damaged block is named."""

from __future__ import annotations

import json
import random
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.errors import ResourceExhaustedError, ShuffleBlockError
from pyspark_pipeline.exchange import ChunkRow, MapFile, MapOutput
from pyspark_pipeline.exchange.block_stream_reader import read_blocks
from pyspark_pipeline.exchange.chunk_row import BLOCKS
from pyspark_pipeline.exchange.codec import encode_chunk, read_payload
from pyspark_pipeline.exchange.messages import GroupedMessages, Messages, make_messages
from pyspark_pipeline.kernels.xxhash32 import xxhash32
from pyspark_pipeline.memory import MemoryTracker

_CODECS = ("lz4", "zstd", None)
_SIZES = (1, 7, 8, 60, 5000, 40_000, 300_000)


def _rows(partitions: int) -> list[ChunkRow]:
    """Return rows of all sizes for all partitions but the last; every other one does not compress."""
    rows = []
    for number, size in enumerate(_SIZES * 3):
        for partition in range(partitions - 1):
            text = (b"abcdefg" * size)[:size] if number % 2 else _noise(size, number)
            rows.append(
                ChunkRow(
                    partition=partition, rows=number, data=pa.py_buffer(text), driver=-1, sender=3, sequence=number
                )
            )
    return rows


def _noise(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


def _written(
    path: Path, rows: Sequence[ChunkRow | GroupedMessages], codec: str | None, max_bytes: int = 1 << 30
) -> Mapping[str, Any]:
    if not path.exists():
        path.touch()
    output = MapOutput(
        MapFile(path=str(path), partitions=4, codec=codec, checksum="ADLER32"), MemoryTracker("task"), max_bytes
    )
    for row in rows:
        output.add(row)
    written = output.finish()
    output.close()
    return written


def _read(path: Path, written: Mapping[str, Any], codec: str | None, partition: int) -> list[ChunkRow]:
    lengths = written["lengths"]
    block = {"path": str(path), "offset": sum(lengths[:partition]), "length": lengths[partition]}
    return _read_block(block, codec)


def _read_block(block: Mapping[str, Any], codec: str | None) -> list[ChunkRow]:
    blocks = [{**block, "map": 11, "mapIndex": 2, "reduce": 5}]
    message = json.dumps({"shuffle": 9, "codec": codec, "blocks": blocks})
    return list(read_blocks(ChunkRow(partition=1, rows=0, data=pa.py_buffer(message.encode()), driver=BLOCKS)))


@pytest.mark.parametrize("max_bytes", [1 << 30, 100_000, 1])
@pytest.mark.parametrize("codec", _CODECS)
def test_rows_return_in_order(tmp_path: Path, codec: str | None, max_bytes: int) -> None:
    path, rows = tmp_path / "data", _rows(4)
    written = _written(path, rows, codec, max_bytes)
    assert path.stat().st_size == sum(written["lengths"]) and written["lengths"][3] == 0
    assert (written["records"], written["rows"]) == (len(rows), sum(row.rows for row in rows))
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"]
    for partition in range(4):
        expected = [row for row in rows if row.partition == partition]
        found = _read(path, written, codec, partition)
        assert [data for row in found for data in _data(row)] == [row.data.to_pybytes() for row in expected]
        assert all((row.partition, row.driver, row.sender) == (1, -1, 3) for row in found)
        assert sum(row.rows for row in found) == sum(row.rows for row in expected)
        known = {(row.data.to_pybytes(), row.rows, row.sequence) for row in expected}
        assert all((*_data(row), row.rows, row.sequence) in known for row in found if len(_data(row)) == 1)


def _data(row: ChunkRow) -> list[bytes]:
    """Return the messages of a row."""
    buffers = row.data.buffers() if isinstance(row.data, Messages) else [row.data]
    return [buffer.to_pybytes() for buffer in buffers]


@pytest.mark.parametrize("codec", _CODECS)
@pytest.mark.parametrize("also", ["alone", "rows after", "rows before"])
def test_grouped_messages_are_read_as_chunk_rows(tmp_path: Path, codec: str | None, also: str) -> None:
    chunk = pa.RecordBatch.from_pydict({"c0": range(1000), "c1": [str(n) for n in range(1000)]})
    starts = np.array([0, 0, 10, 20, 1000], dtype=np.int64)
    grouped = make_messages(chunk, starts, b"", 0)
    assert grouped is not None
    others = [
        ChunkRow(partition=partition, rows=1, data=encode_chunk(chunk.slice(7, 1)), sender=4)
        for partition in range(4)
        if also != "alone"
    ]
    added = [replace(grouped, sender=4)]
    written = _written(tmp_path / "data", others + added if also == "rows before" else added + others, codec)
    assert written["records"] == 3 + len(others) and written["rows"] == 1000 + len(others)
    for partition in range(4):
        rows = _read(tmp_path / "data", written, codec, partition)
        expected = chunk.slice(starts[partition], starts[partition + 1] - starts[partition]).to_pylist()
        more = [chunk.slice(7, 1).to_pylist()[0]] if others else []
        found = [read_payload(row.data, chunk.schema).to_pylist() for row in rows]
        assert sum(found, []) == (more + expected if also == "rows before" else expected + more)
        assert all(row.sender == 4 for row in rows)


@pytest.mark.parametrize("codec", _CODECS)
def test_checksums_are_those_of_the_stored_bytes(tmp_path: Path, codec: str | None) -> None:
    written = _written(tmp_path / "data", _rows(4), codec)
    data, at = (tmp_path / "data").read_bytes(), 0
    for length, checksum in zip(written["lengths"], written["checksums"], strict=True):
        assert checksum == zlib.adler32(data[at : at + length])
        at += length


def test_output_without_rows_writes_nothing(tmp_path: Path) -> None:
    written = _written(tmp_path / "data", [], "lz4")
    assert written["lengths"] == [0] * 4 and written["checksums"] == [1] * 4
    assert not (tmp_path / "data").stat().st_size


@pytest.mark.parametrize("parts", ["in memory", "in a file"])
def test_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: str) -> None:
    full = "/dev/full"
    if parts == "in memory":
        (tmp_path / "data").symlink_to(full)
    else:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda dir, buffering: open(full, "w+b", buffering=buffering))
    with pytest.raises(ResourceExhaustedError, match=r"the map output .*data cannot be written: .*No space left"):
        _written(tmp_path / "data", _rows(4), "lz4", 1 << 30 if parts == "in memory" else 1)


def test_output_whose_file_was_removed_makes_none(tmp_path: Path) -> None:
    """The JVM removes the file of a failed task; its worker may run on."""
    path = tmp_path / "data"
    path.touch()
    output = MapOutput(MapFile(path=str(path), partitions=4, codec="lz4", checksum=None), MemoryTracker("task"), 1)
    output.add(_rows(4)[0])
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"], "the parts have no name"
    path.unlink()
    with pytest.raises(ResourceExhaustedError, match="No such file"):
        output.finish()
    output.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("partition", [0, 2])
def test_damaged_block_is_named(tmp_path: Path, partition: int) -> None:
    path = tmp_path / "data"
    written = _written(path, _rows(4), "lz4")
    first, length = sum(written["lengths"][:partition]), written["lengths"][partition]
    whole = path.read_bytes()
    for at in (0, 9, 13, 17, 22, length // 2, length - 1):
        damaged = bytearray(whole)
        damaged[first + at] ^= 0xFF
        path.write_bytes(damaged)
        with pytest.raises(ShuffleBlockError, match="data") as raised:
            _read(path, written, "lz4", partition)
        assert (raised.value.shuffle, raised.value.map_id, raised.value.map_index, raised.value.reduce) == (9, 11, 2, 5)


@pytest.mark.parametrize("codec", _CODECS)
def test_short_or_missing_file_is_named(tmp_path: Path, codec: str | None) -> None:
    path = tmp_path / "data"
    written = _written(path, _rows(4), codec)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ShuffleBlockError, match="data"):
        _read(path, written, codec, 2)
    path.unlink()
    with pytest.raises(ShuffleBlockError, match="No such file"):
        _read(path, written, codec, 2)


def test_xxhash32_is_that_of_the_specification() -> None:
    texts = {b"": 0x02CC5D05, b"a": 0x550D7456, b"Nobody inspects the spammish repetition": 0xE2293B2F}
    for text, expected in texts.items():
        data = np.frombuffer(text, np.uint8)
        whole = len(text) // 4 * 4
        assert xxhash32(data[:whole].view(np.uint32), data[whole:], np.uint32(0)) == expected

"""Spill files are read back as written, leave nothing behind, and raise if the disk is full."""

from __future__ import annotations

import errno
import io
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import EngineBugError, ResourceExhaustedError
from pyspark_pipeline.memory import SpillBudget
from pyspark_pipeline.memory.spill_files import SpillFiles, spill_directories


def chunk(first: int, rows: int = 3) -> pa.RecordBatch:
    numbers = pa.array(range(first, first + rows), pa.int64())
    return pa.record_batch([numbers, pa.array([f"s{i % 2}" for i in range(rows)])], names=["a", "b"])


def with_dictionary(given: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch([given.column(0), given.column(1).dictionary_encode()], names=["x", "y"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    return tmp_path


def test_chunks_are_read_in_order_any_number_of_times(folder: Path) -> None:
    files = SpillFiles(SpillBudget())
    file = files.create()
    given = [chunk(0), chunk(3), chunk(6, 100_000)]
    for one in given:
        file.write(one)
    file.finish()
    assert file.rows == 100_006
    assert file.nbytes > 100_000 * 8
    for _ in range(2):
        assert pa.Table.from_batches(list(file.read())).to_pydict() == {
            "c0": list(range(100_006)),
            "c1": [value for one in given for value in one.column(1).to_pylist()],
        }
    files.close()
    files.close()


@pytest.mark.parametrize("dictionary_first", [True, False])
def test_dictionary_encoding_of_the_first_chunk_applies_to_all(folder: Path, dictionary_first: bool) -> None:
    file = SpillFiles(SpillBudget()).create()
    other = pa.record_batch([pa.array([9], pa.int64()), pa.array(["new"]).dictionary_encode()], names=["a", "b"])
    given = [with_dictionary(chunk(0)), chunk(3), other]
    for one in given if dictionary_first else given[::-1][1:]:
        file.write(one)
    file.finish()
    kinds = {str(one.schema.types[1]) for one in file.read()}
    assert len(kinds) == 1
    assert ("dictionary" in kinds.pop()) == dictionary_first
    texts = [value for one in file.read() for value in one.column(1).to_pylist()]
    assert texts == (["s0", "s1", "s0"] * 2 + ["new"] if dictionary_first else ["s0", "s1", "s0"] * 2)


def test_empty_file_and_rows_without_columns_are_read_back(folder: Path) -> None:
    files = SpillFiles(SpillBudget())
    empty = files.create()
    empty.finish()
    assert list(empty.read()) == []
    rows = files.create()
    rows.write(pa.RecordBatch.from_struct_array(pa.array([{}] * 5, pa.struct([]))))
    rows.finish()
    assert [one.num_rows for one in rows.read()] == [5]


def test_open_spill_files_have_no_directory_entry(folder: Path) -> None:
    files = SpillFiles(SpillBudget())
    file = files.create()
    file.write(chunk(0))
    file.finish()
    assert list(folder.iterdir()) == []
    before = len(os.listdir("/proc/self/fd"))
    files.close()
    assert len(os.listdir("/proc/self/fd")) == before - 1
    assert len(files) == 0


def test_dropped_file_is_closed_early(folder: Path) -> None:
    files = SpillFiles(SpillBudget())
    one, two = files.create(), files.create()
    files.drop(one)
    assert len(files) == 1
    two.finish()
    assert list(two.read()) == []


def test_reading_an_unfinished_file_raises(folder: Path) -> None:
    file = SpillFiles(SpillBudget()).create()
    with pytest.raises(EngineBugError):
        next(file.read())


def test_spill_directories_are_those_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", " /a, /b,")
    monkeypatch.setenv("LOCAL_DIRS", "/c")
    assert spill_directories() == ["/a", "/b"]
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    assert spill_directories() == ["/c"]
    monkeypatch.delenv("LOCAL_DIRS")
    assert len(spill_directories()) == 1


def test_missing_directory_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/no,{tmp_path}")
    files = SpillFiles(SpillBudget())
    for _ in range(3):
        files.create().write(chunk(0))
    files.close()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/no")
    with pytest.raises(ResourceExhaustedError, match="no spill file can be made in"):
        files.create()


def test_full_disk_raises_resource_exhausted_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        closed = False

        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            self.closed = True

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    files = SpillFiles(SpillBudget())
    with pytest.raises(ResourceExhaustedError, match="No space left"):
        files.create().write(chunk(0))
    files.close()


def test_close_ignores_failed_writes_of_buffered_bytes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.FileIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    def made(**_: Any) -> io.BufferedRandom:
        return io.BufferedRandom(Full(folder / f"{len(list(folder.iterdir()))}", "x+"))

    monkeypatch.setattr(tempfile, "TemporaryFile", made)
    files = SpillFiles(SpillBudget())
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        files.create().write(chunk(0))
    with pytest.raises(ResourceExhaustedError, match=r"asked the disk for \d+ bytes: .*No space left"):
        files.create().write(chunk(0, 100_000))
    assert len(os.listdir("/proc/self/fd")) == before + 4
    files.close()
    assert len(os.listdir("/proc/self/fd")) == before and len(files) == 0


def test_unreadable_file_raises_resource_exhausted_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = SpillFiles(SpillBudget())
    file = files.create()
    file.write(chunk(0, 100_000))
    file.finish()
    file._handle.truncate(file.nbytes // 2)
    with pytest.raises(ResourceExhaustedError, match=rf"a spill file of {file.nbytes} bytes cannot be read back: "):
        list(file.read())

    def broken(place: int) -> int:
        raise OSError(errno.EIO, "the disk is gone")

    monkeypatch.setattr(file._handle, "seek", broken, raising=False)
    with pytest.raises(ResourceExhaustedError, match="cannot be read back: .*the disk is gone"):
        list(file.read())
    files.close()


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_every_codec_round_trips(folder: Path, codec: str) -> None:
    budget = SpillBudget(codec=codec)
    file = SpillFiles(budget).create()
    given = [chunk(0, 50_000), with_dictionary(chunk(7, 10)), chunk(9, 1)]
    for one in given:
        file.write(one)
    file.finish()
    texts = [value for one in given for value in one.column(1).to_pylist()]
    assert [value for one in file.read() for value in one.column(1).to_pylist()] == texts
    assert file.memory_bytes == sum(one.nbytes for one in given)
    assert (file.nbytes < file.memory_bytes) == (codec != "none")
    assert budget.held == file.nbytes
    file.close()
    file.close()
    assert budget.held == 0


def test_write_over_the_spill_budget_raises(folder: Path) -> None:
    budget = SpillBudget(max_bytes=200_000)
    one, other = SpillFiles(budget), SpillFiles(budget)
    one.create().write(chunk(0, 5000))
    held = budget.held
    file = other.create()
    with pytest.raises(
        ResourceExhaustedError, match=rf"asked for \d+ bytes, {held} are in files, .*spill\.maxBytes allows 200000"
    ):
        file.write(chunk(0, 20_000))
    assert budget.held == held
    other.close()
    one.close()
    assert budget.held == 0


@pytest.mark.parametrize("has_unnamed_files", [True, False])
def test_no_other_user_can_read_a_spill_file(
    has_unnamed_files: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "_O_TMPFILE_WORKS", has_unnamed_files)
    before = os.umask(0)
    try:
        files = SpillFiles(SpillBudget())
        handle = files.create()._handle
    finally:
        os.umask(before)
    status = os.fstat(handle.fileno())
    assert stat.S_IMODE(status.st_mode) == 0o600 and status.st_nlink == 0 and not list(folder.iterdir())
    files.close()

"""Rows spilled by the hash of their keys: the copies are counted."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.memory import MemoryTracker, SpillBudget
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.spill_partitions import FAN, SpillPartitions, first_columns, read_coalesced
from tests.operators.spill_kit import spill_folder  # noqa: F401 (a fixture for every test)

WIDE = pa.record_batch([pa.array([7] * 200), pa.array(["wide " * 20] * 200)], names=["c0", "c1"])


def test_copies_are_counted_while_rows_are_partitioned() -> None:
    memory = MemoryTracker("operator")
    memory.reserve(5)
    part = SpillPartitions(0, first_columns(1), SpillBudget())
    part.add(WIDE.slice(0, 10), memory)
    assert memory.peak == 5
    part.add(WIDE, memory)
    assert memory.held == 5 and memory.peak > 5 + 2 * WIDE.nbytes and part.nbytes == 0
    part.close()


def test_small_memory_limit_partitions_fewer_bytes_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill_partitions, "_WRITTEN_BYTES", 1 << 20)
    memory = MemoryTracker("instance", limit=16 * WIDE.nbytes)
    part = SpillPartitions(0, first_columns(1), SpillBudget())
    part.add(WIDE.slice(0, 90), memory.child("operator"))
    assert part.nbytes > 0
    part.add(WIDE.slice(0, 20), memory.child("operator"))
    assert part.nbytes == 0 < memory.peak <= 2 * WIDE.nbytes
    part.close()


def test_copies_are_not_counted_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/not-there")
    memory = MemoryTracker("operator")
    part = SpillPartitions(0, first_columns(1), SpillBudget())
    with pytest.raises(ResourceExhaustedError):
        part.add(WIDE, memory)
    assert memory.held == 0
    part.close()


def test_large_write_to_a_partition_is_read_in_pieces() -> None:
    part = SpillPartitions(0, first_columns(1), SpillBudget())
    part.add(WIDE, MemoryTracker("operator"))
    files = [file for file in part.files if file is not None]
    assert len(files) == 1 and len(part.files) == FAN
    files[0].finish()
    read = list(read_coalesced(files))
    assert len(read) > 10 and max(chunk.nbytes for chunk in read) <= 3000
    assert pa.Table.from_batches(read).to_pydict() == pa.Table.from_batches([WIDE]).to_pydict()
    part.close()

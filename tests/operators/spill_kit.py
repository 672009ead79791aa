"""Operators with little memory: a folder for their spill files, thresholds small enough for few rows, and counters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyspark_pipeline.operators import spill_partitions


@pytest.fixture(autouse=True)
def spill_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Spill to a folder of the test, from one byte on; no file may remain there or open."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    monkeypatch.setattr(spill_partitions, "MIN_SPILL_BYTES", 1)
    monkeypatch.setattr(spill_partitions, "_WRITTEN_BYTES", 3000)
    monkeypatch.setattr(spill_partitions, "_READ_BYTES", 1000)
    before = len(os.listdir("/proc/self/fd"))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) <= before

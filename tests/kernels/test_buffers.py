"""Where large arrays come from, and how their pages go back."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest

from benchmarks.memory import resident_bytes
from pyspark_pipeline.kernels.buffers import KEEPING_POOL, allocate_zeros, release_kept


@pytest.mark.skipif(KEEPING_POOL.backend_name != "mimalloc", reason="the system's pool keeps nothing")
def test_kept_pages_go_back_whatever_the_default_pool_is() -> None:
    default = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        _takes_and_gives_back()
        assert pa.default_memory_pool().backend_name == "system"
    finally:
        pa.set_memory_pool(default)


def _takes_and_gives_back() -> None:
    release_kept()
    start = resident_bytes(os.getpid())
    arrays = [allocate_zeros(1 << 20, "int64") for _ in range(32)]
    assert resident_bytes(os.getpid()) - start > 250 << 20
    del arrays
    release_kept()
    assert resident_bytes(os.getpid()) - start < 64 << 20

"""Allocation of large arrays, and release of their pages."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest

from benchmarks.memory import resident_bytes
from pyspark_pipeline.kernels.buffers import RETAINING_POOL, allocate_zeros, grown, trim_allocators


@pytest.mark.skipif(RETAINING_POOL.backend_name != "mimalloc", reason="the system's pool retains no pages")
def test_trim_allocators_releases_pages_for_any_default_pool() -> None:
    default = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        _assert_pages_are_released()
        assert pa.default_memory_pool().backend_name == "system"
    finally:
        pa.set_memory_pool(default)


def _assert_pages_are_released() -> None:
    trim_allocators()
    start = resident_bytes(os.getpid())
    arrays = [allocate_zeros(1 << 20, "int64") for _ in range(32)]
    assert resident_bytes(os.getpid()) - start > 250 << 20
    del arrays
    trim_allocators()
    assert resident_bytes(os.getpid()) - start < 64 << 20


@pytest.mark.skipif(RETAINING_POOL.backend_name != "mimalloc", reason="the system's pool retains no pages")
def test_huge_allocation_releases_the_pages_of_smaller_arrays() -> None:
    trim_allocators()
    start = resident_bytes(os.getpid())
    arrays = [allocate_zeros(1 << 19, "int64") for _ in range(4)]
    for _ in range(4):
        for at, array in enumerate(arrays):
            arrays[at] = grown(array, array.size * 2)
            arrays[at][:] = 1
    assert resident_bytes(os.getpid()) - start < 1.15 * sum(array.nbytes for array in arrays)

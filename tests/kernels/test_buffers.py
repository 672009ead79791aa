"""Where large arrays come from, and how their pages go back."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest

from benchmarks.memory import resident_bytes
from pyspark_pipeline.kernels.buffers import KEEPING_POOL, allocate_zeros, grown, release_kept


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


@pytest.mark.skipif(KEEPING_POOL.backend_name != "mimalloc", reason="the system's pool keeps nothing")
def test_arrays_that_grow_huge_do_not_come_on_top_of_their_smaller_selves() -> None:
    release_kept()
    start = resident_bytes(os.getpid())
    arrays = [allocate_zeros(1 << 17, "int64") for _ in range(12)]
    for _ in range(4):
        for at, array in enumerate(arrays):
            arrays[at] = grown(array, array.size * 2)
            arrays[at][:] = 1
    assert resident_bytes(os.getpid()) - start < 1.15 * sum(array.nbytes for array in arrays)

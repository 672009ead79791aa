"""The allocators are trimmed after a number of freed bytes."""

from __future__ import annotations

import pytest

from pyspark_pipeline.kernels import allocator_trim
from pyspark_pipeline.kernels.allocator_trim import TRIM_BYTES, AllocatorTrim


def test_allocators_are_trimmed_after_trim_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(allocator_trim, "trim_allocators", lambda: calls.append(True))
    trim = AllocatorTrim()
    trim.note_freed(TRIM_BYTES - 1)
    assert calls == []
    trim.note_freed(1)
    assert calls == [True]
    trim.note_freed(TRIM_BYTES - 1)
    assert calls == [True]
    trim.note_freed(10 * TRIM_BYTES)
    assert calls == [True, True]

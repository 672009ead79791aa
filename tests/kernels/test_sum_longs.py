"""Sums of integers without keys: blocks of small values are added without tests for overflow."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pyspark_pipeline.kernels.accumulate import sum_longs
from pyspark_pipeline.kernels.buffers import NO_BITS
from pyspark_pipeline.kernels.jit import frozen

_LEAST, _MOST = -(2**63), 2**63 - 1
_BOUNDS = [10, 2**47 - 1, 2**47, 2**48, 2**62, _MOST]
_STARTS = [0, 2**62, 2**62 + 1, -(2**62), -(2**62) - 1, _MOST, _LEAST]


def _expected(values: list[int], start: int) -> tuple[int, bool]:
    """Return the sum that wraps, and whether it did so after any value."""
    total, has_overflowed = start, False
    for value in values:
        total += value
        if not _LEAST <= total <= _MOST:
            total, has_overflowed = (total - _LEAST) % 2**64 + _LEAST, True
    return total, has_overflowed


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("bound", _BOUNDS)
def test_sum_and_overflow_are_those_of_adding_value_by_value(seed: int, bound: int) -> None:
    dice = random.Random(f"{seed} {bound}")
    rows = dice.choice([0, 1, 2, 5, 40, 16_384, 16_385, 33_000])
    values = [dice.choice([dice.randint(-bound, bound), bound, -bound - 1]) for _ in range(rows)]
    start, is_null = dice.choice(_STARTS), np.array([dice.random() < 0.3 for _ in range(rows)], dtype=bool)
    known = [value for value, null in zip(values, is_null, strict=True) if not null]
    for bits, kept in ((NO_BITS, values), (frozen(np.packbits(~is_null, bitorder="little")), known)):
        if bits.size == 0 and kept is not values:
            continue  # no bitmap means that no row is NULL
        sums, seen = np.array([start], dtype=np.int64), np.zeros(1, dtype=np.uint8)
        overflowed = sum_longs(frozen(np.array(values, dtype=np.int64)), bits, 0, sums, seen)
        assert (int(sums[0]), bool(overflowed)) == _expected(kept, start)
        assert bool(seen[0]) == bool(kept)

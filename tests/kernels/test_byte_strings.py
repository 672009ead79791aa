"""Byte strings are compared and copied eight bytes at a time."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pyspark_pipeline.kernels.accumulate import compare_bytes, copy_bytes


@pytest.mark.parametrize("seed", range(50))
def test_bytes_compare_as_those_of_python(seed: int) -> None:
    dice = random.Random(seed)
    common = dice.randbytes(dice.choice([0, 1, 7, 8, 9, 15, 16, 20]))
    left, right = (common + dice.choice([b"", dice.randbytes(dice.randint(0, 20)), b"\xff", b"\0"]) for _ in range(2))
    before, between = dice.randint(0, 9), dice.randint(0, 3)
    data = np.frombuffer(bytes(before) + left + b"\xff" * between + right, dtype=np.uint8).copy()
    start, middle = before, before + len(left) + between
    order = compare_bytes(data, start, start + len(left), data, middle, middle + len(right))
    assert np.sign(order) == (left > right) - (left < right)
    out = np.full(len(left) + 5, 7, dtype=np.uint8)
    assert copy_bytes(data, start, start + len(left), out, 3) == 3 + len(left)
    assert out.tobytes() == b"\7" * 3 + left + b"\7" * 2

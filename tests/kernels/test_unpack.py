"""Numbers of any width are unpacked as numpy unpacks their bits, from any place and in any parts."""

from __future__ import annotations

import numpy as np
import pytest

from pyspark_pipeline.kernels.parquet_pages import AT, STATE_SIZE, read_runs

_COUNT = 808


def _packed(numbers: np.ndarray, width: int) -> np.ndarray:
    """Return a packed run of the numbers, with its head."""
    bits = (numbers[:, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1)
    groups = numbers.size // 8
    head = [(groups << 1 | 1) & 127 | 128, (groups << 1 | 1) >> 7]
    return np.concatenate([head, np.packbits(bits.astype(np.uint8).ravel(), bitorder="little")]).astype(np.uint8)


@pytest.mark.parametrize("width", range(1, 33))
@pytest.mark.parametrize("parts", [(_COUNT,), (1, 7, 9, 391, 400), (800, 3, 5), (5, 803)])
def test_numbers_are_unpacked_in_parts(width: int, parts: tuple[int, ...]) -> None:
    random = np.random.default_rng(width)
    numbers = random.integers(0, 2**width, _COUNT, dtype=np.uint64)
    page = _packed(numbers, width)
    for spare in (0, 8, 100):
        data = np.concatenate([page, np.full(spare, 255, dtype=np.uint8)])
        state = np.zeros(STATE_SIZE, dtype=np.int64)
        state[AT] = 0
        start = 0
        for part in parts:
            out = np.zeros(part + 1, dtype=np.uint32)
            found = read_runs(data, page.size, width, state, out[:part])
            expected = numbers[start : start + part]
            assert out[:part].tolist() == expected.tolist() and out[part] == 0, "nothing is written beyond the part"
            assert found == int(np.bitwise_or.reduce(expected))
            start += part
        assert read_runs(data, page.size, width, state, np.zeros(1, dtype=np.uint32)) == -1


@pytest.mark.parametrize("width", range(1, 9))
def test_levels_are_unpacked_to_bytes(width: int) -> None:
    numbers = np.random.default_rng(width).integers(0, 2**width, _COUNT, dtype=np.uint64)
    page = _packed(numbers, width)
    out = np.zeros(_COUNT, dtype=np.uint8)
    assert read_runs(page, page.size, width, np.zeros(STATE_SIZE, dtype=np.int64), out) >= 0
    assert out.tolist() == numbers.tolist()

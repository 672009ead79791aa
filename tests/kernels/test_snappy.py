"""Snappy's decompression of words: equal to the library's, for damaged bytes too, which it must refuse."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.kernels.arrays import UInt8Array
from pyspark_pipeline.kernels.snappy import SLACK, decompress_words

CODEC = pa.Codec("snappy")
RANDOM = np.random.default_rng(7)


def decompressed(data: bytes, size: int) -> bytes | None:
    """Return the bytes, None if they are refused; memory around the output must not change."""
    padded = np.frombuffer(data + bytes(SLACK), dtype=np.uint8).copy()
    out = np.full(size // 8 + 3 + 8, 0x5A5A5A5A5A5A5A5A, dtype=np.uint64)
    is_whole = decompress_words(padded, 0, len(data), out[: size // 8 + 3], size)
    assert (out[size // 8 + 3 :] == 0x5A5A5A5A5A5A5A5A).all()
    return out.view(np.uint8)[:size].tobytes() if is_whole else None


def pages() -> Iterator[UInt8Array]:
    """Yield pages of many kinds: numbers with few and many high bytes, runs, texts, odd sizes."""
    yield np.empty(0, dtype=np.uint8)
    for size in (1, 7, 8, 9, 63, 64, 65, 66, 100):
        yield RANDOM.integers(0, 3, size).astype(np.uint8)
    for bits in (1, 8, 15, 17, 23, 33, 50, 63):
        for rows in (1, 2, 100, 5000):
            values = RANDOM.integers(0, 1 << bits, rows)
            yield values.view(np.uint8)
            yield np.sort(values).view(np.uint8)
            yield (-values).view(np.uint8)
            yield np.repeat(values, 5)[: rows + 3].view(np.uint8)
    yield (RANDOM.integers(0, 10**7, 5000) / 100).view(np.uint8)
    yield np.concatenate([np.frombuffer(b"abc", np.uint8), RANDOM.integers(0, 1 << 20, 3000).view(np.uint8)])
    yield np.tile(np.frombuffer(b"a long text that is repeated in the page, ", np.uint8), 400)
    yield np.arange(20_000, dtype=np.int64).view(np.uint8)


def test_every_page_is_decompressed_as_by_the_library() -> None:
    for page in pages():
        stored = CODEC.compress(page.tobytes(), asbytes=True)
        assert decompressed(stored, page.size) == page.tobytes()


def test_another_size_is_refused() -> None:
    page = np.arange(100, dtype=np.int64).tobytes()
    stored = CODEC.compress(page, asbytes=True)
    assert decompressed(stored, len(page) - 1) is None
    assert decompressed(stored, len(page) + 1) is None
    assert decompressed(stored[:-1], len(page)) is None
    assert decompressed(stored + b"\0", len(page)) is None
    assert decompressed(b"", 0) is None


@pytest.mark.rotates
def test_damaged_bytes_are_refused_or_decompressed_as_by_the_library() -> None:
    page = RANDOM.integers(0, 1 << 17, 300).tobytes()
    stored = bytearray(CODEC.compress(page, asbytes=True))
    for _ in range(6000):
        damaged = stored.copy()
        for place in RANDOM.integers(2, len(damaged), RANDOM.integers(1, 4)):
            damaged[place] = RANDOM.integers(0, 256)
        found = decompressed(bytes(damaged), len(page))
        try:
            expected = CODEC.decompress(bytes(damaged), len(page), asbytes=True)
        except OSError:
            expected = None
        assert found == expected

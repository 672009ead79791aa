"""Bloom filters serialised by Spark return Spark's results, including false positives, in both versions."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.kernels.bloom import read_filter

MEMBERS = [0, 1, -1, 42, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), *(n * 7919 for n in range(60))]
PROBES = [*MEMBERS, *range(-300, 300), *(n * 0x9E3779B97F4A7C15 % 2**63 - 2**62 for n in range(400))]


def spark_filter(vanilla: Any, version: str, bits: int, seed: int, members: list[int]) -> Any:
    """Build a filter in the JVM."""
    sketch = vanilla.sparkContext._jvm.org.apache.spark.util.sketch.BloomFilter
    made = sketch.create(getattr(sketch.Version, version), len(MEMBERS), bits, seed)
    for member in members:
        made.putLong(member)
    return made


def serialized(vanilla: Any, made: Any) -> bytes:
    """Return the bytes that Spark writes for a filter."""
    stream = vanilla.sparkContext._jvm.java.io.ByteArrayOutputStream()
    made.writeTo(stream)
    return bytes(stream.toByteArray())


@pytest.mark.parametrize(("version", "seed"), [("V1", 0), ("V2", 0), ("V2", 17), ("V2", -5)])
@pytest.mark.parametrize("bits", [64, 200, 1000])
def test_might_contain_equals_spark(vanilla: Any, version: str, seed: int, bits: int) -> None:
    made = spark_filter(vanilla, version, bits, seed, MEMBERS)
    found = read_filter(serialized(vanilla, made)).might_contain(np.array(PROBES))
    assert found.tolist() == [made.mightContainLong(value) for value in PROBES]
    assert all(found[: len(MEMBERS)])
    assert bits == 64 or not all(found)


def test_spark_creates_version_two_by_default(vanilla: Any) -> None:
    """``bloom_filter_agg`` uses the default of ``BloomFilter.create``."""
    sketch = vanilla.sparkContext._jvm.org.apache.spark.util.sketch.BloomFilter
    text = serialized(vanilla, sketch.create(100, 6400))
    assert read_filter(text).version == 2
    assert struct.unpack(">iiii", text[:16]) == (2, 44, 0, 100)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (struct.pack(">iiiq", 3, 1, 1, 1), "a bloom filter of version 3 is not supported, only versions 1 and 2"),
        (struct.pack(">iiq", 1, 1, 0)[:12], "a bloom filter of 12 bytes cannot have 0 words"),
        (struct.pack(">iiiiq", 2, 1, 0, 2, 7), "a bloom filter of 24 bytes cannot have 2 words"),
        (struct.pack(">ii", 2, 1), "8 bytes are no bloom filter"),
        (b"", "a bloom filter of version 0 is not supported"),
    ],
)
def test_invalid_bytes_raise_unsupported_plan_error(text: bytes, message: str) -> None:
    with pytest.raises(UnsupportedPlanError, match=message):
        read_filter(text)

"""Strings are numbered in the order of their first occurrence, whatever their lengths and bytes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.kernels.interning import StringInterner
from pyspark_pipeline.kernels.join_strings import StringKeys

# Zero bytes, and bytes that equal a length or the mark of long strings.
_BYTES = st.lists(st.sampled_from([0, 1, 7, 8, 65, 66, 254, 255]), max_size=20).map(bytes)


def numbers(values: Sequence[bytes | None]) -> list[int]:
    """Return the number of each value, 0 for None."""
    known: dict[bytes, int] = {}
    return [0 if value is None else known.setdefault(value, len(known)) for value in values]


def check(values: Sequence[bytes | None], pieces: int = 1) -> None:
    """Assert the numbers of values that come in pieces, the strings of all numbers, and that each is found again."""
    keys = StringKeys()
    column = pa.array(values, pa.binary())
    size = -(-len(values) // pieces) or 1
    found = [number for at in range(0, len(values), size) for number in keys.intern(column.slice(at, size)).tolist()]
    assert found == numbers(values)
    distinct = list(dict.fromkeys(value for value in values if value is not None))
    assert keys.count == len(distinct)
    ids = keys.find(pa.array([*distinct, b"unknown string", b"?", None], pa.binary()))
    assert ids.tolist() == [*range(len(distinct)), -1, -1, -1]
    valid = ids >= 0
    assert keys.strings(ids, valid, pa.binary()).to_pylist() == [*distinct, None, None, None]


@given(st.lists(st.none() | _BYTES, max_size=60), st.integers(1, 5))
def test_strings_are_numbered(values: list[bytes | None], pieces: int) -> None:
    check(values, pieces)


@pytest.mark.parametrize("length", range(20))
def test_strings_that_differ_in_one_byte(length: int) -> None:
    base = bytes(range(length))
    others = [base[:i] + b"\xff" + base[i + 1 :] for i in range(length)]
    check([base, *others, base + b"\x00", base[:-1], base, *reversed(others)])


def test_short_strings_and_longer_ones_with_equal_first_words() -> None:
    check([b"abcdefg", b"abcdefg\x07", b"abcdefg\xff", b"abcdefg\xffx", b"abcdefg\x07", b"abcdefg", b"abcdefg\xff"])
    check([b"", b"\x00", b"\x00" * 7, b"\x00" * 8, b"\x00" * 9, b"", b"\x00" * 8])


def test_tables_grow() -> None:
    dice = random.Random(1)
    values: list[bytes | None] = [str(dice.randrange(30_000)).encode() * dice.randrange(1, 4) for _ in range(100_000)]
    check([*values, None, *values[:1000]], 7)


def test_dictionaries_are_numbered_once() -> None:
    table = StringInterner()
    column = pa.array(["b", None, "a", "b"]).dictionary_encode()
    assert table.intern(column).tolist() == table.intern(column).tolist() == [0, 0, 1, 0]

"""The order of the entries of ``java.util.HashMap``, in which Spark's JVM reads and writes the dicts of Python.

The entries are in the order of their buckets, which the hash of the key chooses, and within one as they came.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from pyspark_pipeline.errors import UnsupportedValueError

#: Python pickles this many entries of a dict together.
_PICKLED_TOGETHER = 1000
_LEAST_BUCKETS = 16


def unpickled_items(items: list[Any], *, is_copied: bool = False) -> list[Any]:
    """Return the items of a set in the order of the set that Java unpickles.

    A set that ``is_copied`` from another one has a third more buckets than items, any other grows with its items.
    """
    return _by_bucket(items, _copied(len(items), _LEAST_BUCKETS) if is_copied else _grown(len(items)))


def unpickled_keys(found: dict[Any, Any]) -> list[Any]:
    """Return the keys of a dict in the order of the map that Java unpickles, which copies its entries in parts."""
    keys = list(found)
    if len(keys) < 2:  # noqa: PLR2004
        return keys
    parts = [keys[start : start + _PICKLED_TOGETHER] for start in range(0, len(keys), _PICKLED_TOGETHER)]
    read = [key for part in parts for key in _by_bucket(part[::-1], _grown(len(part)))]
    return _by_bucket(read, _grown(len(keys), _copied(len(parts[0]))))


def map_order(keys: Sequence[Any], hash_of: Callable[[Any], int]) -> list[int]:
    """Return the positions of the keys, of a map column, in the order of the map that Spark makes of them."""
    count = len(keys)
    if count < 2:  # noqa: PLR2004
        return list(range(count))
    mask = _grown(count, 1 << (count - 1).bit_length()) - 1
    return sorted(range(count), key=lambda place: _spread(hash_of(keys[place])) & mask)


def _grown(count: int, buckets: int = _LEAST_BUCKETS) -> int:
    """Return the number of buckets of a map of ``count`` entries that began with ``buckets``: a power of 2."""
    while count > buckets * 3 // 4:
        buckets *= 2
    return buckets


def _copied(count: int, least: int = 1) -> int:
    """Return the number of buckets of a map of which ``count`` entries are known when it is made."""
    return max(least, 1 << int(count / 0.75).bit_length())


def _by_bucket(keys: list[Any], buckets: int) -> list[Any]:
    if len(keys) < 2:  # noqa: PLR2004
        return keys
    return sorted(keys, key=lambda key: _spread(java_hash(key)) & (buckets - 1))


def _spread(found: int) -> int:
    """Return the hash by which a map chooses a bucket, as an unsigned number."""
    found &= 0xFFFFFFFF
    return found ^ (found >> 16)


def java_hash(key: Any) -> int:
    """Return the hash of a value that Java unpickled; raise ``UnsupportedValueError`` if only Java knows it."""
    class_ = type(key)
    if key is None:
        return 0
    if class_ is bool:
        return 1231 if key else 1237
    if class_ is str:
        return _text_hash(key)
    if class_ is int:
        return _number_hash(key)
    if class_ is float:
        return _long_hash(_bits(key))
    if class_ is Decimal and key.is_finite():
        return _decimal_hash(key)
    raise UnsupportedValueError(
        f"a function returned a dict or set with keys of the class {class_.__qualname__}: only Java knows their order; "
        "convert the value in the function"
    )


@lru_cache(maxsize=10000)
def _text_hash(text: str) -> int:
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    found = 0
    for unit in units:
        found = (found * 31 + unit) & 0xFFFFFFFF
    return found


def _number_hash(number: int) -> int:
    """Return the hash of an integer, which is an Integer, a Long or a BigInteger in Java."""
    if -(2**31) <= number < 2**31:
        return number
    return _long_hash(number) if -(2**63) <= number < 2**63 else _big_hash(number)


def _long_hash(number: int) -> int:
    bits = number & 0xFFFFFFFFFFFFFFFF
    return bits ^ (bits >> 32)


def _big_hash(number: int) -> int:
    """Return the hash of a ``BigInteger``: of its words from the highest one on."""
    size, found = abs(number), 0
    for shift in range(32 * ((size.bit_length() + 31) // 32) - 32, -1, -32):
        found = (31 * found + (size >> shift & 0xFFFFFFFF)) & 0xFFFFFFFF
    return -found if number < 0 else found


def _decimal_hash(number: Decimal) -> int:
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)))
    return 31 * _big_hash(-unscaled if sign else unscaled) - exponent


def _bits(number: float) -> int:
    if number != number:  # noqa: PLR0124
        return 0x7FF8000000000000
    (bits,) = struct.unpack("<Q", struct.pack("<d", number))
    return int(bits)


def _float_hash(number: float) -> int:
    if number != number:  # noqa: PLR0124
        return 0x7FC00000
    (bits,) = struct.unpack("<I", struct.pack("<f", number))
    return int(bits)


def hash_of_column(kind: pa.DataType) -> Callable[[Any], int]:
    """Return the hash of the values of a column, whose class in Java is that of the column's type."""
    if pa.types.is_int64(kind) or pa.types.is_timestamp(kind):
        return _long_hash
    return _float_hash if pa.types.is_float32(kind) else java_hash

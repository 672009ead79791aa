"""Values of every type with the edge cases of a row hash: signs, ±0, NaN, lengths around the block sizes, NULL."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from pyspark_pipeline.datatypes import parse_type

UTC = datetime.timezone.utc
VALUES: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "tinyint": [0, 1, -1, 127, -128, None],
    "smallint": [0, 1, -1, 32767, -32768, None],
    "int": [0, 1, -1, 2**31 - 1, -(2**31), None],
    "bigint": [0, 1, -1, 2**63 - 1, -(2**63), 2**32, None],
    "float": [0.0, -0.0, 1.5, float("nan"), float("inf"), -3.25, None],
    "double": [0.0, -0.0, 1.5, float("nan"), float("-inf"), 1e300, None],
    "decimal(18,2)": [Decimal("0.00"), Decimal("-1.25"), Decimal("9999999999999999.99"), None],
    "decimal(38,4)": [
        Decimal("0.0000"), Decimal("-0.0001"), Decimal("0.0127"), Decimal("0.0128"), Decimal("-0.0128"),
        Decimal("-0.0129"), Decimal("1844674407370955.1615"), Decimal("-1844674407370955.1616"),
        Decimal("9999999999999999999999999999999999.9999"), Decimal("-9999999999999999999999999999999999.9999"), None,
    ],
    "string": ["", "a", "ab", "abc", "abcd", "abcdé", "日本語テキスト", *("xyz" * n for n in range(2, 34)), None],
    "binary": [
        b"", b"\x80", b"\xff\x01\x80\x7f\x90", b"\x00\x00\x00\x80", None,
        *(b"\xfe\x03\x81\x00" * n + b"\xe0" for n in range(2, 20)),
    ],
    "date": [datetime.date(1970, 1, 1), datetime.date(1900, 2, 3), datetime.date(2030, 12, 31), None],
    "timestamp": [datetime.datetime(2020, 1, 1, 1, 2, 3, 456789, UTC), datetime.datetime(1950, 1, 1, tzinfo=UTC), None],
    "timestamp_ntz": [datetime.datetime(2020, 1, 1, 1, 2, 3, 456789), None],
}


def arrow(kind: str, data: list[Any]) -> pa.Array:
    """Build a column of ``kind``."""
    return pa.array(data, parse_type(kind).arrow)


def vanilla_hashes(vanilla: Any, function: str, kinds: list[str], rows: list[tuple[Any, ...]]) -> list[int]:
    """Return Spark's ``function`` over all columns of ``rows``."""
    schema = "i int, " + ", ".join(f"c{n} {kind}" for n, kind in enumerate(kinds))
    names = ", ".join(f"c{n}" for n in range(len(kinds)))
    frame = vanilla.createDataFrame([(i, *row) for i, row in enumerate(rows)], schema)
    return [row[0] for row in frame.selectExpr(f"{function}({names})", "i").orderBy("i").collect()]


def mixed_rows() -> list[tuple[Any, ...]]:
    """Build rows with a column of every kind, each kind's values in a different order."""
    return [tuple(VALUES[k][(i * 7 + n) % len(VALUES[k])] for n, k in enumerate(VALUES)) for i in range(40)]

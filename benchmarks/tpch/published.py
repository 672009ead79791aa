"""The published answers of the specification, an oracle that is not Spark.

They come with DuckDB's TPC-H extension, which the ``duckdb-extension-tpch`` package brings as a file. They
are texts; a value of ours equals its text to the last digit our type has.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.answers import Answer, Row

SCALES = (0.01, 0.1, 1.0)
_RELATIVE = 1e-9


@cache
def answers(scale: float) -> dict[str, str]:
    """Map query numbers to the published answer at ``scale``, one of ``SCALES``; empty for other scales."""
    import duckdb
    import duckdb_extension_tpch

    folder = Path(duckdb_extension_tpch.__file__).parent / "extensions"
    extension = next(folder.glob(f"v{duckdb.__version__}/tpch.duckdb_extension"))
    with duckdb.connect() as connection:
        connection.execute(f"load '{extension}'")
        sql = "select query_nr, answer from tpch_answers() where scale_factor = ?"
        return {str(number): text for number, text in connection.execute(sql, [scale]).fetchall()}


def difference(answer: Answer, text: str) -> str | None:
    """Say the first difference between our answer and the published text, or None when they are equal."""
    published = [line.split("|") for line in text.strip("\n").split("\n")[1:]]
    if len(published) != len(answer.rows):
        return f"rows: {len(answer.rows)} against {len(published)} published"
    samples = [next((row[i] for row in answer.rows if row[i] is not None), None) for i in range(len(answer.columns))]
    theirs = [tuple(map(_parse, line, samples)) for line in published]
    for one, other in zip(_sorted(answer.rows), _sorted(theirs), strict=True):
        if not all(map(_same, one, other)):
            return f"value: {one} against {other} published"
    return None


def _parse(text: str, sample: Any) -> Any:
    """Read a published value as the type of our column; a text that does not fit stays a text, and so differs."""
    if text in ("", "NULL") and not isinstance(sample, str):
        return None
    try:
        if isinstance(sample, int):
            return int(Decimal(text)) if Decimal(text) == int(Decimal(text)) else text
        if isinstance(sample, (Decimal, float)):
            return Decimal(text)
        return datetime.date.fromisoformat(text) if isinstance(sample, datetime.date) else text
    except (ArithmeticError, ValueError):
        return text


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, (Decimal, float)) and isinstance(theirs, Decimal):
        exponent = ours.as_tuple().exponent if isinstance(ours, Decimal) else -15
        last_digit = Decimal(10) ** int(exponent)
        return abs(Decimal(ours) - theirs) <= max(last_digit, abs(theirs) * Decimal(_RELATIVE))
    return type(ours) is type(theirs) and bool(ours == theirs)


def _sorted(rows: Sequence[Row]) -> list[Row]:
    def inexact(value: Any) -> bool:
        return isinstance(value, (Decimal, float))

    def key(row: Row) -> tuple[list[str], list[Decimal]]:
        exact = [f"{type(value).__name__} {value}" for value in row if not inexact(value)]
        return exact, [Decimal(value) for value in row if inexact(value)]

    return sorted(rows, key=key)

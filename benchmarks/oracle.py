"""Compares answers with those of an oracle that is not Spark: DuckDB on the same files, or published answers.

The values of an oracle are texts; our value must equal the text to the last digit of our type.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from benchmarks.answers import Answer, Row

#: Rows of an oracle: the text of each value, None for NULL.
Texts = Sequence[Sequence[str | None]]


def duckdb_answer(
    sql: str, tables: Mapping[str, str], *, runs: int = 1, threads: int = 1
) -> tuple[Texts, list[float]]:
    """Run ``sql`` in DuckDB over the Parquet files ``tables``; return its rows and the seconds of each run."""
    import duckdb

    seconds = []
    with duckdb.connect(config={"threads": threads}) as connection:
        for name, path in tables.items():
            connection.execute(f"create view {name} as from read_parquet('{path}')")
        for _ in range(runs):
            began = time.perf_counter()
            rows = connection.execute(sql).fetchall()
            seconds.append(time.perf_counter() - began)
    return [[None if value is None else str(value) for value in row] for row in rows], seconds


def difference(answer: Answer, texts: Texts, without: frozenset[str] = frozenset()) -> str | None:
    """Return the first difference between our answer and an oracle's texts, or None if they are equal.

    The columns named in ``without`` are not compared. Rows are compared as a multiset.
    """
    if len(texts) != len(answer.rows):
        return f"rows: {len(answer.rows)} against {len(texts)} of the oracle"
    kept = [index for index, name in enumerate(answer.columns) if name not in without]
    samples = {index: next((row[index] for row in answer.rows if row[index] is not None), None) for index in kept}
    ours = [tuple(row[index] for index in kept) for row in answer.rows]
    theirs = [tuple(_parse(line[index], samples[index]) for index in kept) for line in texts]
    for one, other in zip(_sorted(ours), _sorted(theirs), strict=True):
        for index, left, right in zip(kept, one, other, strict=True):
            if not _same(left, right):
                return f"{answer.columns[index]}: {left} against {right} of the oracle, in {one}"
    return None


def _parse(text: str | None, sample: Any) -> Any:
    """Return an oracle's text as the type of our column; a text that does not parse stays a text, and so differs."""
    if text is None or (text in ("", "NULL") and not isinstance(sample, str)):
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
        tolerance = abs(theirs) * Decimal("1e-9")
        if isinstance(ours, Decimal):  # DuckDB's averages and quotients are doubles: 15 digits, rounded to ours
            half_digit = Decimal(10) ** int(ours.as_tuple().exponent) / 2
            tolerance = half_digit + abs(theirs) * Decimal("1e-15")
        return abs(Decimal(ours) - theirs) <= tolerance
    return type(ours) is type(theirs) and bool(ours == theirs)


def _sorted(rows: Sequence[Row]) -> list[Row]:
    def inexact(value: Any) -> bool:
        return isinstance(value, (Decimal, float))

    def key(row: Row) -> tuple[list[str], list[Decimal]]:
        exact = [f"{type(value).__name__} {value}" for value in row if not inexact(value)]
        return exact, [Decimal(value) for value in row if inexact(value)]

    return sorted(rows, key=key)

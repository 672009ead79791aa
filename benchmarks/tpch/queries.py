"""The queries: 1 to 22 of the specification, and our own by name (``extra/``), which stress one mechanism each."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from benchmarks import queries
from benchmarks.queries import Query

FOLDER = Path(__file__).parent
NUMBERS = tuple(str(number) for number in range(1, 23))


def names() -> tuple[str, ...]:
    """Return all names."""
    return (*NUMBERS, *sorted(path.stem for path in (FOLDER / "extra").glob("*.sql")))


def load(name: str, scale: float) -> Query:
    """Return a query. Raises :class:`KeyError` for an unknown name."""
    if name not in names():
        raise KeyError(f"no query {name!r}; there are: {', '.join(names())}")
    is_tpch = name in NUMBERS
    path = FOLDER / ("queries" if is_tpch else "extra") / f"{name}.sql"
    fraction = (Decimal("0.0001") / Decimal(str(scale))).quantize(Decimal("1e-12")).normalize()
    sql = path.read_text(encoding="utf-8").replace("${fraction}", f"{fraction:f}")
    return Query(name=name, sql=sql, sink="collect" if is_tpch else "noop")


def choose(text: str | None, scale: float) -> Sequence[Query]:
    """Return the queries that ``text`` selects (:func:`benchmarks.queries.choose`); all 22 if it is empty."""
    return [load(name, scale) for name in queries.choose(text or "1-22", names())]

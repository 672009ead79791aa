"""The 103 statements of the 99 queries. The texts of the 99 come with DuckDB's extension.

Queries 14, 23, 24 and 39 have two statements, ``14a`` and ``14b``, of which the extension has one: 14a, 23b, 24a and
39a. The other has the same WITH clause, and its own SELECT in ``statements/``, with the parameters of the
specification.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from benchmarks import queries
from benchmarks.duckdb_extensions import connect
from benchmarks.queries import Query

#: Names of the statements of the extension, by number of the query, where the query has two.
_OF_TWO = {14: "14a", 23: "23b", 24: "24a", 39: "39a"}
#: The settings of Spark that the texts need: they quote names of columns, such as "30 days".
SETTINGS = {"spark.sql.ansi.doubleQuotedIdentifiers": "true"}


@cache
def texts() -> dict[str, str]:
    """Return the SQL text of each statement by name, in order of the names."""
    with connect("tpcds") as connection:
        found = connection.execute("select query_nr, query from tpcds_queries() order by query_nr").fetchall()
    made: dict[str, str] = {}
    for number, text in found:
        statements = {_OF_TWO.get(number, str(number)): text.strip().rstrip(";")}
        if number in _OF_TWO:
            other = f"{number}a" if f"{number}b" in statements else f"{number}b"
            statements[other] = _with_clause(text) + _select(other)
        made |= sorted(statements.items())
    return made


def _with_clause(text: str) -> str:
    """Return ``text`` up to its last SELECT at the start of a line."""
    return text[: [found.start() for found in re.finditer("^SELECT", text, re.MULTILINE)][-1]]


def _select(name: str) -> str:
    return (Path(__file__).parent / "statements" / f"{name}.sql").read_text(encoding="utf-8")


def choose(text: str | None, scale: float) -> Sequence[Query]:
    """Return the statements that ``text`` selects (:func:`benchmarks.queries.choose`); all if it is empty.

    They are the same for every ``scale``.
    """
    names = queries.choose(text or "1-99", list(texts()))
    return [Query(name=name, sql=texts()[name], sink="collect") for name in names]

"""The published answers of the specification, which come with DuckDB's TPC-H extension.

They were made from the data of another generator, whose random texts (addresses, comments) differ from those of
``tpchgen-cli``, so those columns are not compared, and query 13, which filters by a comment, has no published answer
for our data.
"""

from __future__ import annotations

from functools import cache

from benchmarks.duckdb_extensions import connect
from benchmarks.oracle import Texts

SCALES = (0.01, 0.1, 1.0)
RANDOM_TEXTS = frozenset({"s_address", "s_comment", "c_address", "c_comment"})
NO_PUBLISHED_ANSWER = frozenset({"13"})


@cache
def answers(scale: float) -> dict[str, Texts]:
    """Return the rows of the published answer at ``scale`` by query number; empty for scales that have none."""
    if scale not in SCALES:
        return {}
    with connect("tpch") as connection:
        sql = "select query_nr, answer from tpch_answers() where scale_factor = ?"
        texts = {str(number): text for number, text in connection.execute(sql, [scale]).fetchall()}
    rows = {number: text.strip("\n").split("\n")[1:] for number, text in texts.items()}
    return {n: [line.split("|") for line in lines] for n, lines in rows.items() if n not in NO_PUBLISHED_ANSWER}

"""Tables with CHAR and VARCHAR columns: padding and comparisons are those of Spark, and the queries convert."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from pyspark.sql import SparkSession

from benchmarks.executions import Executions
from tests.support.compare import difference
from tests.support.sessions import run

_MAKE = """CREATE TABLE char_rows (id INT, c CHAR(5), v VARCHAR(5)) USING parquet
CREATE TABLE char_parts (id INT, v VARCHAR(3)) USING parquet PARTITIONED BY (c CHAR(4))
INSERT INTO char_rows VALUES (1, 'ab', 'ab'), (2, 'ab   ', 'ab   '), (3, NULL, NULL), (4, '', ''), (5, 'abcde', 'abcde'), (6, 'é', '日本')
INSERT INTO char_parts VALUES (1, 'x', 'ab'), (2, 'y', 'a'), (3, NULL, NULL)
CREATE TABLE char_others (c CHAR(3), v VARCHAR(3)) USING parquet"""  # noqa: E501

_QUERIES = """SELECT id, c, length(c), v, length(v), c || '|', v || '|', upper(c), rtrim(c) FROM char_rows
SELECT * FROM char_rows WHERE c = 'ab'
SELECT * FROM char_rows WHERE 'ab ' = c
SELECT * FROM char_rows WHERE v = 'ab'
SELECT * FROM char_rows WHERE c IN ('ab', 'abcde')
SELECT * FROM char_rows WHERE c > 'ab'
SELECT * FROM char_rows WHERE c IS NULL OR c LIKE 'ab%'
SELECT * FROM char_rows WHERE c = rpad('ab', 5, ' ')
SELECT id, c <=> 'ab', c = v, CAST(id AS CHAR(3)) || '|', CAST(v AS VARCHAR(9)) FROM char_rows
SELECT a.id, b.id FROM char_rows a JOIN char_rows b ON a.c = b.v
SELECT a.id, b.id FROM char_rows a JOIN char_parts b ON a.c = b.c
SELECT c, count(*), max(v) FROM char_rows GROUP BY c
SELECT id, row_number() OVER (PARTITION BY c ORDER BY id) FROM char_rows
SELECT id, c, length(c), v FROM char_parts
SELECT * FROM char_parts WHERE c = 'ab'
SELECT * FROM char_parts WHERE c IN ('a', 'zz')
SELECT c, length(c), v FROM char_others
SELECT * FROM char_others WHERE c = 'a'"""

#: Writes what another program may have written: strings that are too long, and none of UTF-8.
_OTHERS = """INSERT INTO char_others VALUES ('abcdef', 'abcdef'), ('a', ''), ('é😀', '日本語日'), ('', NULL),
    (NULL, 'x'), (CAST(X'ff41' AS STRING), CAST(X'80' AS STRING)), (CAST(X'ffff41ff' AS STRING), 'x')"""

_WRITTEN = """SELECT c, v FROM VALUES ('ab', 'ab'), ('', ''), ('abc   ', 'abc   '), ('é😀  ', 'é😀  '), (NULL, NULL),
    ('    ', '    '), (CAST(X'ff4141' AS STRING), CAST(X'ff41412020' AS STRING)) AS t(c, v)"""

#: The rows of VALUES are computed when the query runs, not while it is planned.
_COMPUTED = {
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
}

_SETTINGS: list[dict[str, str]] = [
    {},
    {"spark.sql.readSideCharPadding": "false"},
    {"spark.sql.legacy.charVarcharAsString": "true"},
    {"spark.sql.preserveCharVarcharTypeInfo": "true"},
]


@pytest.fixture(scope="module")
def session(spark: SparkSession, vanilla_only: bool) -> Iterator[SparkSession]:
    if vanilla_only:
        pytest.skip("needs the extension")
    for statement in _MAKE.splitlines():
        spark.sql(statement)
    with ExitStack() as stack:
        run(spark, _OTHERS, pipeline=False, settings={"spark.sql.legacy.charVarcharAsString": "true"})
        for name in ("char_rows", "char_parts", "char_others"):
            stack.callback(spark.sql, f"DROP TABLE {name}")
        yield spark


@pytest.mark.rotates
@pytest.mark.parametrize("settings", _SETTINGS, ids=lambda settings: "".join(settings) or "defaults")
def test_queries_equal_spark(session: SparkSession, settings: dict[str, str]) -> None:
    for query in _QUERIES.splitlines():
        expected, found = (run(session, query, pipeline=engine, settings=settings) for engine in (False, True))
        assert expected.rows is not None and found.rows is not None, found.message
        assert difference(expected.rows, found.rows) is None, query
        keeps_types = "spark.sql.preserveCharVarcharTypeInfo" in settings  # then columns of char may stay in Spark
        assert keeps_types or (found.conversion is not None and not found.conversion.reasons), query
    for name in ("char_rows", "char_parts", "char_others"):  # Spark caches tables with the types of these settings
        run(session, f"REFRESH TABLE {name}", pipeline=False, settings=settings)


@pytest.mark.parametrize("values", ["7, 'abcdef', 'x'", "8, 'x', 'abcdef'"])
def test_texts_that_are_too_long_are_rejected(session: SparkSession, values: str) -> None:
    for engine in (False, True):
        made = run(session, f"INSERT INTO char_rows SELECT {values} FROM char_parts", pipeline=engine)
        assert made.error is not None and made.error[1] == "EXCEED_LIMIT_LENGTH"


def test_written_strings_equal_spark(session: SparkSession, executions: Executions) -> None:
    rows = []
    for engine in (False, True):
        session.sql("CREATE TABLE char_new (c CHAR(3), v VARCHAR(3)) USING parquet")
        try:
            executions.take()
            made = run(session, f"INSERT INTO char_new {_WRITTEN}", pipeline=engine, settings=_COMPUTED)
            assert made.error is None, made.message
            report = executions.take()
            rows.append(session.sql("SELECT hex(c), hex(v) FROM char_new").collect())
        finally:
            session.sql("DROP TABLE char_new")
    assert report["converted"] == report["operators"] > 0, report
    assert difference(*rows) is None

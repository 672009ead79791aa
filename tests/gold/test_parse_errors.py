"""Messages of texts that a pattern does not parse: those of Java's DateTimeFormatter."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.sessions import run
from tests.support.tables import TableShelf

_LONG = "x" * 63
_TEXTS = {
    "yyyy-MM-dd": [
        "", " ", "2020", "2020-02-30", "2021-02-29", "2021-04-31", "2020-13-01", "2020-00-01", "2020-01-32",
        "2020-1-01", "2020-01-1", " 2020-01-01", "2020-01-01 ", "+2020-01-01", "+", "-", "-20-01-01", "-0000-01-01",
        "12345-01-01", "+1234567890-01-01", "2020-+1-01", "2020--1-01", "٢٠٢٠-01-01", "2020-01-01é", "é2020-01-01",
        "+12345678901234567890-01-01", "-9999999999999999999-01-01", "-123456789-02-29", _LONG, _LONG + "yz",
        _LONG + "é", _LONG + "😀", "+300000-01-01", "-300000-01-01", "+999999999-12-31",
        "+294247-01-10", "+294247-01-11", "-290308-12-21", "-290308-12-20",
    ],
    "yyyyMMdd": ["2020011", "202001011", "2020-01-01", "20201301", "+20200101", "+120200101", "0120200101", "20200230"],
    "ddMMyyyy": ["0101202", "01012020 ", "010120200", "31022020", "0101-2020", "1 012020"],
    "yyyy-MM": ["2020-13", "2020-00", "2020-1", "+1234567890-01"],
    "yyyy": ["+1234567890", "202"],
    "yyyy-MM HH": ["2020-13 24", "2020-13 23", "2020-12 24"],
    "HHmm yyyy-MM-dd": ["2460 2020-13-01", "2460 2020-12-01", "2400 2020-12-01", "0060 2020-12-01", "240 2020-01-01"],
    "yyyy-MM-dd'T'HH:mm:ss": [
        "2020-01-01 00:00:00", "2020-01-01T24:60:60", "2020-01-01T24:00:60", "2020-01-01t00:00:60", "2020-01-01T00:00",
    ],
    "yyyyMMddHHmmss": ["20200101000060", "2020010100000", "+12345678901234567890123456789", "202001010000000"],
    "yyyy'at'MM": ["2020ax01", "2020AT13"],
}  # fmt: skip


#: Instants outside the range of timestamps, which raise in both modes.
_OUTSIDE = {"+300000-01-01", "-300000-01-01", "+999999999-12-31", "+294247-01-11", "-290308-12-20"}


def _functions(pattern: str) -> tuple[str, ...]:
    return ("to_timestamp", "unix_timestamp") if pattern == "yyyy-MM-dd" else ("to_timestamp",)


def _compare(spark: SparkSession, function: str, text: str, pattern: str, rows: int, ansi: bool) -> None:
    """Compare the function of ``text``, an expression over the first ``rows`` rows of the table, on both engines."""
    settings = {"spark.sql.ansi.enabled": str(ansi).lower(), "spark.sql.session.timeZone": "Asia/Kathmandu"}
    quoted = pattern.replace("'", "\\'")
    query = f"SELECT id, CAST({function}({text}, '{quoted}') AS BIGINT) AS a FROM times WHERE id BETWEEN 1 AND {rows}"
    vanilla, pipeline = (run(spark, query, pipeline=on, settings=settings) for on in (False, True))
    assert pipeline.conversion is not None and not pipeline.conversion.reasons, query
    assert pipeline.error == vanilla.error and pipeline.rows == vanilla.rows, (query, pipeline, vanilla)
    if vanilla.error is not None:
        first = [outcome.message.split("SQLSTATE")[0] for outcome in (vanilla, pipeline)]
        assert first[0] == first[1] or all("long overflow" in message for message in first), first


@pytest.fixture(autouse=True)
def _times(tables: TableShelf, vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")
    tables.use(["times"])


@pytest.mark.rotates
@pytest.mark.parametrize("pattern", list(_TEXTS))
def test_errors_equal_spark(spark: SparkSession, pattern: str) -> None:
    for function in _functions(pattern):
        for text in _TEXTS[pattern]:
            _compare(spark, function, f"concat('{text}', left(CAST(id AS STRING), 0))", pattern, 1, True)


def test_texts_that_are_not_parsed_are_null_without_ansi(spark: SparkSession) -> None:
    for pattern, texts in _TEXTS.items():
        found = [text for text in texts if text not in _OUTSIDE]
        cases = " ".join(f"WHEN {row} THEN '{text}'" for row, text in enumerate(found, 1))
        for function in _functions(pattern):
            _compare(spark, function, f"CASE id {cases} END", pattern, len(found), False)


def test_instants_outside_the_range_raise_without_ansi(spark: SparkSession) -> None:
    for text in sorted(_OUTSIDE):
        _compare(spark, "to_timestamp", f"concat('{text}', left(CAST(id AS STRING), 0))", "yyyy-MM-dd", 1, False)

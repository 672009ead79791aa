"""Errors that Spark raises as Java does, without a condition."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.compare import difference
from tests.support.sessions import Outcome, run
from tests.support.tables import TableShelf

_START = "CAST(date_from_unix_date({days}) AS TIMESTAMP)"


def _assert_same(vanilla: Outcome, pipeline: Outcome, query: str) -> None:
    """Assert the same rows, or the same error of Java, which has only a message."""
    assert pipeline.error == vanilla.error, (query, pipeline.error, vanilla.error)
    if vanilla.rows is not None and pipeline.rows is not None:
        assert difference(vanilla.rows, pipeline.rows) is None, query
    else:
        assert "long overflow" in vanilla.message and "long overflow" in pipeline.message, query


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu"])
def test_date_out_of_the_range_of_timestamps_raises(
    spark: SparkSession, tables: TableShelf, vanilla_only: bool, ansi: str, zone: str
) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")
    tables.use(["times"])
    settings = {"spark.sql.ansi.enabled": ansi, "spark.sql.session.timeZone": zone}
    for days in ("106751991", "-106751990", "days", "106751993", "-106751993", "huge"):
        query = f"SELECT id, unix_micros({_START.format(days=f'tdays * 0 + {days}')}) AS x FROM times"
        vanilla, pipeline = (run(spark, query, pipeline=on, settings=settings) for on in (False, True))
        assert pipeline.conversion is not None and pipeline.conversion.converted > 0
        _assert_same(vanilla, pipeline, query)


_ENDS = ("9223372036854775807", "-9223372036854775807 - 1", "9223372016854775807", "-9223372016854775807")
_NEVER_RAISING = [
    *(f"{field}(x)" for field in ("hour", "minute", "second", "year", "dayofyear", "unix_timestamp", "date")),
    "extract(second FROM x)", "date_format(x, 'yyyy-MM-dd HH:mm:ss.SSS')", "x",
]  # fmt: skip
_MAY_RAISE = [
    *(f"{shift}_utc_timestamp(x, '{zone}')" for shift in ("from", "to") for zone in ("Asia/Kathmandu", "-03:00")),
    *(f"date_trunc('{unit}', x)" for unit in ("millisecond", "minute", "hour", "day", "year")),
    "CAST(x AS TIMESTAMP_NTZ)", "CAST(CAST(x AS TIMESTAMP_NTZ) AS TIMESTAMP)",
    "months_between(x, TIMESTAMP '2020-01-31 10:00:00') > 0",
    *(f"x {sign} INTERVAL '{interval}" for sign in "+-" for interval in ("36' HOUR", "1' DAY", "1' MONTH", "2' YEAR")),
    "TIMESTAMP '2020-01-01 00:00:00' + unix_micros(x) * INTERVAL '1' SECOND",
    "x - TIMESTAMP '2020-01-01 00:00:00' > INTERVAL '1' DAY", "timestampdiff(HOUR, x, TIMESTAMP '2020-01-01 00:00:00')",
]  # fmt: skip


@pytest.mark.rotates
@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "-03:00"])
def test_ends_of_the_range_of_timestamps_equal_spark(
    spark: SparkSession, tables: TableShelf, vanilla_only: bool, zone: str
) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")
    tables.use(["times"])
    settings = {"spark.sql.session.timeZone": zone}
    for end in _ENDS:
        for expressions in [_NEVER_RAISING, *([expression] for expression in _MAY_RAISE)]:
            columns = ", ".join(f"CAST({expression} AS STRING)" for expression in expressions)
            query = f"SELECT id, {columns} FROM (SELECT id, timestamp_micros(id * 0 + {end}) AS x FROM times)"
            vanilla, pipeline = (run(spark, query, pipeline=on, settings=settings) for on in (False, True))
            assert pipeline.conversion is not None and not pipeline.conversion.reasons, query
            _assert_same(vanilla, pipeline, query)

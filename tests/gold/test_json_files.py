"""Options of reads of JSON files, tables ``USING json``, damaged files, random lines: Spark's rows or condition."""

from __future__ import annotations

import gzip
import random
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.conversion import summary_of
from tests.support.file_reads import outcome_of_both
from tests.support.json_lines import OPTIONS, SCHEMAS, random_lines
from tests.support.sessions import ENABLED, configured

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]

_TEXT = (
    b'{"n":1,"v":"x"}\n\n {"n":"2","v":[1, 2.50],"w":"\\q"}\n[{"n":3},{"n":4,"v":{"a" : 1}}]\n[{"n":5},{"n":"x"}]\n'
    b"{'n':6,\"v\":'y'}\nnull\n{\"n\":07}\n{\"n\":8 /*c*/}\n{n:9,\"v\":\"\xff\"}\n{\"n\":10,\"v\":\"\x01\"}\n[]\n"
    b'{"N":11}\n{"n":12,"n":13}\n{"n":NaN}\nx\n{"n":14,"other":'
)
_SCHEMA = "n int, _corrupt_record string, v string, w string"


def _read(spark: SparkSession, folder: Path, options: Mapping[str, str], schema: str = _SCHEMA) -> DataFrame:
    return spark.read.schema(schema).options(**options).json(str(folder))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "dropMalformed"},
        {"MODE": "FAILFAST"},
        {"allowComments": "true", "allowSingleQuotes": "false"},
        {"allowUnquotedFieldNames": "true", "allowNumericLeadingZeros": "true"},
        {"allowBackslashEscapingAnyCharacter": "true", "allowUnquotedControlChars": "true"},
        {"allowNonNumericNumbers": "false"},
        {"columnNameOfCorruptRecord": "w"},
        {"columnNameOfCorruptRecord": "other"},
        {"encoding": "utf-8"},
        {"charset": "UTF-8", "lineSep": "\n"},
        {"lineSep": ","},
        {"samplingRatio": "0.5", "primitivesAsString": "true", "prefersDecimal": "true", "dropFieldIfAllNull": "true"},
    ],
    ids=str,
)
@pytest.mark.parametrize("columns", [["*"], ["v"], ["w", "n"], ["count(*)"]], ids=str)
def test_options_convert(
    spark: SparkSession, tmp_path: Path, options: Mapping[str, str], columns: list[str]
) -> None:
    (tmp_path / "a.json").write_bytes(_TEXT)
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(_TEXT.replace(b"\n", b"\r\n")))
    frame, _ = outcome_of_both(spark, lambda: _read(spark, tmp_path, options).selectExpr(*columns))
    assert not any("json" in reason.lower() for reason in summary_of(frame).reasons)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"multiLine": "true"}, "multiLine=true"),
        ({"lineSep": "ab"}, "lineSep=another separator"),
        ({"lineSep": "é"}, "lineSep=another separator"),
        ({"encoding": "ISO-8859-1", "lineSep": "\n"}, "encoding=ISO-8859-1"),
        ({"locale": "de-DE"}, "locale=de-DE"),
        ({"maxNumLen": "3"}, "maxNumLen=3"),
        ({"maxNestingDepth": "3"}, "maxNestingDepth=3"),
        ({"maxStringLen": "3"}, "maxStringLen=3"),
        ({"ignoreCorruptFiles": "true"}, "ignoreCorruptFiles=true"),
        ({"mapreduce.input.linerecordreader.line.maxlength": "3"}, "line.maxlength"),
        ({"dateFormat": "yyyy"}, "dateFormat=yyyy"),
        ({"timestampFormat": "yyyy"}, "timestampFormat=yyyy"),
        ({"timestampNTZFormat": "yyyy"}, "timestampNTZFormat=yyyy"),
        ({"timeZone": "Asia/Tokyo"}, "timeZone=Asia/Tokyo"),
        ({"enableDateTimeParsingFallback": "false"}, "enableDateTimeParsingFallback=false"),
    ],
    ids=str,
)
def test_options_that_stay_in_spark(
    spark: SparkSession, tmp_path: Path, options: Mapping[str, str], reason: str
) -> None:
    (tmp_path / "a.json").write_bytes(b'{"d":"2020-01-01","t":"2020-01-01","l":"2020-01-01"}\n')
    frame, _ = outcome_of_both(spark, lambda: _read(spark, tmp_path, options, "d date, t timestamp, l timestamp_ntz"))
    assert f"{reason}" in "".join(summary_of(frame).reasons)


def test_reads_that_stay_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(_TEXT)
    cases = {
        "mode=FAILFAST and a filter": lambda: _read(spark, tmp_path, {"mode": "FAILFAST"}).where("n > 1"),
        "a filter=that a malformed record may pass": lambda: _read(spark, tmp_path, {}).where("n IS NULL"),
        "the only column=_corrupt_record": lambda: _read(spark, tmp_path, {}).select("_corrupt_record"),
        "column b has type binary": lambda: _read(spark, tmp_path, {}, "b binary"),
        "column b has type array<binary>": lambda: _read(spark, tmp_path, {}, "b array<binary>"),
        "variant": lambda: _read(spark, tmp_path, {}, "b variant"),
    }
    for reason, query in cases.items():
        assert reason in "".join(summary_of(query()).reasons)
    settings = {
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
        "spark.sql.json.enablePartialResults": "false",
        "spark.sql.json.enableExactStringParsing": "false",
        "spark.sql.legacy.json.allowEmptyString.enabled": "true",
    }
    for name, value in settings.items():
        with configured(spark, {name: value}):
            assert f"{name}={value} is not supported" in "".join(
                summary_of(_read(spark, tmp_path, {}, "d date")).reasons
            )


def test_filters_need_no_push_down(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(_TEXT)
    with configured(spark, {"spark.sql.json.filterPushdown.enabled": "false"}):
        for options in ({}, {"mode": "FAILFAST"}):
            frame, _ = outcome_of_both(spark, partial(_where, spark, tmp_path, options, "n IS NULL"))
            assert summary_of(frame).reasons == ()


def _where(spark: SparkSession, folder: Path, options: Mapping[str, str], condition: str) -> DataFrame:
    return _read(spark, folder, options).where(condition)


@pytest.mark.parametrize(
    "condition",
    [
        "n > 1",
        "n = 12",
        "n = 13",
        "n <> 13 AND v IS NULL",
        "n < 100 AND _corrupt_record IS NOT NULL",
        "v LIKE '%1%'",
        "(n = 2 OR v = 'b') AND v < 'c'",
        "n IN (1, 2, 3) AND (v <> 'a' OR w = 'x')",
        "n = 1 OR w = 'x'",
        "_corrupt_record IS NULL",
        "_corrupt_record IS NULL AND n + 1 > 0",
    ],
)
def test_pushed_filters(spark: SparkSession, tmp_path: Path, condition: str) -> None:
    source = random.Random(condition)
    members = ['"n":1', '"n":2', '"n":null', '"n":"x"', '"v":"a"', '"v":"b"', '"v":{"a":1}', '"w":"x"', '"w":', '"z":1']
    lines = [f"{{{','.join(source.choices(members, k=source.randrange(5)))}}}" for _ in range(300)]
    (tmp_path / "a.json").write_bytes(_TEXT + "\n".join(lines).encode())
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        frame, _ = outcome_of_both(spark, partial(_where, spark, tmp_path, {"mode": mode}, condition))
        assert summary_of(frame).reasons == ()


def test_inferred_schema(spark: SparkSession, tmp_path: Path) -> None:
    lines = [
        b'{"A":1,"b":"2020-01-01","c":{"d":[1.5,null]}}',
        b'{"b":"2020-01-02 10:00:00","e":[{"f":1},{"g":"x"}]}',
        b'{"A":"x"',
    ]
    (tmp_path / "a.json").write_bytes(b"\n".join(lines))
    for options in ({}, {"primitivesAsString": "true"}, {"prefersDecimal": "true"}, {"inferTimestamp": "true"}):
        frame, _ = outcome_of_both(spark, lambda options=options: spark.read.options(**options).json(str(tmp_path)))
        assert summary_of(frame).reasons == ()


def test_columns_of_the_file(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(_TEXT)
    columns = ["n", "_metadata.file_name", "_metadata.file_size", "input_file_name()"]
    frame, _ = outcome_of_both(spark, lambda: _read(spark, tmp_path, {}).selectExpr(*columns))
    assert summary_of(frame).reasons == ()


def test_tables_in_partitions(spark: SparkSession, tmp_path: Path) -> None:
    with configured(spark, {ENABLED: "false"}):
        spark.sql(f"CREATE TABLE json_of_words (id INT, word STRING, price DECIMAL(8, 2), parts ARRAY<INT>, day DATE) "
                  f"USING json PARTITIONED BY (day) LOCATION '{tmp_path}'")  # fmt: skip
        spark.sql("INSERT INTO json_of_words SELECT id, concat('a\\n\"b', id), id / 7, array(id, NULL), "
                  "date_add('2024-01-01', id % 3) FROM (SELECT CAST(id AS INT) AS id FROM range(100))")  # fmt: skip
    try:
        query = (
            "SELECT day, count(*), sum(price), max(word), sum(parts[0]) FROM json_of_words WHERE day > '2024-01-01' "
            "GROUP BY day"
        )
        frame, found = outcome_of_both(spark, lambda: spark.sql(query))
        assert summary_of(frame).reasons == () and found and len(found) == 2
    finally:
        spark.sql("DROP TABLE json_of_words")


@pytest.mark.parametrize("sizes", [("1", "33"), ("7", "100")])
def test_splits_anywhere(spark: SparkSession, tmp_path: Path, sizes: tuple[str, ...]) -> None:
    lines = random_lines(random.Random(8), 60)
    (tmp_path / "a.json").write_bytes(b"\n".join(lines))
    (tmp_path / "b.json").write_bytes(b"\n\n\r\n" * 9 + b"\r\n".join(lines[::-1]))
    for size in sizes:
        with configured(spark, {"spark.sql.files.maxPartitionBytes": size, "spark.sql.files.openCostInBytes": "0"}):
            outcome_of_both(spark, lambda: _read(spark, tmp_path, {}, SCHEMAS[0]))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_random_lines(spark: SparkSession, tmp_path: Path, schema: str) -> None:
    (tmp_path / "a.json").write_bytes(b"\n".join(random_lines(random.Random(schema), 300)))
    for options in OPTIONS:
        frame, _ = outcome_of_both(spark, partial(_read, spark, tmp_path, options, schema))
        assert summary_of(frame).reasons == ()


def test_long_lines_of_an_encoding(spark: SparkSession, tmp_path: Path) -> None:
    """How much Spark reads before wrong bytes depends on its thread: a long VARIANT leaves it a larger buffer."""
    assert spark._jvm is not None
    spark._jvm.com.fasterxml.jackson.core.util.BufferRecyclers.releaseBuffers()
    ends = (b"\xff", b"\xff" + b" " * 9000, b"\xc3")
    lines = [b'{"a":1}' + b" " * size + end for size in (10, 3991, 3995, 8186, 12300) for end in ends]
    lines += [b'{"a":1}' + "日".encode() * count + b"\xff " for count in (2000, 2728, 2729, 4100)]
    lines += [b'{"a":"' + "😀".encode() * count + b'"}\xff' for count in (1990, 1996, 2060, 4100)]
    lines += [b'{"a":"' + b"x" * count + b'\xff","b":1}' for count in (10, 4100, 8200)]
    (tmp_path / "a.json").write_bytes(b"\n".join(lines))
    for options in ({}, {"encoding": "UTF-8"}):
        outcome_of_both(spark, partial(_read, spark, tmp_path, options, "a string, b int, _corrupt_record string"))


@pytest.mark.parametrize("data", [gzip.compress(_TEXT)[:-3], _TEXT], ids=["cut", "plain"])
def test_damaged_gzip_raises_the_condition_of_spark(spark: SparkSession, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.gz").write_bytes(data)
    frame, found = outcome_of_both(spark, lambda: _read(spark, tmp_path, {}))
    assert found == "FAILED_READ_FILE.NO_HINT" and summary_of(frame).reasons == ()


def test_first_rows_of_a_file_whose_later_lines_are_malformed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"n":1,"v":"a"}\n' * 10 + b'{"n":"x"}\n')

    def query(rows: int, column: str) -> DataFrame:
        return _read(spark, tmp_path, {"mode": "FAILFAST"}, "n int, v string").select(column).limit(rows)

    for rows, column in ((3, "n"), (20, "n"), (3, "v")):
        outcome_of_both(spark, partial(query, rows, column))

"""Options of reads of CSV files, tables ``USING csv``, damaged files: Spark's rows or condition, or a reason."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.conversion import summary_of
from tests.support.csv_tables import LINES
from tests.support.file_reads import outcome_of_both
from tests.support.sessions import ENABLED, configured

pytestmark = [pytest.mark.usefixtures("extension"), pytest.mark.rotates]

_TEXT = b'h,i,j\n#c,1,x\n 1 ,"a""b" , \n2,"c\\"d",\n"3",e,f,g\n\n4\nNA,"NA",""\n5;6;7\n"x",y z,"z" w\n'
_SCHEMA = "n int, _corrupt_record string, v string, w string"


def _read(spark: SparkSession, folder: Path, options: Mapping[str, str], schema: str = _SCHEMA) -> DataFrame:
    return spark.read.schema(schema).options(**options).csv(str(folder))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"header": "true"},
        {"HEADER": "TRUE", "enforceSchema": "true", "mode": "dropMalformed"},
        {"mode": "FAILFAST"},
        {"sep": ";"},
        {"delimiter": "\\t"},
        {"sep": " ", "quote": ""},
        {"quote": "'", "escape": "x"},
        {"escape": '"'},
        {"escape": ""},
        {"comment": "#"},
        {"comment": "2", "header": "true"},
        {"nullValue": "NA"},
        {"emptyValue": "none"},
        {"nullValue": "e", "emptyValue": "é"},
        {"ignoreLeadingWhiteSpace": "true"},
        {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"},
        {"columnNameOfCorruptRecord": "w"},
        {"columnNameOfCorruptRecord": "other"},
        {"encoding": "utf-8"},
        {"columnPruning": "false"},
        {"preferDate": "false", "samplingRatio": "0.5"},
    ],
    ids=str,
)
@pytest.mark.parametrize("columns", [["*"], ["v"], ["w", "n"], ["count(*)"]], ids=str)
def test_options_convert(
    spark: SparkSession, tmp_path: Path, options: Mapping[str, str], columns: list[str]
) -> None:
    (tmp_path / "a.csv").write_bytes(_TEXT)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(_TEXT.replace(b"\n", b"\r\n")))
    frame, _ = outcome_of_both(spark, lambda: _read(spark, tmp_path, options).selectExpr(*columns))
    assert not any("csv" in reason.lower() for reason in summary_of(frame).reasons)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"multiLine": "true"}, "multiLine=true"),
        ({"lineSep": "\n"}, "lineSep=a separator"),
        ({"sep": "ab"}, "sep=ab"),
        ({"sep": "é"}, "sep=é"),
        ({"sep": '"'}, 'sep="'),
        ({"quote": "é"}, "quote=é"),
        ({"escape": "é"}, "escape=é"),
        ({"comment": "é"}, "comment=é"),
        ({"charToEscapeQuoteEscaping": "#"}, "charToEscapeQuoteEscaping=#"),
        ({"unescapedQuoteHandling": "SKIP_VALUE"}, "unescapedQuoteHandling=SKIP_VALUE"),
        ({"encoding": "ISO-8859-1"}, "encoding=ISO-8859-1"),
        ({"maxColumns": "10"}, "maxColumns=10"),
        ({"maxCharsPerColumn": "100"}, "maxCharsPerColumn=100"),
        ({"inputBufferSize": "100"}, "inputBufferSize=100"),
        ({"locale": "de-DE"}, "locale=de-DE"),
        ({"header": "true", "enforceSchema": "false"}, "enforceSchema=false"),
        ({"ignoreTrailingWhiteSpace": "true"}, "ignoreTrailingWhiteSpace=true without ignoreLeadingWhiteSpace"),
        ({"ignoreLeadingWhiteSpace": "true", "emptyValue": "x"}, "emptyValue=x and ignoreLeadingWhiteSpace"),
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
    (tmp_path / "a.csv").write_bytes(b"2020-01-01,2020-01-01,2020-01-01\n")
    frame, _ = outcome_of_both(spark, lambda: _read(spark, tmp_path, options, "d date, t timestamp, l timestamp_ntz"))
    assert f"{reason} is not supported" in "".join(summary_of(frame).reasons)


def test_reads_that_stay_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(_TEXT)
    cases = {
        "mode=FAILFAST and a filter": lambda: _read(spark, tmp_path, {"mode": "FAILFAST"}).where("n > 1"),
        "the only column=_corrupt_record": lambda: _read(spark, tmp_path, {}).select("_corrupt_record"),
        "column b has type binary": lambda: _read(spark, tmp_path, {}, "b binary"),
    }
    for reason, query in cases.items():
        assert reason in "".join(summary_of(query()).reasons)
    with configured(spark, {"spark.sql.legacy.timeParserPolicy": "LEGACY"}):
        frame = _read(spark, tmp_path, {}, "d date")
        assert "spark.sql.legacy.timeParserPolicy=LEGACY is not supported" in "".join(summary_of(frame).reasons)


def test_inferred_schema(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"A,b,c,c\n1,2020-01-01,x,1.5\n2,2020-01-02 10:00:00,,\n")
    options = {"header": "true", "inferSchema": "true"}
    frame, _ = outcome_of_both(spark, lambda: spark.read.options(**options).csv(str(tmp_path)))
    assert summary_of(frame).reasons == ()


def test_tables_in_partitions(spark: SparkSession, tmp_path: Path) -> None:
    with configured(spark, {ENABLED: "false"}):
        spark.sql(f"CREATE TABLE csv_of_words (id INT, word STRING, price DECIMAL(8, 2), day DATE) USING csv "
                  f"OPTIONS (header 'true', sep '|') PARTITIONED BY (day) LOCATION '{tmp_path}'")  # fmt: skip
        spark.sql("INSERT INTO csv_of_words SELECT id, concat('a|\"b', id), id / 7, date_add('2024-01-01', id % 3) "
                  "FROM (SELECT CAST(id AS INT) AS id FROM range(100))")  # fmt: skip
    try:
        query = "SELECT day, count(*), sum(price), max(word) FROM csv_of_words WHERE day > '2024-01-01' GROUP BY day"
        frame, found = outcome_of_both(spark, lambda: spark.sql(query))
        assert summary_of(frame).reasons == () and found and len(found) == 2
    finally:
        spark.sql("DROP TABLE csv_of_words")


@pytest.mark.parametrize(("header", "sizes"), [("true", ("1", "33")), ("false", ("7", "33"))])
def test_splits_anywhere(spark: SparkSession, tmp_path: Path, header: str, sizes: tuple[str, ...]) -> None:
    (tmp_path / "a.csv").write_bytes(b"\n".join(LINES))
    (tmp_path / "b.csv").write_bytes(b"\n\n #x\n#y\n" * 9 + b"a,b,c\n" + b"1,2,3\n" * 20)
    options = {"header": header, "comment": "#"}
    for size in sizes:
        with configured(spark, {"spark.sql.files.maxPartitionBytes": size, "spark.sql.files.openCostInBytes": "0"}):
            outcome_of_both(spark, lambda: _read(spark, tmp_path, options, "a string, b string, c string"))


def test_line_of_too_many_fields_raises_the_condition_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    for count, columns in ((20479, ["n"]), (20480, ["n"]), (20480, ["*"])):
        (tmp_path / "a.csv").write_bytes(b"1,a\n" + b"," * count)
        frame, found = outcome_of_both(spark, lambda columns=columns: _read(spark, tmp_path, {}).select(*columns))
        assert summary_of(frame).reasons == () and (found == "FAILED_READ_FILE.NO_HINT") == (count > 20479)


@pytest.mark.parametrize("data", [gzip.compress(_TEXT)[:-3], _TEXT], ids=["cut", "plain"])
def test_damaged_gzip_raises_the_condition_of_spark(spark: SparkSession, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.gz").write_bytes(data)
    frame, found = outcome_of_both(spark, lambda: _read(spark, tmp_path, {}))
    assert found == "FAILED_READ_FILE.NO_HINT" and summary_of(frame).reasons == ()


def test_first_rows_of_a_file_whose_later_lines_are_malformed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"1,a\n" * 10 + b"x\n")

    def query(rows: int, column: str) -> DataFrame:
        return _read(spark, tmp_path, {"mode": "FAILFAST"}, "n int, v string").select(column).limit(rows)

    for rows, column in ((3, "n"), (20, "n"), (3, "v")):
        outcome_of_both(spark, partial(query, rows, column))

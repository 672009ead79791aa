"""Options of reads of text files, damaged and missing files: Spark's rows or condition, or a reason while planning."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.conversion import summary_of
from tests.support.file_reads import outcome_of_both

pytestmark = pytest.mark.usefixtures("extension")

_TEXT = b"a|b\r\nc,\xc3\xa9|\n\rd"
_GZIP = gzip.compress(_TEXT)


def _read(spark: SparkSession, folder: Path, options: Mapping[str, str]) -> DataFrame:
    return spark.read.format("text").options(**options).load(str(folder)).selectExpr("hex(value)")


@pytest.mark.parametrize(
    "options",
    [{}, {"lineSep": "|"}, {"LINESEP": "\n"}, {"lineSep": "\r"}, {"encoding": "UTF-16"}, {"wholetext": "false"}],
    ids=str,
)
def test_options_convert(spark: SparkSession, tmp_path: Path, options: Mapping[str, str]) -> None:
    (tmp_path / "a.txt").write_bytes(_TEXT)
    (tmp_path / "b.gz").write_bytes(_GZIP)
    frame, _ = outcome_of_both(spark, lambda: _read(spark, tmp_path, options))
    assert summary_of(frame).reasons == ()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"wholetext": "true"}, "wholetext=true is not supported"),
        ({"lineSep": "\r\n"}, "another lineSep than one ASCII character"),
        ({"lineSep": "é"}, "another lineSep than one ASCII character"),
        ({"lineSep": "|", "encoding": "UTF-8"}, "another lineSep than one ASCII character"),
        ({"mapreduce.input.linerecordreader.line.maxlength": "3"}, "line.maxlength is not supported"),
        ({"ignoreCorruptFiles": "true"}, "ignoreCorruptFiles=true is not supported"),
    ],
    ids=str,
)
def test_options_that_stay_in_spark(
    spark: SparkSession, tmp_path: Path, options: Mapping[str, str], reason: str
) -> None:
    (tmp_path / "a.txt").write_bytes(_TEXT)
    frame, _ = outcome_of_both(spark, lambda: _read(spark, tmp_path, options))
    assert reason in "".join(summary_of(frame).reasons)


@pytest.mark.parametrize("name", ["a.bz2", "a.deflate", "a.txt.GZ", "a.tar.gz", "a.zip"])
def test_files_that_stay_in_spark(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(bz2.compress(_TEXT) if name.endswith("bz2") else _TEXT)
    frame = _read(spark, tmp_path, {})
    assert f"the compression of {name} is not supported" in "".join(summary_of(frame).reasons)


@pytest.mark.parametrize(
    "data",
    [_GZIP + b"\0" * 20, _GZIP + b"more", _GZIP[:-3], _GZIP[:15], _GZIP[:-8] + bytes(8), _TEXT],
    ids=["zeros", "trailer", "no size", "cut", "checksum", "plain"],
)
def test_damaged_gzip_raises_the_condition_of_spark(spark: SparkSession, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.gz").write_bytes(data)
    frame, found = outcome_of_both(spark, lambda: _read(spark, tmp_path, {}))
    assert found == "FAILED_READ_FILE.NO_HINT" and summary_of(frame).reasons == ()


def test_missing_file_raises_the_condition_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    def query() -> DataFrame:
        (tmp_path / "a.txt").write_bytes(_TEXT)
        frame = _read(spark, tmp_path, {})
        (tmp_path / "a.txt").unlink()
        return frame

    _, found = outcome_of_both(spark, query)
    assert found == "FAILED_READ_FILE.FILE_NOT_EXIST"

"""Unreadable files: Spark's condition and parameters, the file as an encoded URI; encrypted files."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from pyspark_pipeline.operators.scan.formats import RequiredSetting, file_format
from tests.support.conversion import summary_of
from tests.support.sessions import ENABLED, configured

_NAME = "a b%c é.parquet"
_FACTORY = "parquet.crypto.factory.class"
_DATA = pa.table({"k": [1, 2, 3], "S": ["a", "b", "c"], "d": [1.5, 2.5, None], "st": [{"x": 1}] * 3})


@pytest.fixture(autouse=True)
def _engine(vanilla_only: bool) -> None:
    if vanilla_only:
        pytest.skip("needs the extension")


class _Keys(pe.KmsClient):  # type: ignore[misc]
    """Wraps keys by prefixing them with the name of the master key."""

    def __init__(self, _config: Any) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return base64.b64encode(master_key_identifier.encode() + key_bytes)

    def unwrap_key(self, wrapped_key: str, master_key_identifier: str) -> bytes:
        return base64.b64decode(wrapped_key)[len(master_key_identifier) :]


def _encrypt(path: Path, **how: Any) -> None:
    factory = pe.CryptoFactory(_Keys)
    properties = factory.file_encryption_properties(
        pe.KmsConnectionConfig(), pe.EncryptionConfiguration(footer_key="footer", **how)
    )
    data = _DATA.select(["k", "S"])
    with pq.ParquetWriter(path, data.schema, encryption_properties=properties) as writer:
        for start in range(3):
            writer.write_table(data.slice(start, 1))


def _error(frame: DataFrame) -> tuple[str, str, dict[str, str]]:
    with pytest.raises(Py4JJavaError) as caught:
        frame.collect()
    error = caught.value.java_exception
    while error.getCause() is not None and "FAILED_READ_FILE" not in str(error.getMessage()):
        error = error.getCause()
    return error.getClass().getSimpleName(), error.getCondition(), dict(error.getMessageParameters())


def _both(spark: SparkSession, make: Callable[[], DataFrame], take: Callable[[DataFrame], Any]) -> Iterator[Any]:
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine}):
            frame = make()
            yield take(frame)
    assert summary_of(frame).converted > 0


def _plain(path: Path) -> None:
    pq.write_table(_DATA, path)


def _not_parquet(path: Path) -> None:
    path.write_bytes(b"PAR1 this is no footer PAR1")


def _planned_before(spark: SparkSession, path: Path, schema: str, write: Callable[[Path], None]) -> DataFrame:
    """Return a query over a readable file, which ``write`` replaces once the query is planned."""
    _plain(path)
    frame = spark.read.schema(schema).parquet(str(path.parent)).where(f"{schema.split()[0]} IS NOT NULL")
    write(path)
    return frame


@pytest.mark.parametrize(
    ("write", "schema", "condition"),
    [
        (_plain, "s int", "PARQUET_COLUMN_DATA_TYPE_MISMATCH"),
        (_plain, "D decimal(10,2)", "PARQUET_COLUMN_DATA_TYPE_MISMATCH"),
        (_plain, "st string", "NO_HINT"),
        (_not_parquet, "k bigint", "NO_HINT"),
        (Path.unlink, "k bigint", "FILE_NOT_EXIST"),
        (lambda path: _encrypt(path, column_keys={"column": ["S"]}), "k bigint", "NO_HINT"),
        (lambda path: _encrypt(path, uniform_encryption=True), "k bigint", "NO_HINT"),
        (lambda path: _encrypt(path, column_keys={"column": ["S"]}, plaintext_footer=True), "s string", "NO_HINT"),
    ],
    ids=["string", "double", "struct", "not parquet", "missing", "footer", "uniform", "columns"],
)
def test_unreadable_file_raises_spark_error(
    spark: SparkSession, tmp_path: Path, write: Callable[[Path], None], schema: str, condition: str
) -> None:
    expected, made = _both(spark, lambda: _planned_before(spark, tmp_path / _NAME, schema, write), _error)
    assert made == expected
    assert made[1] == f"FAILED_READ_FILE.{condition}"
    assert made[2]["path"] == f"file://{tmp_path}/a%20b%25c%20é.parquet"


def _short(path: Path) -> None:
    path.write_bytes(b"PAR1")


def _of_the_wrong_magic(path: Path) -> None:
    path.write_bytes(b"PAR1" + bytes(400))


def _footer_of_no_thrift(path: Path) -> None:
    path.write_bytes(b"PAR1" + b"\xff" * 40 + b"\x10\x00\x00\x00PAR1")


def _equal_but_for_case(path: Path) -> None:
    data = pa.table([pa.array([1]), pa.array(["x"]), pa.array([2.5])], names=["S", "k", "s"])
    pq.write_table(data, path)


@pytest.mark.parametrize(
    ("write", "schema", "cause"),
    [
        (_plain, "s int", "column: [S], physicalType: BINARY, logicalType: int"),
        (_not_parquet, "k bigint", "corrupted file: the footer index is not within the file"),
        (_short, "k bigint", "is not a Parquet file (length is too low: 4)"),
        (_of_the_wrong_magic, "k bigint", "Expected magic number at tail, but found [0, 0, 0, 0]"),
        (_footer_of_no_thrift, "k bigint", "don't know what type: 15"),
        (Path.unlink, "k bigint", "a b%c é.parquet does not exist"),
        (lambda path: _encrypt(path, uniform_encryption=True), "k bigint", "encrypted footer. No keys available"),
        (_equal_but_for_case, "k string, s double", 'Found duplicate field(s) "s": [S, s] in case-insensitive mode.'),
        (_equal_but_for_case, "S string", 'Found duplicate field(s) "S": [S, s] in case-insensitive mode.'),
    ],
    ids=["type", "length", "short", "magic", "thrift", "missing", "encrypted", "case", "upper case"],
)
def test_cause_of_an_unreadable_file_equals_spark(
    spark: SparkSession, tmp_path: Path, write: Callable[[Path], None], schema: str, cause: str
) -> None:
    expected, made = _both(spark, lambda: _planned_before(spark, tmp_path / _NAME, schema, write), _causes)
    assert made == expected
    assert cause in made[1][1]


def _causes(frame: DataFrame) -> list[tuple[str, str]]:
    """Return the class and the message of the error and of its causes."""
    with pytest.raises(Py4JJavaError) as caught:
        frame.collect()
    error, found = caught.value.java_exception, []
    while error is not None:
        found.append((error.getClass().getName(), error.getMessage()))
        error = error.getCause()
    return found


def test_columns_equal_but_for_case_are_read_if_others_are_asked_for_or_case_counts(
    spark: SparkSession, tmp_path: Path
) -> None:
    _equal_but_for_case(tmp_path / _NAME)
    for schema, is_case_sensitive, rows in (
        ("k string", "false", [("x",)]),
        ("S bigint, k string", "true", [(1, "x")]),
        ("s double, k string", "true", [(2.5, "x")]),
    ):
        reader = spark.read.schema(schema)
        with configured(spark, {"spark.sql.caseSensitive": is_case_sensitive}):
            expected, made = _both(spark, lambda: reader.parquet(str(tmp_path)).where("k > 'a'"), DataFrame.collect)  # noqa: B023
        assert made == expected and [tuple(row) for row in made] == rows


def test_unencrypted_columns_are_read_without_keys(spark: SparkSession, tmp_path: Path) -> None:
    _encrypt(tmp_path / _NAME, column_keys={"column": ["S"]}, plaintext_footer=True)
    reader = spark.read.schema("k bigint")
    both = _both(spark, lambda: reader.parquet(str(tmp_path)).where("k > 1"), DataFrame.collect)
    expected, made = (sorted(rows) for rows in both)
    assert made == expected and [row.k for row in made] == [2, 3]


_SPLIT = {
    "f": pa.array([1.5, None, 2.5], pa.float32()), "d": pa.array([1.5, None, 2.5]),
    "i": pa.array([1, None, 2], pa.int32()), "n": pa.array([1, None, 2]),
    "fixed": pa.array([b"ab", None, b"cd"], pa.binary(2)),
}  # fmt: skip


@pytest.mark.parametrize(
    "schema",
    ["f float", "f double", "d double", "i int", "i bigint", "n bigint", "f string", "fixed binary", "plain int"],
)
def test_pages_of_split_bytes_are_read_by_both_or_by_neither(spark: SparkSession, tmp_path: Path, schema: str) -> None:
    """Spark 4.1 refuses BYTE_STREAM_SPLIT, Spark 4.3 reads it."""
    encodings = dict.fromkeys(_SPLIT, "BYTE_STREAM_SPLIT")
    data = pa.table({**_SPLIT, "plain": _SPLIT["i"]})
    pq.write_table(data, tmp_path / _NAME, use_dictionary=False, column_encoding={**encodings, "plain": "PLAIN"})
    name = schema.split()[0]
    reader = spark.read.schema(schema)
    expected, made = _both(spark, lambda: reader.parquet(str(tmp_path)).where(f"{name} IS NOT NULL"), _outcome)
    assert made == expected
    assert name != "plain" or [row.plain for row in made] == [1, 2]


def _outcome(frame: DataFrame) -> Any:
    """Return the rows, or the error."""
    try:
        return frame.collect()
    except Py4JJavaError:
        return _error(frame)


@pytest.mark.parametrize("is_case_sensitive", ["true", "false"])
def test_columns_of_one_name_are_read_by_both_or_by_neither(
    spark: SparkSession, tmp_path: Path, is_case_sensitive: str
) -> None:
    """Spark reads the first of several columns of one name and type if case counts; of several types it may crash."""
    data = pa.table(
        [pa.array([1, 2, None]), pa.array([10, None, 30]), pa.array(["x", "y", "x"])], names=["k", "k", "s"]
    )
    pq.write_table(data, tmp_path / _NAME)
    for schema, condition in (("k bigint", "k > 1"), ("k bigint, s string", "k IS NULL"), ("k string", "k = 'x'")):
        reader = spark.read.schema(schema)
        with configured(spark, {"spark.sql.caseSensitive": is_case_sensitive}):
            expected, made = _both(spark, lambda: reader.parquet(str(tmp_path)).where(condition), _outcome)  # noqa: B023
        assert made == expected


def test_arrow_schema_that_is_damaged_is_ignored(spark: SparkSession, tmp_path: Path) -> None:
    prices = pa.array([Decimal("1.25"), Decimal("-2.50")], pa.decimal128(9, 2))
    data = pa.table({"k": [1, None], "s": ["a", "b"], "n": prices})
    pq.write_table(data, tmp_path / _NAME, store_decimal_as_integer=True)
    content = (tmp_path / _NAME).read_bytes()
    at = content.index(b"ARROW:schema") + 30
    (tmp_path / _NAME).write_bytes(content[:at] + b"!!!!" + content[at + 4 :])
    for kind in ("decimal(9,2)", "bigint", "decimal(12,3)"):
        reader = spark.read.schema(f"k bigint, s string, n {kind}")
        expected, made = _both(spark, lambda: reader.parquet(str(tmp_path)).where("s >= 'a'"), DataFrame.collect)  # noqa: B023
        assert made == expected and len(made) == 2


@pytest.mark.parametrize("where", ["option", "session", "hadoop"])
def test_scan_with_encryption_keys_stays_in_spark(spark: SparkSession, tmp_path: Path, where: str) -> None:
    """The factory class does not exist; the test only checks that the plan is declined."""
    _plain(tmp_path / _NAME)
    factory = "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory"
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[attr-defined]
    reader = spark.read.schema("k bigint")
    if where == "option":
        reader = reader.option(_FACTORY, factory)
    elif where == "hadoop":
        hadoop.set(_FACTORY, factory)
    try:
        with configured(spark, {ENABLED: "true", **({_FACTORY: factory} if where == "session" else {})}):
            frame = reader.parquet(str(tmp_path)).where("k > 1").select("k")
            assert [row.k for row in frame.collect()] == [2, 3]
            assert any("Parquet encryption" in reason for reason in summary_of(frame).reasons)
    finally:
        hadoop.unset(_FACTORY)


_GENERAL = [
    RequiredSetting(conf=f"spark.sql.files.{option}", option=option, value="false")
    for option in ("ignoreCorruptFiles", "ignoreMissingFiles")
]


@pytest.mark.parametrize(
    "setting", [*_GENERAL, *file_format("parquet").settings], ids=lambda setting: setting.conf.split(".", 2)[2]
)
def test_scan_stays_in_spark_under_settings_that_its_reader_refuses(
    spark: SparkSession, tmp_path: Path, setting: RequiredSetting
) -> None:
    _plain(tmp_path / _NAME)
    other = {"true": "false", "false": "true", "CORRECTED": "LEGACY"}[setting.value]

    def reasons(options: Mapping[str, str], **conf: str) -> list[str]:
        with configured(spark, {ENABLED: "true", **conf}):
            reader = spark.read.schema("k bigint").options(**options)
            frame = reader.parquet(str(tmp_path)).where("k > 1")
            assert len(frame.collect()) == 2
            return [reason for reason in summary_of(frame).reasons if "Parquet read with" in reason]

    name = setting.option or setting.conf
    (reason,) = reasons({}, **{setting.conf: other})
    assert f"Parquet read with {name}={other} is not supported" in reason
    assert reasons({}, **{setting.conf: setting.value.lower()}) == []
    if setting.option:
        (reason,) = reasons({setting.option.upper(): other})
        assert f"{name}={other}" in reason
        assert reasons({setting.option: setting.value}, **{setting.conf: other}) == []

"""Files whose types differ from the schema: the worker reads the same type pairs as Spark's vectorized reader.

The oracle of the readable pairs is Spark's own ``ParquetVectorUpdaterFactory``, queried for every column and type; the
oracle of the values is vanilla Spark.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.operators.scan.parquet.file import ParquetFileReader
from pyspark_pipeline.operators.scan.parquet.types import spark_reads, stored_type
from pyspark_pipeline.plan.expr import Call, ColumnRef, Literal
from pyspark_pipeline.plan.nodes import Field, ScanSplit
from tests.support import values as v
from tests.support.compare import difference
from tests.support.conversion import summary_of
from tests.support.sessions import ENABLED, configured, spark_minor

WANTED = (
    "void", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date",
    "timestamp", "timestamp_ntz", "decimal(7,2)", "decimal(9,0)", "decimal(10,0)", "decimal(12,2)", "decimal(18,4)",
    "decimal(20,0)", "decimal(22,2)", "decimal(25,0)", "decimal(38,10)", "interval day to second",
    "interval year to month", "time(6)", "time(3)",
)  # fmt: skip

#: Python has no dates after the year 9999 nor intervals of months, and cannot decode all bytes as text.
_SHOWN = {
    "date": "unix_date({})",
    "string": "CAST({} AS BINARY)",
    **dict.fromkeys(("time(6)", "time(3)"), "xxhash64({})"),
    "interval year to month": "struct(extract(YEAR FROM {0}), extract(MONTH FROM {0}))",
}

_ODD = """message odd {
    optional binary dec_bytes (DECIMAL(12,2));
    optional binary dec_wide_bytes (DECIMAL(30,4));
    optional binary enum (ENUM);
    optional binary json (JSON);
    optional binary bson (BSON);
    optional binary bare;
    optional fixed_len_byte_array(12) gap (INTERVAL);
    optional fixed_len_byte_array(4) bare_fixed;
}"""
#: Spark's reader fails with a NullPointerException on BINARY decimals that it stores as integers.
_SPARK_FAILS = {("dec_bytes", wanted) for wanted in ("decimal(7,2)", "decimal(12,2)", "decimal(18,4)")}
_UNSCALED = (b"\x01", b"\xff", b"\x00\x00\x7f\xff", b"\xff\xff\xfe", b"\x00")
_START = datetime.datetime(2024, 2, 29, 23, 59, 59, 987654)


def _plain_columns() -> dict[str, pa.Array]:
    numbers = [0, 1, -1, 127, -128, None]
    bigger = [0, 1, 2, 40_000, 255, None]
    stamps = [_START, datetime.datetime(1969, 12, 31, 23, 0), datetime.datetime(1970, 1, 1), _START, _START, None]
    return {
        "b": pa.array([True, False, True, True, False, None]),
        "i8": pa.array(numbers, pa.int8()),
        "i16": pa.array([0, 1, -1, 32767, -32768, None], pa.int16()),
        "i32": pa.array([0, 129, -1, 2**31 - 1, -(2**31), None], pa.int32()),
        "day_number": pa.array([0, 129, -1, 70_000, 19_000, None], pa.int32()),
        "i64": pa.array([0, 300, -1, 2**63 - 1, -(2**63), None], pa.int64()),
        "u8": pa.array([0, 1, 2, 200, 255, None], pa.uint8()),
        "u16": pa.array([*bigger[:3], 65_535, 255, None], pa.uint16()),
        "u32": pa.array([*bigger[:3], 2**32 - 1, 2**31, None], pa.uint32()),
        "u64": pa.array([*bigger[:3], 2**64 - 1, 2**63, None], pa.uint64()),
        "f": pa.array([0.0, -0.0, 1.5, float("nan"), float("-inf"), None], pa.float32()),
        "d": pa.array([0.0, -0.0, 1.5, float("nan"), float("inf"), None], pa.float64()),
        "half": pa.array([0.0, -0.0, 1.5, 2.5, -3.0, None], pa.float16()),
        "s": pa.array(["", "a", "é", "zz", "a", None]),
        "category": pa.array(["x", "y", "x", "y", "x", None]).dictionary_encode(),
        "large": pa.array(["", "a", "é", "zz", "a", None], pa.large_string()),
        "bin": pa.array([b"", b"\x00", b"\xff\xfe", b"a", b"b", None]),
        "fixed": pa.array([b"abc", b"\x00\xff\x00", b"abc", b"xyz", b"   ", None], pa.binary(3)),
        "uuid": pa.array([bytes([i]) * 16 for i in range(5)] + [None], pa.uuid()),
        "nothing": pa.nulls(6),
        "day": pa.array([0, 1, -1, 19_000, -25_000, None], pa.int32()).cast(pa.date32()),
        "clock_ms": pa.array([0, 1, 2, 86_399_999, 1000, None], pa.time32("ms")),
        "clock_us": pa.array([0, 1, 2, 86_399_999_999, 1000, None], pa.time64("us")),
        "clock_ns": pa.array([0, 1, 2, 86_399_999_999_999, 1000, None], pa.time64("ns")),
        "span": pa.array([0, 1, -2, 2**40, 1000, None], pa.duration("us")),
        "local_ms": pa.array(stamps, pa.timestamp("us")).cast(pa.timestamp("ms"), safe=False),
        "local_us": pa.array(stamps, pa.timestamp("us")),
        "local_ns": pa.array(stamps, pa.timestamp("ns")),
        "instant_ms": pa.array([-1, 0, 1, 10**12 + 1, -(10**12), None], pa.timestamp("ms", "UTC")),
        "instant_us": pa.array(stamps, pa.timestamp("us", "Asia/Tokyo")),
        **{f"n{digits}_{scale}": _decimals(digits, scale) for digits, scale in ((7, 2), (9, 0), (18, 4), (30, 2))},
    }


def _decimals(precision: int, scale: int) -> pa.Array:
    whole, part = "9" * (precision - scale), "9" * scale
    texts = [f"{whole}.{part}", f"-{whole}.{part}", f"0.{part}", "0", None, "5"]
    return v.column(v.decimals(texts), pa.decimal128(precision, scale))


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write files with Arrow, with Arrow and integer decimals, and with parquet-mr; return their folder."""
    made = tmp_path_factory.mktemp("file_types")
    plain = pa.table(_plain_columns())
    pq.write_table(plain, made / "plain.parquet", row_group_size=4, use_dictionary=False)
    stored = {f"int_{name}": plain.column(name) for name in ("n7_2", "n9_0", "n18_4")}
    stored |= {f"dict_{name}": plain.column(name) for name in ("i32", "i64", "day", "f", "s", "bin", "local_us")}
    pq.write_table(pa.table(stored), made / "integers.parquet", row_group_size=4, store_decimal_as_integer=True)
    int96 = pa.table({"int96": plain.column("local_us")})
    pq.write_table(int96, made / "int96.parquet", use_deprecated_int96_timestamps=True)
    _write_odd(spark, made / "odd.parquet")
    return made


def _write_odd(spark: SparkSession, path: Path) -> None:
    jvm = spark._jvm
    assert jvm is not None
    schema = jvm.org.apache.parquet.schema.MessageTypeParser.parseMessageType(_ODD)
    writers = jvm.org.apache.parquet.hadoop.example.ExampleParquetWriter
    writer = writers.builder(jvm.org.apache.hadoop.fs.Path(str(path))).withType(schema).build()
    groups = jvm.org.apache.parquet.example.data.simple.SimpleGroupFactory(schema)
    names = [schema.getFieldName(i) for i in range(schema.getFieldCount())]
    for value in _UNSCALED:
        group = groups.newGroup()
        for name in names:
            fixed = {"gap": 12, "bare_fixed": 4}.get(name)
            content = value if fixed is None else value.rjust(fixed, b"\x01")
            group.append(name, jvm.org.apache.parquet.io.api.Binary.fromConstantByteArray(bytearray(content)))
        writer.write(group)
    writer.write(groups.newGroup())
    writer.close()


def _read_by_spark(spark: SparkSession, path: Path) -> Iterator[tuple[str, str, bool]]:
    """Yield column, type, and whether Spark reads the column as the type, for each column of a file and each type."""
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    assert jvm is not None and gateway is not None
    source = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(
        jvm.org.apache.hadoop.fs.Path(str(path)), jvm.org.apache.hadoop.conf.Configuration()
    )
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(source)
    columns = list(reader.getFooter().getFileMetaData().getSchema().getColumns())
    reader.close()
    package = "org.apache.spark.sql.execution.datasources.parquet"
    maker = jvm.java.lang.Class.forName(f"{package}.ParquetVectorUpdaterFactory").getDeclaredConstructors()[0]
    maker.setAccessible(True)
    types = {wanted: jvm.org.apache.spark.sql.types.DataType.fromDDL(wanted) for wanted in WANTED}
    for column in columns:
        arguments = gateway.new_array(jvm.java.lang.Object, 6)
        values = (column.getPrimitiveType().getLogicalTypeAnnotation(), None, "CORRECTED", "UTC", "CORRECTED", "UTC")
        for place, argument in enumerate(values):
            arguments[place] = argument
        factory = maker.newInstance(arguments)
        for wanted, kind in types.items():
            yield column.getPath()[0], wanted, _is_read(factory, column, kind)


def _is_read(factory: Any, column: Any, kind: Any) -> bool:
    try:
        factory.getUpdater(column, kind)
    except Py4JJavaError as error:
        assert "SchemaColumnConvertNotSupportedException" in str(error.java_exception)
        return False
    return True


def _read_by_us(path: Path, exact_times: bool = True) -> Iterator[tuple[str, str, bool]]:
    schema = pq.read_metadata(path).schema
    for column in (schema.column(i) for i in range(len(schema))):
        for wanted in WANTED:
            yield column.name, wanted, spark_reads(stored_type(column), parse_type(wanted), exact_times)


def _is_no_time(name: str, wanted: str) -> bool:
    """Return whether Spark 4.1 reads numbers as times of day of which some are none; the engine raises then."""
    return spark_minor() == "4.1" and wanted.startswith("time(") and name != "clock_us"


def _readable(folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.parquet")):
        for name, wanted, is_read in _read_by_us(path):
            if is_read and (name, wanted) not in _SPARK_FAILS and not _is_no_time(name, wanted):
                found.setdefault(name, []).append(wanted)
    return found


def test_readable_type_pairs_equal_spark(spark: SparkSession, folder: Path) -> None:
    pairs = 0
    for path in sorted(folder.glob("*.parquet")):
        expected = list(_read_by_spark(spark, path))
        assert list(_read_by_us(path, exact_times=spark_minor() != "4.1")) == expected
        pairs += sum(is_read for *_, is_read in expected)
    assert pairs > 150


@pytest.mark.parametrize("aqe", ["true", "false"])
def test_rows_of_each_type_pair_equal_spark(spark: SparkSession, folder: Path, vanilla_only: bool, aqe: str) -> None:
    """Each query reads every column as the next of its types; a column is in one file and NULL in the others."""
    if vanilla_only:
        pytest.skip("needs the extension")
    readable = _readable(folder)
    rounds = list(zip_longest(*readable.values()))
    for types in rounds[:: 4 if aqe == "true" else 1]:
        columns = {name: wanted for name, wanted in zip(readable, types, strict=True) if wanted is not None}
        schema = ", ".join(f"{name} {wanted}" for name, wanted in columns.items())
        shown = [_SHOWN.get(wanted, "{}").format(name) for name, wanted in columns.items()]
        rows = []
        for engine in ("false", "true"):
            with configured(spark, {ENABLED: engine, "spark.sql.adaptive.enabled": aqe}):
                frame = spark.read.schema(schema).parquet(str(folder)).selectExpr(*shown)
                rows.append(frame.collect())
        assert difference(rows[0], rows[1]) is None, schema
        assert summary_of(frame).converted > 0


def test_numbers_read_as_times_of_day_equal_spark(spark: SparkSession, tmp_path: Path, vanilla_only: bool) -> None:
    """Spark 4.1 takes every INT64 for microseconds of a day; with a dictionary, for nanoseconds if not annotated."""
    if vanilla_only or spark_minor() != "4.1":
        pytest.skip("needs the extension on Spark 4.1")
    numbers = pa.array([0, 1, 86_399_999_999, 3_600_000_000, 3_600_000_000, None], pa.int64())
    amounts = [None if number is None else decimal.Decimal(number).scaleb(-2) for number in numbers.to_pylist()]
    table = pa.table({
        "number": numbers,
        "amount": pa.array(amounts, pa.decimal128(14, 2)),
        "moment": numbers.cast(pa.timestamp("us")),
        "clock": numbers.cast(pa.time64("ns")),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "numbers.parquet", use_dictionary=False, store_decimal_as_integer=True)
    schema = ", ".join(f"{name} time(6)" for name in table.column_names)
    rows = []
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine}):
            frame = spark.read.schema(schema).parquet(str(tmp_path))
            shown = frame.selectExpr(*(f"CAST({name} AS STRING)" for name in table.column_names))
            rows.append((shown.collect(), frame.where("number > TIME'00:30:00'").count()))
    assert difference(rows[0][0], rows[1][0]) is None
    assert rows[0][1] == rows[1][1]
    assert summary_of(shown).converted > 0
    pq.write_table(table, tmp_path / "numbers.parquet", use_dictionary=True, store_decimal_as_integer=True)
    for name in table.column_names:
        with configured(spark, {ENABLED: "true"}), pytest.raises(Exception, match="and has a dictionary"):
            spark.read.schema(f"{name} time(6)").parquet(str(tmp_path)).collect()


#: Pairs that Spark rejects: each physical type, with and without a logical type.
_REJECTED = {
    "plain": "b int|i8 string|i64 timestamp|u32 decimal(20,0)|f bigint|d float|s date|fixed string|"
    "day timestamp|local_ns timestamp_ntz|n7_2 decimal(7,3)",
    "integers": "int_n18_4 decimal(18,5)",
    "int96": "int96 bigint",
    "odd": "enum int|dec_bytes decimal(11,2)",
}


def test_errors_of_rejected_type_pairs_equal_spark(spark: SparkSession, folder: Path, vanilla_only: bool) -> None:
    """Class, condition, parameters and cause are those of Spark."""
    if vanilla_only:
        pytest.skip("needs the extension")
    for file, pairs in _REJECTED.items():
        for column in pairs.split("|"):
            errors = []
            for engine in ("false", "true"):
                with configured(spark, {ENABLED: engine}):
                    frame = spark.read.schema(column).parquet(str(folder / f"{file}.parquet"))
                    errors.append(_error(frame.selectExpr("*", "1 AS one")))
            assert errors[0] == errors[1], column
            assert errors[1][1] == "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH", column
            assert summary_of(frame.selectExpr("*", "1 AS one")).converted > 0, column


def _error(frame: DataFrame) -> tuple[str, str, dict[str, str], str]:
    with pytest.raises(Py4JJavaError) as caught:
        frame.collect()
    error = caught.value.java_exception
    cause = f"{error.getCause().getClass().getName()}: {error.getCause().getMessage()}"
    return error.getClass().getName(), error.getCondition(), dict(error.getMessageParameters()), cause


_OTHER_BYTES = [b"abc", b"\xff\xfe", b"a\xc3", b"\xc3\xa9x", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"", None,
                b"\xf4\x90\x80\x80z", b"b\x80c"]  # fmt: skip
_OF_BYTES = """hex(s)|hex(upper(s))|hex(lower(s))|hex(initcap(s))|hex(concat(s, 'x'))|hex(trim(s))|hex(repeat(s, 2))
hex(translate(s, 'a', 'z'))|hex(replace(s, 'a', 'b'))|hex(substring_index(s, 'b', 1))|base64(encode(s, 'utf-8'))
hex(make_valid_utf8(s))|levenshtein(s, 'abc')|soundex(s)|hex(mask(s))|hex(regexp_replace(s, '[a-b]', '#'))
hex(regexp_extract(s, '(.)', 1))|regexp_count(s, '.')|regexp_instr(s, 'c')|s LIKE '_'|s ILIKE 'A%'|rlike(s, '^.$')
hex(quote(s))|try_cast(s AS DOUBLE)|try_cast(s AS INT)|s > 'a'|hex(greatest(s, 'b'))|octet_length(s)|url_encode(s)
hex(split_part(s, 'b', 1))|crc32(s)|hash(s)"""
_OF_CHARACTERS = ["substring(s, 1, 2)", "reverse(s)", "lpad(s, 5, 'x')", "instr(s, 'c')", "ascii(s)"]
#: Functions of strings that end with a whole character.
_OF_WHOLE_CHARACTERS = """length(s)|hex(substring(s, 2))|hex(left(s, 2))|hex(right(s, 1))|hex(reverse(s))
hex(lpad(s, 5, s))|hex(rpad(s, 5, 'xé'))|instr(s, 'c')|locate('b', s, 2)|locate(s, s)|ascii(s)
hex(overlay(s PLACING 'é' FROM 2))|instr(s, right(s, 1))|hex(substr(s, -2, 1))|hex(lpad('é', 3, s))"""


def test_functions_of_strings_that_are_not_utf8(spark: SparkSession, tmp_path: Path, vanilla_only: bool) -> None:
    """Functions equal Spark's; those that split the bytes into characters raise for a string that ends within one."""
    if vanilla_only:
        pytest.skip("needs the extension")
    columns = {"id": range(len(_OTHER_BYTES)), "s": pa.array(_OTHER_BYTES, pa.binary())}
    pq.write_table(pa.table(columns), tmp_path / "bytes.parquet")
    rows = []
    for engine in ("false", "true"):
        with configured(spark, {ENABLED: engine}):
            frame = spark.read.schema("id bigint, s string").parquet(str(tmp_path)).where("id >= 0")
            made = frame.selectExpr("id", *re.split(r"[|\n]", _OF_BYTES))
            rows.append(made.collect())
            whole = frame.where("id NOT IN (2, 5)").selectExpr("id", *re.split(r"[|\n]", _OF_WHOLE_CHARACTERS))
            rows.append(whole.collect() + frame.selectExpr("length(s)").collect())
    assert difference(rows[0], rows[2]) is None and difference(rows[1], rows[3]) is None
    assert summary_of(made).converted > 2 and summary_of(whole).converted > 2
    with configured(spark, {ENABLED: "true"}):
        for text in _OF_CHARACTERS:
            with pytest.raises(PythonException, match="of a string that ends within a character"):
                frame.selectExpr(text).collect()
            assert frame.where("id IN (0, 3, 6, 7)").selectExpr(text).count() == 4


def test_pruning_keeps_row_groups_with_matching_values(folder: Path) -> None:
    """Statistics describe the stored values; comparisons with a value keep the row groups that contain it."""
    asked = 0
    for path in sorted(folder.glob("*.parquet")):
        for name, wanted, is_read in _read_by_us(path):
            if is_read and wanted != "void":
                asked += _assert_kept(path, Field(id=0, name=name, type=parse_type(wanted)))
    assert asked > 1000


def _assert_kept(path: Path, field: Field) -> int:
    reader = ParquetFileReader(str(path), [field], True)
    groups = reader.row_groups(ScanSplit(path=str(path), start=0, length=path.stat().st_size))
    reference = ColumnRef(ordinal=0, type=field.type)
    asked = 0
    for group in groups:
        for chunk in reader.chunks(group, 1000):
            for value in {_literal(value): value for value in chunk.column(0).drop_null()}:
                literal = Literal(value=value, type=field.type)
                for name in ("EqualTo", "GreaterThanOrEqual", "LessThanOrEqual", "EqualNullSafe", "In"):
                    conjunct = Call(name=name, args=(reference, literal), type=parse_type("boolean"))
                    assert reader.may_match([group], [conjunct]) == [group], (field, value, name)
                    asked += 1
    return asked


def _literal(value: pa.Scalar) -> Any:
    kind = value.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return value.value
    return value.as_buffer().to_pybytes() if pa.types.is_string(kind) else value.as_py()

"""Files in the hybrid Julian calendar: the engine reads Spark's values, or raises with the column's name."""

from __future__ import annotations

import json
import random
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.errors import CorruptFileError
from pyspark_pipeline.operators.scan.parquet.legacy import LegacyCalendar
from pyspark_pipeline.operators.scan.rebase_table import rebase_table
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ExecutorCalendar, FileScan, ScanSplit
from pyspark_pipeline.shim_build import find_spark
from tests.operators.kit import Builder, call, column, fields, literal, run

JAR = next(find_spark().jars.glob("spark-sql-api_*.jar"))
ENTRY = "julian-gregorian-rebase-micros.json"
TABLE = f"jar:{JAR.as_uri()}!/{ENTRY}"
SPARK_2 = {"org.apache.spark.version": "2.4.8"}
FIRST_DAY, DAY_US, FIRST_US = -141427, 86_400_000_000, -2208988800000000
YEAR_1 = -62135596800_000_000 - 2 * DAY_US
ZONES = ["UTC", "Etc/GMT", "America/Los_Angeles", "Asia/Kolkata", "Africa/Monrovia", "America/St_Johns", "Europe/Paris",
         "Pacific/Apia", "Asia/Manila", "Antarctica/Troll"]  # fmt: skip

rng = random.Random(7)


def write(
    path: Path,
    stored: Sequence[int | None],
    kind: pa.DataType,
    metadata: Mapping[str, str],
    rows: int = 10000,
    **how: Any,
) -> Path:
    """Write raw ``stored`` numbers as column ``v`` of ``kind``, ``rows`` a row group."""
    plain = pa.int32() if kind.bit_width == 32 else pa.int64()
    table = pa.table({"v": pa.array(stored, plain).view(kind)})
    with pq.ParquetWriter(path, table.schema, store_schema=False, **how) as writer:
        writer.write_table(table, row_group_size=rows)
        writer.add_key_value_metadata(dict(metadata))
    return path


def read(
    path: Path, kind: str, *pushed: Expr, zone: str | None = None, table: str | None = TABLE
) -> list[int | None]:
    """Read column ``v`` by the engine; days or microseconds."""
    node = FileScan(format="parquet", output=fields(f"v:{kind}"), input_id=0, num_data_columns=1, pushed=pushed)
    split = ScanSplit(path=str(path), start=0, length=path.stat().st_size)
    builder = Builder(scans={0: [split]}, calendar=ExecutorCalendar(time_zone=zone, table=table))
    made = run(node, builder=builder).column("v").combine_chunks()
    rows: list[int | None] = made.view(pa.int32() if kind == "date" else pa.int64()).to_pylist()
    return rows


def expected(vanilla: Any, path: Path, kind: str) -> list[int | None]:
    """Read column ``v`` by vanilla Spark; days or microseconds."""
    number = {
        "date": "unix_date(v)",
        "timestamp": "unix_micros(v)",
        "timestamp_ntz": "unix_micros(CAST(v AS TIMESTAMP))",
    }[kind]
    rows = vanilla.read.schema(f"v {kind}").parquet(str(path)).selectExpr(f"{number} AS n").collect()
    return [row.n for row in rows]


def days() -> list[int | None]:
    centuries = [-719164 + 36525 * n + d for n in range(-5, 18) for d in range(-70, 70)]
    seams = [FIRST_DAY + d for d in range(-15, 3)]
    anywhere = [rng.randrange(-(2**31), 2**31) for _ in range(3000)]
    return [None, -(2**31), 2**31 - 1, *centuries, *seams, None, *anywhere]


def micros(first: int) -> list[int | None]:
    """Return timestamps from ``first`` to 1910, many around the ends of Julian centuries and the switch."""
    seams = [-719162 + 36525 * n + 59 for n in range(16)] + [FIRST_DAY, -25568, -25566, -31430]
    near = [day * DAY_US + rng.randrange(-2 * DAY_US, 2 * DAY_US) for day in seams for _ in range(40)]
    anywhere = [rng.randrange(first, -1893456000_000_000) for _ in range(2000)]
    return [None, first, first + 1, *(n for n in near if n >= first), None, *anywhere]


@pytest.mark.parametrize("dictionary", [True, False])
def test_dates_of_the_whole_range_equal_spark(tmp_path: Path, vanilla: Any, dictionary: bool) -> None:
    path = write(tmp_path / "t.parquet", days(), pa.date32(), SPARK_2, use_dictionary=dictionary, rows=700)
    assert read(path, "date") == expected(vanilla, path, "date")


def test_integers_with_a_dictionary_raise_if_spark_rebases_only_some(tmp_path: Path, vanilla: Any) -> None:
    """Spark rebases integers read as dates, but not those that it decodes lazily from a dictionary."""
    old = [-171596, FIRST_DAY - 1, None, 0] * 3
    plain = write(tmp_path / "p.parquet", old, pa.int32(), SPARK_2, use_dictionary=False)
    assert read(plain, "date") == expected(vanilla, plain, "date") != old
    path = write(tmp_path / "d.parquet", old, pa.int32(), SPARK_2)
    assert expected(vanilla, path, "date") == old
    with pytest.raises(CorruptFileError, match=r"d\.parquet: column v holds integers of days before 1582-10-15"):
        read(path, "date")
    new = write(path, [FIRST_DAY, None, 0], pa.int32(), SPARK_2)
    assert read(new, "date") == expected(vanilla, new, "date") == [FIRST_DAY, None, 0]
    modern = write(path, old, pa.int32(), {"org.apache.spark.version": "3.5.0"})
    assert read(modern, "date") == expected(vanilla, modern, "date") == old


def test_julian_century_leap_day_becomes_march_first(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", [-171596, -171595, -141428, -141427], pa.date32(), SPARK_2)
    made = read(path, "date")
    assert pa.array(made, pa.int32()).view(pa.date32()).cast(pa.string()).to_pylist() == [
        "1500-03-01", "1500-03-01", "1582-10-04", "1582-10-15",
    ]  # fmt: skip


ENCODINGS: Mapping[str, tuple[pa.DataType, dict[str, Any]]] = {
    "micros": (pa.timestamp("us", "UTC"), {}),
    "millis": (pa.timestamp("ms", "UTC"), {}),
    "int96": (pa.timestamp("us"), {"use_deprecated_int96_timestamps": True}),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("zone", ZONES)
def test_timestamps_equal_spark(tmp_path: Path, vanilla: Any, zone: str, encoding: str) -> None:
    kind, how = ENCODINGS[encoding]
    known = rebase_table(TABLE)[zone].switches
    stored = micros(int(known[0]))
    if encoding == "millis":
        stored = [None if n is None else -(-n // 1000) for n in stored]
    path = write(tmp_path / "t.parquet", stored, kind, {**SPARK_2, "org.apache.spark.timeZone": zone}, **how)
    made = read(path, "timestamp")
    assert made == expected(vanilla, path, "timestamp")
    as_it_is = [None if n is None else n * (1000 if encoding == "millis" else 1) for n in stored]
    assert sum(a != b for a, b in zip(made, as_it_is, strict=True)) > len(stored) // 2


@pytest.mark.parametrize("zone", ["UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z", "+05:30", "-18:00"])
def test_timestamps_of_any_year_are_rebased_if_java_maps_the_zone_to_utc(
    tmp_path: Path, vanilla: Any, zone: str
) -> None:
    stored = [*micros(YEAR_1), *(rng.randrange(-(2**63), YEAR_1) for _ in range(2000)), -(2**63), 2**63 - 1]
    path = write(tmp_path / "t.parquet", stored, ENCODINGS["micros"][0], {**SPARK_2, "org.apache.spark.timeZone": zone})
    assert read(path, "timestamp", table=None) == expected(vanilla, path, "timestamp")


@pytest.mark.parametrize(
    ("zone", "stored", "table"),
    [
        ("America/Los_Angeles", YEAR_1 - 400 * DAY_US, TABLE),
        ("GMT+05:30", FIRST_US - 1, TABLE),
        ("Mars/Phobos", FIRST_US - 1, TABLE),
        ("Europe/Paris", FIRST_US - 1, None),
        ("Europe/Paris", FIRST_US - 1, "jar:file:/no/such.jar!/entry"),
        ("Europe/Paris", FIRST_US - 1, f"jar:{JAR.as_uri()}!/no-entry"),
        (None, FIRST_US - 1, TABLE),
    ],
)
def test_timestamp_that_only_java_can_rebase_raises(
    tmp_path: Path, zone: str | None, stored: int, table: str | None
) -> None:
    named = {} if zone is None else {"org.apache.spark.timeZone": zone}
    path = write(tmp_path / "t.parquet", [0, None, stored], ENCODINGS["micros"][0], {**SPARK_2, **named})
    with pytest.raises(CorruptFileError, match=rf"t\.parquet: column v .*Julian.* {re.escape(zone or 'unknown')} "):
        read(path, "timestamp", table=table)
    path = write(path, [FIRST_US, None, 0], ENCODINGS["micros"][0], {**SPARK_2, **named})
    assert read(path, "timestamp", table=table) == [FIRST_US, None, 0]


def test_file_without_time_zone_uses_that_of_the_executor(tmp_path: Path, vanilla: Any) -> None:
    path = write(tmp_path / "t.parquet", micros(-62135500000_000_000), ENCODINGS["micros"][0], SPARK_2)
    zones = vanilla.sparkContext._jvm.java.util.TimeZone
    before = zones.getDefault()
    try:
        zones.setDefault(zones.getTimeZone("America/Los_Angeles"))
        wanted = expected(vanilla, path, "timestamp")
    finally:
        zones.setDefault(before)
    assert read(path, "timestamp", zone="America/Los_Angeles") == wanted
    assert read(path, "timestamp", zone="Asia/Kolkata") != wanted


MARKERS: list[dict[str, str]] = [
    {},
    {"org.apache.spark.legacyDateTime": "", "org.apache.spark.legacyINT96": ""},
    {"org.apache.spark.version": "2.4.8"},
    {"org.apache.spark.version": "3.0"},
    {"org.apache.spark.version": "3.0.0-SNAPSHOT"},
    {"org.apache.spark.version": "3.0.0"},
    {"org.apache.spark.version": "3.0.3", "org.apache.spark.legacyDateTime": ""},
    {"org.apache.spark.version": "3.1.0"},
    {"org.apache.spark.version": "3.1.0", "org.apache.spark.legacyINT96": ""},
    {"org.apache.spark.version": "10.0.0"},
    {"org.apache.spark.version": ""},
]


@pytest.mark.parametrize("marker", MARKERS, ids=lambda m: "-".join(f"{k[17:]}{v}" for k, v in m.items()) or "none")
def test_legacy_files_are_identified_as_in_spark(tmp_path: Path, vanilla: Any, marker: dict[str, str]) -> None:
    metadata = {**marker, "org.apache.spark.timeZone": "Asia/Kolkata"}
    for name, (kind, how) in {**ENCODINGS, "date": (pa.date32(), {})}.items():
        wanted = "date" if name == "date" else "timestamp"
        stored = [-200000 if name == "date" else -15000000000000 if name == "millis" else -15000000000000000, None]
        path = write(tmp_path / f"{name}.parquet", stored, kind, metadata, **how)
        assert read(path, wanted) == expected(vanilla, path, wanted), name


def test_date_read_as_timestamp_ntz_is_rebased_but_not_a_stored_timestamp_ntz(tmp_path: Path, vanilla: Any) -> None:
    stored = [-171596, FIRST_DAY - 1, None, 0]
    dates = write(tmp_path / "d.parquet", stored, pa.date32(), SPARK_2)
    assert read(dates, "timestamp_ntz") == expected(vanilla, dates, "timestamp_ntz")
    moments = [None if day is None else day * DAY_US for day in stored]
    plain = write(tmp_path / "n.parquet", moments, pa.timestamp("us"), {**SPARK_2, "org.apache.spark.timeZone": "Mars"})
    assert read(plain, "timestamp_ntz") == expected(vanilla, plain, "timestamp_ntz") == moments


@pytest.mark.parametrize("kind", ["date", "timestamp"])
def test_modern_values_are_not_copied(kind: str) -> None:
    metadata = {b"org.apache.spark.version": b"2.4.8", b"org.apache.spark.timeZone": b"Asia/Tokyo"}
    calendar = LegacyCalendar("t", metadata)
    stored = pa.date32() if kind == "date" else pa.timestamp("us", "UTC")
    convert = calendar.with_rebase(lambda column: column, stored, fields(f"v:{kind}")[0], int96=False)
    for given in (pa.array([FIRST_DAY, None, 1], pa.int64()), pa.nulls(3, pa.int64())):
        array = given.cast(pa.int32()).view(stored) if kind == "date" else given.view(stored)
        if kind == "timestamp" and given.null_count < 3:
            array = pa.array([FIRST_US, None, 1], pa.int64()).view(stored)
        assert convert(array) is array


def test_row_groups_of_dates_are_not_pruned_by_legacy_bounds(tmp_path: Path) -> None:
    """Stored day -171596 is 1500-02-29 in the old calendar and -171605, 1500-03-01, in the new one."""
    stored = [-171596] * 10 + [FIRST_DAY - 1] * 10 + [FIRST_DAY] * 10
    path = write(tmp_path / "t.parquet", stored, pa.date32(), SPARK_2, rows=10)
    node = FileScan(format="parquet", output=fields("v:date"), input_id=0, num_data_columns=1)
    v = column(node, "v")

    def rows(name: str, day: int) -> int:
        return len(read(path, "date", call(name, "boolean", v, literal(day, "date"))))

    assert rows("EqualTo", -171605) == 20
    assert rows("LessThan", -171596) == 20
    assert rows("GreaterThanOrEqual", FIRST_DAY) == 30
    assert len(read(path, "date", call("IsNull", "boolean", v))) == 0
    new = write(path, stored, pa.date32(), {"org.apache.spark.version": "3.0.0"}, rows=10)
    assert len(read(new, "date", call("EqualTo", "boolean", v, literal(-171605, "date")))) == 0


@pytest.mark.parametrize("unit", ["us", "ms"])
def test_row_groups_of_timestamps_are_not_pruned_by_legacy_bounds(tmp_path: Path, unit: str) -> None:
    scale = 1 if unit == "us" else 1000
    zone = {**SPARK_2, "org.apache.spark.timeZone": "America/Los_Angeles"}
    stored = [FIRST_US // scale - 1] * 10 + [FIRST_US // scale] * 10
    path = write(tmp_path / "t.parquet", stored, pa.timestamp(unit, "UTC"), zone, rows=10)
    node = FileScan(format="parquet", output=fields("v:timestamp"), input_id=0, num_data_columns=1)
    later = call("LessThan", "boolean", column(node, "v"), literal(FIRST_US - 10**12, "timestamp"))
    assert len(read(path, "timestamp", later)) == 10


def test_spark_rebase_table_has_no_difference_from_1900_on() -> None:
    with zipfile.ZipFile(JAR) as archive:
        records = json.loads(archive.read(ENTRY))
    assert max(record["switches"][-1] for record in records) * 10**6 == FIRST_US
    assert {record["diffs"][-1] for record in records} == {0}
    assert all(record["switches"] == sorted(set(record["switches"])) for record in records)

"""The Parquet scan: every row group in exactly one split, pruning without loss of rows, errors that name the file."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.errors import CorruptFileError
from pyspark_pipeline.operators.scan.row_group_pruning import ColumnBounds, may_match
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import FileScan, Filter, Limit, ScanSplit
from tests.operators.kit import Builder, call, column, fields, literal, run, run_rows, to_table


def scan(spec: str, partitions: int = 0, **further: Any) -> FileScan:
    output = fields(spec)
    return FileScan(format="parquet", output=output, input_id=0, num_data_columns=len(output) - partitions, **further)


def whole(path: Path, *values: Any) -> ScanSplit:
    return ScanSplit(path=str(path), start=0, length=path.stat().st_size, partition_values=values)


def read(node: FileScan, *splits: ScanSplit) -> pa.Table:
    return run(node, builder=Builder(scans={0: splits}))


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """A file of 10 row groups of 1000 rows: n ascending, s with few values, d decimal."""
    path = tmp_path / "numbers.parquet"
    table = pa.table(
        {
            "n": pa.array(range(10_000), pa.int64()),
            "s": pa.array([["a", "b", None][i % 3] for i in range(10_000)]),
            "d": pa.array([Decimal(i).scaleb(-2) for i in range(10_000)], pa.decimal128(12, 2)),
        }
    )
    pq.write_table(table, path, row_group_size=1000)
    return path


@pytest.mark.parametrize("cuts", [1, 2, 3, 7, 40])
def test_every_row_group_is_in_exactly_one_split(numbers: Path, cuts: int) -> None:
    size = numbers.stat().st_size
    bounds = [size * i // cuts for i in range(cuts + 1)]
    splits = [
        ScanSplit(path=str(numbers), start=a, length=b - a) for a, b in zip(bounds, bounds[1:], strict=False)
    ]
    tables = [read(scan("n:bigint"), split) for split in splits]
    assert pa.concat_tables(tables).column("n").to_pylist() == list(range(10_000))
    assert read(scan("n:bigint"), *splits).num_rows == 10_000


@pytest.mark.parametrize("cuts", [1, 2, 3, 7, 40])
def test_every_row_group_of_a_spread_file_is_in_exactly_one_split(numbers: Path, cuts: int) -> None:
    size = numbers.stat().st_size
    bounds = [size * i // cuts for i in range(cuts + 1)]
    splits = [
        ScanSplit(path=str(numbers), start=a, length=b - a, spread_bytes=size)
        for a, b in zip(bounds, bounds[1:], strict=False)
    ]
    found = [read(scan("n:bigint"), split).column("n").to_pylist() for split in splits]
    assert sorted(number for part in found for number in part) == list(range(10_000))
    assert all(part == sorted(part) for part in found), "a split keeps the order of the file"
    assert all(abs(len(part) - 10_000 / cuts) <= 1000 for part in found)


@pytest.mark.parametrize("first", range(0, 88, 8))
def test_neighbouring_row_groups_are_in_different_splits(tmp_path: Path, first: int) -> None:
    path = tmp_path / "many.parquet"
    pq.write_table(pa.table({"n": pa.array(range(1000), pa.int64())}), path, row_group_size=10)
    size = path.stat().st_size
    neighbours = set(range(first * 10, first * 10 + 120))
    for split in range(4):
        part = ScanSplit(path=str(path), start=size * split // 4, length=size // 4 + 1, spread_bytes=size)
        of_neighbours = neighbours.intersection(read(scan("n:bigint"), part).column("n").to_pylist())
        assert 20 <= len(of_neighbours) <= 40, "about a fourth of 12 row groups"


def test_empty_row_groups_are_spread(tmp_path: Path) -> None:
    path = tmp_path / "gaps.parquet"
    schema = pa.schema([("n", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for numbers in ([], [1, 2], [], [], [3], []):
            writer.write_table(pa.table({"n": pa.array(numbers, pa.int64())}))
    size = path.stat().st_size
    splits = [ScanSplit(path=str(path), start=i, length=1, spread_bytes=size) for i in range(size)]
    assert sorted(read(scan("n:bigint"), *splits).column("n").to_pylist()) == [1, 2, 3]


def test_columns_are_found_by_name_in_any_order(numbers: Path) -> None:
    table = read(scan("D:decimal(12;2), S:string, missing:date"), whole(numbers))
    assert table.column("D").to_pylist() == [Decimal(i).scaleb(-2) for i in range(10_000)]
    assert table.column("S").to_pylist()[:3] == ["a", "b", None]
    assert table.column("missing").null_count == 10_000
    exact = read(scan("S:string", case_sensitive=True), whole(numbers))
    assert exact.column("S").null_count == 10_000


def test_scan_without_columns_keeps_the_row_count(numbers: Path) -> None:
    rows = run_rows(scan(""), builder=Builder(scans={0: [whole(numbers)]}))
    assert sum(row.rows for row in rows) == 10_000


def test_partition_values_are_appended_as_columns(numbers: Path) -> None:
    node = scan("n:bigint, p:string, q:int, r:date", 3)
    table = read(node, whole(numbers, "x", 7, 1), whole(numbers, None, None, None))
    assert set(table.column("p").to_pylist()) == {"x", None}
    assert table.column("r").to_pylist()[0] == datetime.date(1970, 1, 2)
    only = read(scan("p:string", 1), whole(numbers, "y"))
    assert only.column("p").to_pylist() == ["y"] * 10_000


def test_file_uri_is_decoded(tmp_path: Path) -> None:
    path = tmp_path / "a b%.parquet"
    pq.write_table(pa.table({"n": pa.array([1], pa.int64())}), path)
    split = ScanSplit(path=path.as_uri(), start=0, length=path.stat().st_size)
    assert read(scan("n:bigint"), split).num_rows == 1


def _rows_read(numbers: Path, *pushed: Expr) -> int:
    node = scan("n:bigint, s:string, d:decimal(12;2)", pushed=pushed)
    return read(node, whole(numbers)).num_rows


def test_pruning_reads_only_row_groups_that_may_match(numbers: Path) -> None:
    node = scan("n:bigint, s:string, d:decimal(12;2)")
    n, s, d = (column(node, name) for name in "nsd")
    assert _rows_read(numbers, call("EqualTo", "boolean", n, literal(1500, "bigint"))) == 1000
    assert _rows_read(numbers, call("GreaterThan", "boolean", literal(1000, "bigint"), n)) == 1000
    assert _rows_read(numbers, call("LessThanOrEqual", "boolean", n, literal(1000, "bigint"))) == 2000
    ninety = literal(Decimal("90.00"), "decimal(12,2)")
    assert _rows_read(numbers, call("GreaterThanOrEqual", "boolean", d, ninety)) == 1000
    assert _rows_read(numbers, call("EqualTo", "boolean", s, literal("c", "string"))) == 0
    assert _rows_read(numbers, call("IsNull", "boolean", n)) == 0
    assert _rows_read(numbers, call("IsNotNull", "boolean", s)) == 10_000
    both = call("In", "boolean", n, literal(5, "bigint"), literal(9999, "bigint"))
    assert _rows_read(numbers, both) == 2000
    either = call("Or", "boolean", call("IsNull", "boolean", n), both)
    assert _rows_read(numbers, either) == 2000
    unknown = call("SomethingElse", "boolean", n)
    assert _rows_read(numbers, unknown, call("Or", "boolean", both, unknown)) == 10_000
    assert _rows_read(numbers, call("EqualTo", "boolean", n, literal(None, "bigint"))) == 0


def test_row_group_with_nan_is_not_pruned() -> None:
    node = scan("x:double")
    x = column(node, "x")
    bounds = {0: ColumnBounds(low=0.0, high=1.0, nulls=0, rows=10)}
    assert may_match([call("GreaterThan", "boolean", x, literal(5.0, "double"))], bounds)
    assert not may_match([call("LessThan", "boolean", x, literal(-5.0, "double"))], bounds)
    assert may_match([call("EqualTo", "boolean", x, literal(float("nan"), "double"))], bounds)


WIDENING = [
    (pa.int32(), "bigint", True), (pa.int32(), "double", True), (pa.int8(), "int", True),
    (pa.uint32(), "bigint", True), (pa.float32(), "double", True), (pa.int32(), "decimal(12,2)", True),
    (pa.int64(), "int", False), (pa.float64(), "float", False), (pa.int64(), "string", False),
    (pa.string(), "int", False), (pa.date32(), "timestamp", False),
]  # fmt: skip


@pytest.mark.parametrize(("stored", "wanted", "works"), WIDENING)
def test_types_widen_or_raise_with_the_column_name(
    tmp_path: Path, stored: pa.DataType, wanted: str, works: bool
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"v": pa.array([1, 2, None]).cast(pa.int32()).cast(stored)}), path)
    node = scan(f"v:{wanted.replace(',', ';')}")
    if works:
        assert read(node, whole(path)).column("v").to_pylist() == [1, 2, None]
    else:
        with pytest.raises(CorruptFileError, match=r"t\.parquet: column v is stored as"):
            read(node, whole(path))


def test_decimals_widen(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"v": pa.array([Decimal("1.25"), None], pa.decimal128(5, 2))}), path)
    assert read(scan("v:decimal(10;4)"), whole(path)).column("v").to_pylist() == [Decimal("1.2500"), None]
    with pytest.raises(CorruptFileError):
        read(scan("v:decimal(5;3)"), whole(path))


def test_timestamps_of_every_unit_are_read_as_microseconds(tmp_path: Path) -> None:
    when = datetime.datetime(2020, 5, 6, 7, 8, 9, 123000, datetime.timezone.utc)
    for unit, how in (("ms", {}), ("us", {}), ("ns", {"use_deprecated_int96_timestamps": True})):
        path = tmp_path / f"{unit}.parquet"
        table = pa.table({"v": pa.array([when, None], pa.timestamp(unit, tz="UTC"))})
        pq.write_table(table, path, store_schema=False, **how)
        assert read(scan("v:timestamp"), whole(path)).column("v").to_pylist() == [when, None]
    path = tmp_path / "nanos.parquet"
    pq.write_table(pa.table({"v": pa.array([when], pa.timestamp("ns", tz="UTC"))}), path, store_schema=False)
    with pytest.raises(CorruptFileError, match="nanos"):
        read(scan("v:timestamp"), whole(path))


def test_names_that_differ_only_in_case_raise_unless_case_sensitive(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1], "A": [2]}), path)
    with pytest.raises(CorruptFileError, match="more than one column is named a"):
        read(scan("a:bigint"), whole(path))
    assert read(scan("A:bigint", case_sensitive=True), whole(path)).column("A").to_pylist() == [2]


def test_columns_of_one_name_and_several_types_raise(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([pa.array([1]), pa.array(["x"]), pa.array([3])], names=["a", "a", "b"]), path)
    with pytest.raises(CorruptFileError, match="more than one column is named a of different types: a, a"):
        read(scan("a:bigint", case_sensitive=True), whole(path))
    assert read(scan("b:bigint", case_sensitive=True), whole(path)).column("b").to_pylist() == [3]


@pytest.mark.parametrize("damage", ["truncated", "not parquet", "missing", "garbage inside"])
def test_damaged_file_raises_with_its_name(numbers: Path, damage: str) -> None:
    data = numbers.read_bytes()
    split = whole(numbers)
    if damage == "truncated":
        numbers.write_bytes(data[: len(data) // 2])
    elif damage == "not parquet":
        numbers.write_bytes(b"hello")
    elif damage == "missing":
        numbers.unlink()
    else:
        numbers.write_bytes(data[:4] + b"\xff" * 3000 + data[3004:])
    with pytest.raises(CorruptFileError, match="numbers.parquet"):
        read(scan("n:bigint"), split)


def test_large_dictionaries_and_string_views_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    values = [f"{'x' * 50}{i}" for i in range(5000)]
    table = pa.table({"v": pa.array(values, pa.large_string()), "w": pa.array(["q"] * 5000, pa.string_view())})
    pq.write_table(table, path)
    made = read(scan("v:string, w:string"), whole(path))
    assert made.column("v").to_pylist() == values and made.column("w").to_pylist() == ["q"] * 5000


def test_drivers_share_the_row_groups(numbers: Path) -> None:
    rows = run_rows(scan("n:bigint"), builder=Builder(scans={0: [whole(numbers)]}), dop=3, threads=3)
    assert sum(row.rows for row in rows) == 10_000


def test_chunks_of_small_row_groups_are_coalesced(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.parquet" for number in range(32)]
    for number, path in enumerate(paths):
        words = pa.array([f"w{number}", None] * 50).dictionary_encode()
        pq.write_table(pa.table({"n": range(100 * number, 100 * number + 100), "s": words}), path, row_group_size=50)
    node, builder = scan("n:bigint, s:string, p:int", 1), Builder(scans={0: [whole(path, 1) for path in paths]})
    rows = run_rows(node, builder=builder)
    made = to_table(node, rows)
    assert len(rows) < 10 and made["n"].to_pylist() == list(range(3200))
    assert made["s"].to_pylist() == [word for number in range(32) for word in [f"w{number}", None] * 50]


def test_chunks_of_unequal_forms_are_not_joined(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.parquet" for number in range(9)]
    for number, path in enumerate(paths):
        written = pa.table({"d": pa.array([Decimal(number)] * 3, pa.decimal128(12, 0))})
        pq.write_table(written, path, store_decimal_as_integer=number % 2 == 1)
    node = scan("d:decimal(12;0)")
    condition = call("GreaterThanOrEqual", "boolean", column(node, "d"), literal(Decimal(0), "decimal(12,0)"))
    made = read(Filter(output=node.output, condition=condition, child=node), *(whole(path) for path in paths))
    assert made["d"].to_pylist() == [Decimal(number) for number in range(9) for _ in range(3)]


def test_rows_before_a_damaged_row_group_leave_first(numbers: Path) -> None:
    place = pq.read_metadata(numbers).row_group(3).column(0).data_page_offset
    data = bytearray(numbers.read_bytes())
    data[place - 20 : place + 20] = b"\xff" * 40
    numbers.write_bytes(bytes(data))
    node = scan("n:bigint")
    assert read(Limit(output=node.output, limit=3000, child=node), whole(numbers))["n"].to_pylist() == list(range(3000))
    with pytest.raises(CorruptFileError, match="numbers.parquet"):
        read(Limit(output=node.output, limit=3001, child=node), whole(numbers))

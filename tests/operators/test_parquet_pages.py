"""Pages that the engine decodes itself: the values are pyarrow's, whatever wrote the file and however it is read."""

from __future__ import annotations

import itertools
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.errors import CorruptFileError
from pyspark_pipeline.kernels import compile_cache
from pyspark_pipeline.operators.scan.parquet.file import ParquetFileReader
from pyspark_pipeline.operators.scan.reader import READ_ERRORS
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import FileScan, Filter, ScanSplit, Settings
from tests.operators.kit import Builder, call, column, fields, literal, run

RANDOM = np.random.default_rng(11)
SPEC = "i:int, l:bigint, f:float, d:double, t:date, ts:timestamp, n9:decimal(9;2), n18:decimal(18;4), s:string"


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decode pages though the cache of kernels may not be complete yet."""
    monkeypatch.setattr(compile_cache, "is_complete", lambda: True)


def nullable(values: Any, kind: pa.DataType, share: float) -> pa.Array:
    """Return values, a share of which are NULL."""
    mask = RANDOM.random(len(values)) < share
    if pa.types.is_decimal(kind):
        decimals = [Decimal(int(value)).scaleb(-kind.scale) for value in values]
        return pa.array(np.array(decimals, dtype=object), kind, mask=mask)
    return pa.array(values, pa.int64() if pa.types.is_temporal(kind) else None, mask=mask).cast(kind)


def made(rows: int, distinct: int, share: float, run: int = 1) -> pa.Table:
    """Return a table of all known types, with so many distinct values of each column, in runs of up to ``run`` rows."""
    codes = RANDOM.integers(0, distinct, rows)
    codes = np.repeat(codes, RANDOM.integers(1, run + 1, rows))[:rows]
    values = RANDOM.integers(-(10**6), 10**6, distinct)[codes] if rows else codes
    kinds = {
        "i": pa.int32(),
        "l": pa.int64(),
        "f": pa.float32(),
        "d": pa.float64(),
        "ts": pa.timestamp("us", tz="UTC"),
        "n9": pa.decimal128(9, 2),
        "n18": pa.decimal128(18, 4),
    }
    columns = {name: nullable(values, kind, share) for name, kind in kinds.items()}
    columns["t"] = nullable(values % 20000, pa.int32(), share).cast(pa.date32())
    columns["s"] = nullable(np.array([f"text {value}" for value in values] or [""])[:rows], pa.string(), share)
    return pa.table(columns)


def chunks(path: Path, batch_rows: int, spec: str = SPEC, unscaled: bool = True) -> pa.Table | None:
    """Read the columns of a file as the scan does, and plain; None without rows."""
    reader = ParquetFileReader(str(path), fields(spec), False, unscaled_decimals=unscaled)
    names = [field.name for field in fields(spec)]
    tables = []
    for group in range(reader.metadata.num_row_groups):
        for chunk in reader.chunks(group, batch_rows):
            assert 0 < chunk.num_rows <= batch_rows
            for array in chunk.columns:
                array.validate(full=True)
            tables.append(pa.table({name: plain(array) for name, array in zip(names, chunk.columns, strict=True)}))
    reader.close()
    return pa.concat_tables(tables).combine_chunks() if tables else None


def plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def expected(path: Path, unscaled: bool = True) -> pa.Table | None:
    """Return the columns as pyarrow reads them; if ``unscaled``, decimals as stored integers; None without rows."""
    table = pq.read_table(path).combine_chunks()
    if not table.num_rows:
        return None
    columns = {}
    for name in (field.name for field in fields(SPEC)):
        array = table.column(name)
        if unscaled and pa.types.is_decimal(array.type):
            whole = array.chunk(0).view(pa.decimal128(array.type.precision, 0)) if array.num_chunks else array
            array = whole.cast(pa.int32() if array.type.precision <= 9 else pa.int64())
        columns[name] = array
    return pa.table(columns)


VERSIONS = ["1.0", "2.0"]
COMPRESSIONS = ["snappy", "zstd", "gzip", "none", "brotli"]
SHAPES = [
    (0, 1, 0.0),
    (1, 1, 0.0),
    (1, 1, 1.0),
    (5000, 1, 0.0),
    (5000, 1, 1.0),
    (5000, 2, 0.3),
    (20_000, 300, 0.0),
    (20_000, 9000, 0.01),
    (20_000, 20_000, 0.5),
    (20_000, 300, 0.0, 25),
    (20_000, 9000, 0.05, 25),
]


@pytest.mark.rotates
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_values_are_those_of_pyarrow(tmp_path: Path, version: str, compression: str) -> None:
    for number, (shape, uses_dictionary) in enumerate(itertools.product(SHAPES, [True, False])):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(
            made(*shape),
            path,
            compression=compression,
            use_dictionary=uses_dictionary,
            data_page_version=version,
            data_page_size=int(RANDOM.choice([100, 3000, 1 << 20])),
            dictionary_pagesize_limit=int(RANDOM.choice([2000, 1 << 20])),
            row_group_size=int(RANDOM.choice([4000, 1 << 20])),
            store_decimal_as_integer=True,
        )
        for batch_rows, unscaled in itertools.product((999, 1 << 17), (True, False)):
            found = chunks(path, batch_rows, unscaled=unscaled)
            assert found == expected(path, unscaled), (shape, uses_dictionary, batch_rows, unscaled)


def test_values_of_required_columns_are_those_of_pyarrow(tmp_path: Path) -> None:
    table = made(20_000, 700, 0.0)
    required = pa.schema([pa.field(field.name, field.type, nullable=False) for field in table.schema])
    path = tmp_path / "required.parquet"
    pq.write_table(table.cast(required), path, data_page_size=2000, store_decimal_as_integer=True)
    assert chunks(path, 3001) == expected(path)


@pytest.mark.parametrize("uses_dictionary", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_rows_that_pass_a_filter_are_those_of_pyarrow(
    tmp_path: Path, uses_dictionary: bool, share: float, is_sorted: bool
) -> None:
    table = made(30_000, 4000, share)
    if is_sorted:
        table = table.sort_by("l")
    path = tmp_path / "filtered.parquet"
    settings = {"data_page_size": 3000, "row_group_size": 7000, "store_decimal_as_integer": True}
    pq.write_table(table, path, use_dictionary=uses_dictionary, **settings)
    output = fields(SPEC)
    scan = FileScan(format="parquet", output=output, input_id=0, num_data_columns=len(output))
    for low, high in ((0, 10**5), (10**6, 10**6), (-(10**6), 10**6), (-5, 5)):
        above = call("GreaterThanOrEqual", "boolean", column(scan, "l"), literal(low, "bigint"))
        below = call("LessThanOrEqual", "boolean", column(scan, "l"), literal(high, "bigint"))
        node = Filter(output=output, condition=call("And", "boolean", above, below), child=scan)
        split = ScanSplit(path=str(path), start=0, length=path.stat().st_size)
        found = run(node, builder=Builder(scans={0: [split]}))
        kept = table.filter(pc.and_(pc.greater_equal(table["l"], low), pc.less_equal(table["l"], high)))
        assert found.equals(kept.select(found.schema.names).cast(found.schema)), (low, high)


def conjuncts(scan: FileScan, table: pa.Table) -> list[tuple[Expr, pa.Array]]:
    """Return random conditions on columns of the scan, and for each row of the table whether it fulfils them."""

    def compared(name: str, column_name: str, kind: str, value: Any) -> Expr:
        return call(name, "boolean", column(scan, column_name), literal(value, kind))

    number, day, word = int(RANDOM.integers(-(10**6), 10**6)), int(RANDOM.integers(0, 20000)), RANDOM.integers(-40, 40)
    text, least = f"text {word}", Decimal(int(RANDOM.integers(-(10**6), 10**6))).scaleb(-4)
    is_text = pc.fill_null(pc.equal(table["s"], text), False)
    has_text = any(field.name == "s" for field in scan.output)
    found = [
        (compared("LessThan", "l", "bigint", number), pc.less(table["l"], number)),
        (compared("GreaterThan", "i", "int", number), pc.greater(table["i"], number)),
        (compared("LessThanOrEqual", "t", "date", day), pc.less_equal(table["t"], pa.scalar(day, pa.date32()))),
        (compared("GreaterThanOrEqual", "n18", "decimal(18,4)", least), pc.greater_equal(table["n18"], least)),
        (call("IsNotNull", "boolean", column(scan, "d")), pc.is_valid(table["d"])),
    ]
    if has_text:
        found.append((compared("EqualTo", "s", "string", text), is_text))
        found.append((call("Not", "boolean", compared("EqualNullSafe", "s", "string", text)), pc.invert(is_text)))
    chosen = RANDOM.permutation(len(found))[: RANDOM.integers(1, 4)]
    return [(found[i][0], pc.fill_null(found[i][1], False)) for i in chosen]


@pytest.mark.rotates
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_rows_that_pass_several_tests_are_those_of_pyarrow(tmp_path: Path, compression: str, version: str) -> None:
    """Tests of codes, of values, and of both: some columns have plain pages, and batches end within pages."""
    shapes = ((0.0, 60, 1), (0.1, 60, 1), (0.3, 5000, 1), (1.0, 1, 1), (0.0, 60, 25), (0.05, 5000, 25))
    for (share, distinct, repeated), limit in itertools.product(shapes, (600, 1 << 20)):
        output = fields(SPEC if limit > 600 else SPEC.removesuffix(", s:string"))  # plain texts stay with pyarrow
        scan = FileScan(format="parquet", output=output, input_id=0, num_data_columns=len(output))
        table, path = made(9000, distinct, share, repeated), tmp_path / f"{share}-{distinct}-{repeated}-{limit}.parquet"
        sizes = {"data_page_size": int(RANDOM.choice([300, 5000])), "row_group_size": int(RANDOM.choice([2500, 9000]))}
        settings = {"compression": compression, "data_page_version": version, "dictionary_pagesize_limit": limit}
        pq.write_table(table, path, store_decimal_as_integer=True, **sizes, **settings)
        split = ScanSplit(path=str(path), start=0, length=path.stat().st_size)
        for batch_rows in (333, 4000, 131_072):
            options = Settings(ansi=True, time_zone="UTC", options=Options({"batchRows": str(batch_rows)}))
            for _ in range(3):
                parts = conjuncts(scan, table)
                condition = reduce(lambda left, right: call("And", "boolean", left, right), [part for part, _ in parts])
                node = Filter(output=output, condition=condition, child=scan)
                found = run(node, builder=Builder(options, scans={0: [split]}))
                kept = table.filter(reduce(pc.and_, [mask for _, mask in parts]))
                assert found.equals(kept.select(found.schema.names).cast(found.schema)), (condition, batch_rows)


@pytest.mark.rotates
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("compression", ["snappy", "none"])
def test_damaged_pages_raise_or_return_as_many_rows(tmp_path: Path, version: str, compression: str) -> None:
    path = tmp_path / "damaged.parquet"
    pq.write_table(
        made(3000, 200, 0.1, 15), path, compression=compression, data_page_version=version, data_page_size=1000
    )
    data = path.read_bytes()
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    raised = 0
    for _ in range(300):
        damaged = bytearray(data)
        for place in RANDOM.integers(4, end, 3):
            damaged[place] = RANDOM.integers(0, 256)
        path.write_bytes(damaged)
        try:
            found = chunks(path, 1000, "l:bigint, d:double, ts:timestamp, t:date")
            assert found is not None and found.num_rows == 3000
        except (*READ_ERRORS, CorruptFileError):
            raised += 1
    assert raised


def test_stored_page_of_a_wrong_size_is_refused(tmp_path: Path) -> None:
    """The size that a header declares may lie after the end of the file."""
    path = tmp_path / "stored.parquet"
    pq.write_table(pa.table({"l": range(200)}), path, compression="none", use_dictionary=False)
    data = path.read_bytes()
    header = bytes([0x15, 0x00, 0x15]) + _varint(2 * 1607)  # a data page, and its size
    assert data.count(header) == 1
    path.write_bytes(data.replace(header, bytes([0x15, 0x00, 0x15]) + _varint(2 * 8000)))
    with pytest.raises(READ_ERRORS):
        chunks(path, 1000, "l:bigint")


def _varint(number: int) -> bytes:
    """Return a number in two bytes of seven bits."""
    return bytes([number & 127 | 128, number >> 7])

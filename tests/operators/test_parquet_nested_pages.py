"""Nested columns that the engine decodes itself: the values are pyarrow's, however they are written and read."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.errors import CorruptFileError
from pyspark_pipeline.kernels import compile_cache
from pyspark_pipeline.operators.scan.parquet.file import ParquetFileReader
from pyspark_pipeline.operators.scan.parquet.pages import ColumnPages
from pyspark_pipeline.operators.scan.reader import READ_ERRORS
from pyspark_pipeline.plan.nodes import Field, FileScan, Filter, ScanSplit
from tests.operators.kit import Builder, call, column, literal, run

RANDOM = np.random.default_rng(23)

#: Columns that the engine decodes.
TYPES = {
    "a": pa.list_(pa.int64()),
    "ad": pa.list_(pa.float64()),
    "at": pa.list_(pa.string()),
    "an": pa.list_(pa.decimal128(12, 2)),
    "ar": pa.list_(pa.field("item", pa.int32(), nullable=False)),
    "s": pa.struct([("x", pa.int64()), ("y", pa.string())]),
    "ss": pa.struct(
        [
            ("p", pa.struct([("q", pa.date32()), ("r", pa.float32())])),
            ("t", pa.timestamp("us", "UTC")),
        ]
    ),
    "sr": pa.struct([pa.field("p", pa.struct([pa.field("q", pa.int32())]), nullable=False)]),
    "as": pa.list_(pa.struct([("x", pa.int32()), ("y", pa.float64())])),
    "m": pa.map_(pa.string(), pa.int64()),
    "ms": pa.map_(pa.int32(), pa.struct([("v", pa.float64())])),
    "sa": pa.struct([("l", pa.list_(pa.int32())), ("m", pa.map_(pa.int64(), pa.string())), ("v", pa.int64())]),
}

#: Columns that pyarrow decodes: lists in lists, and leaves of types that only pyarrow knows.
OTHERS = {
    "aa": pa.list_(pa.list_(pa.int32())),
    "ab": pa.list_(pa.bool_()),
    "aw": pa.list_(pa.decimal128(30, 2)),
}


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decode pages though the cache of kernels may not be complete yet."""
    monkeypatch.setattr(compile_cache, "is_complete", lambda: True)


def made(kind: pa.DataType, rows: int, distinct: int, share: float, longest: int, is_nullable: bool = True) -> pa.Array:
    """Return random values of a type; a share of those that may be are NULL at each level."""
    valid = RANDOM.random(rows) >= (share if is_nullable else 0)
    mask = pa.array(~valid)
    if pa.types.is_struct(kind):
        parts = [made(field.type, rows, distinct, share, longest, field.nullable) for field in kind]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        counts = np.where(valid, RANDOM.integers(0, longest + 1, rows), 0)
        ends = np.cumsum(counts)
        starts = pa.array(np.append(ends - counts, ends[-1:] if rows else 0), mask=np.append(~valid, False))
        starts, size = starts.cast(pa.int32()), int(counts.sum())
        if pa.types.is_map(kind):
            keys = made(kind.key_type, size, distinct, 0.0, longest)
            items = made(kind.item_type, size, distinct, share, longest)
            return pa.MapArray.from_arrays(starts, keys, items, kind)
        inner = made(kind.value_type, size, distinct, share, longest, kind.value_field.nullable)
        return pa.ListArray.from_arrays(starts, inner, kind)
    numbers = RANDOM.integers(0, distinct, rows)
    if pa.types.is_string(kind):
        texts = pc.binary_join_element_wise("text é", pa.array(numbers).cast(pa.string()), "")
        return pc.if_else(pa.array(valid), texts, None)
    plain = pa.array(numbers.astype(np.int32) if pa.types.is_date32(kind) else numbers, mask=~valid)
    return plain.cast(pa.decimal128(30, 2)).cast(kind) if pa.types.is_decimal(kind) else plain.cast(kind)


def table_of(types: Mapping[str, pa.DataType], rows: int, distinct: int, share: float, longest: int) -> pa.Table:
    return pa.table({name: made(kind, rows, distinct, share, longest) for name, kind in types.items()})


def wire_type(kind: pa.DataType) -> str:
    """Return the type's name in a plan."""
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{json.dumps(field.name)}:{wire_type(field.type)}' for field in kind)}>"
    if pa.types.is_map(kind):
        return f"map<{wire_type(kind.key_type)},{wire_type(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"array<{wire_type(kind.value_type)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    names = {"int64": "bigint", "int32": "int", "bool": "boolean", "date32[day]": "date"}
    return names.get(str(kind), str(kind))


def requested(types: Mapping[str, pa.DataType]) -> list[Field]:
    return [Field(id=i, name=name, type=parse_type(wire_type(kind))) for i, (name, kind) in enumerate(types.items())]


def positional(value: Any) -> Any:
    """Return a value of Python with structs as tuples: a chunk's structs have fields without Spark's names."""
    if isinstance(value, dict):
        return tuple(map(positional, value.values()))
    if isinstance(value, list | tuple):
        return [positional(item) for item in value]
    return value


def columns_of(table: pa.Table) -> dict[str, list[Any]]:
    """Return the columns of a table, or of a result, as Python's values."""
    return {name: positional(table[name].to_pylist()) for name in table.schema.names}


def rows_of(path: Path, types: Mapping[str, pa.DataType], batch_rows: int) -> dict[str, list[Any]]:
    """Read the columns of a file as the scan does, as Python's values."""
    reader = ParquetFileReader(str(path), requested(types), False)
    found: dict[str, list[Any]] = {name: [] for name in types}
    for group in range(reader.metadata.num_row_groups):
        for chunk in reader.chunks(group, batch_rows):
            assert 0 < chunk.num_rows <= batch_rows
            for name, array in zip(types, chunk.columns, strict=True):
                array.validate(full=True)
                found[name] += positional(array.to_pylist())
    reader.close()
    return found


SHAPES = [
    # rows, distinct values, share of NULLs, longest list
    (0, 1, 0.0, 1),
    (1, 1, 0.0, 3),
    (1, 1, 1.0, 1),
    (3000, 1, 0.0, 0),
    (3000, 1, 1.0, 1),
    (3000, 40, 0.2, 4),
    (3000, 40, 0.0, 1),
    (600, 2000, 0.01, 60),
]


@pytest.fixture
def without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if pyarrow decodes a column."""

    def refuse(*_: Any) -> None:
        raise AssertionError("pyarrow decodes a column")

    monkeypatch.setattr(ParquetFileReader, "_other_batches", refuse)


@pytest.mark.rotates
@pytest.mark.usefixtures("without_pyarrow")
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["snappy", "zstd", "none"])
def test_values_are_those_of_pyarrow(tmp_path: Path, version: str, compression: str) -> None:
    for number, (shape, uses_dictionary) in enumerate(itertools.product(SHAPES, [True, False])):
        texts = () if uses_dictionary and shape[0] else ("at", "s", "m", "sa")  # pyarrow's without a dictionary
        types = {name: kind for name, kind in TYPES.items() if name not in texts}
        table, path = table_of(types, *shape), tmp_path / f"{number}.parquet"
        pq.write_table(
            table,
            path,
            compression=compression,
            use_dictionary=uses_dictionary,
            data_page_version=version,
            data_page_size=int(RANDOM.choice([200, 3000, 1 << 20])),
            row_group_size=int(RANDOM.choice([500, 1 << 20])),
            write_batch_size=int(RANDOM.choice([7, 1024])),
            store_decimal_as_integer=True,
        )
        for batch_rows in (37, 999, 1 << 17):
            assert rows_of(path, types, batch_rows) == columns_of(table), (shape, uses_dictionary, batch_rows)


def test_columns_that_the_kernels_do_not_know_are_read_beside_the_others(tmp_path: Path) -> None:
    types = TYPES | OTHERS
    table, path = table_of(types, 2000, 50, 0.2, 4), tmp_path / "mixed.parquet"
    pq.write_table(table, path, data_page_size=900, row_group_size=700, dictionary_pagesize_limit=200)
    assert rows_of(path, types, 333) == columns_of(table)


@pytest.mark.usefixtures("without_pyarrow")
def test_some_fields_of_structs(tmp_path: Path) -> None:
    """A field that the file lacks is NULL; structs of which it has no field are NULL where the file's are."""
    table, path = table_of(TYPES, 2000, 50, 0.2, 4), tmp_path / "wide.parquet"
    pq.write_table(table, path, data_page_size=900, store_decimal_as_integer=True)
    types = {
        "s": pa.struct([("y", pa.string())]),
        "ss": pa.struct([("P", pa.struct([("r", pa.float32())]))]),
        "as": pa.list_(pa.struct([("other", pa.int64()), ("y", pa.float64())])),
        "ms": pa.map_(pa.int32(), pa.struct([("other", pa.int32())])),
        "sa": pa.struct([("l", pa.list_(pa.int32())), ("other", pa.string())]),
    }
    found = rows_of(path, types, 333)
    plain = table.to_pydict()
    assert found["s"] == [s and (s["y"],) for s in plain["s"]]
    assert found["ss"] == [s and (s["p"] and (s["p"]["r"],),) for s in plain["ss"]]
    assert found["as"] == [a and [e and (None, e["y"]) for e in a] for a in plain["as"]]
    assert found["ms"] == [m and [[k, v and (None,)] for k, v in m] for m in plain["ms"]]
    assert found["sa"] == [s and (s["l"], None) for s in plain["sa"]]


@pytest.mark.usefixtures("without_pyarrow")
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_rows_that_pass_a_test_of_another_column(tmp_path: Path, share: float) -> None:
    types = {"k": pa.int64()} | TYPES
    table, path = table_of(types, 5000, 100, share, 3), tmp_path / "filtered.parquet"
    pq.write_table(table, path, data_page_size=900, row_group_size=2000, store_decimal_as_integer=True)
    output = tuple(requested(types))
    scan = FileScan(format="parquet", output=output, input_id=0, num_data_columns=len(output))
    for bound in (0, 3, 50, 1000):
        condition = call("LessThan", "boolean", column(scan, "k"), literal(bound, "bigint"))
        split = ScanSplit(path=str(path), start=0, length=path.stat().st_size)
        found = run(Filter(output=output, condition=condition, child=scan), builder=Builder(scans={0: [split]}))
        assert columns_of(found) == columns_of(table.filter(pc.less(table["k"], bound)))


@pytest.mark.usefixtures("without_pyarrow")
def test_a_long_list_among_short_ones_is_read_in_few_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.ones(1000, dtype=np.int64)
    counts[500] = 1_000_000
    ends = pa.array(np.append(0, np.cumsum(counts)), pa.int32())
    table = pa.table({"a": pa.ListArray.from_arrays(ends, pa.array(np.arange(counts.sum())))})
    path = tmp_path / "long.parquet"
    pq.write_table(table, path, data_page_size=1 << 16)
    steps: list[int] = []
    read = ColumnPages.read_slots

    def counted(pages: ColumnPages, slots: int, *out: Any) -> None:
        steps.append(slots)
        read(pages, slots, *out)

    monkeypatch.setattr(ColumnPages, "read_slots", counted)
    assert rows_of(path, {"a": TYPES["a"]}, 100) == columns_of(table)
    assert len(steps) < 40


@pytest.mark.rotates
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["snappy", "none"])
def test_damaged_pages_raise_or_return_as_many_rows(tmp_path: Path, version: str, compression: str) -> None:
    path = tmp_path / "damaged.parquet"
    types = {name: TYPES[name] for name in ("a", "ss", "as", "m")}
    table = table_of(types, 1500, 200, 0.1, 3)
    pq.write_table(table, path, compression=compression, data_page_version=version, data_page_size=500)
    data = path.read_bytes()
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    raised = 0
    for _ in range(150):
        damaged = bytearray(data)
        for place in RANDOM.integers(4, end, 3):
            damaged[place] = RANDOM.integers(0, 256)
        path.write_bytes(damaged)
        try:
            reader = ParquetFileReader(str(path), requested(types), False)
            assert sum(chunk.num_rows for chunk in reader.chunks(0, 400)) == 1500
        except (*READ_ERRORS, CorruptFileError):
            raised += 1
    assert raised

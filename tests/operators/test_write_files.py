"""WriteFiles begins a file where the partition changes or a file is full, and gives it the footer of another writer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.errors import AncientDatetimeError
from pyspark_pipeline.operators.writes.parquet_footer import replace_footer
from pyspark_pipeline.plan.nodes import Fragment, ResultSink
from pyspark_pipeline.plan.writes import OldestValue, ParquetLayout, WriteFiles, WrittenColumn
from pyspark_pipeline.planner import depends_on_row_order
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import DEFAULTS, Builder, Chunks, fields, run


def footer_of(schema: pa.Schema, folder: Path, value: str = "") -> bytes:
    """Return the footer of a file without rows, in which a key has ``value``."""
    path = folder / "template.parquet"
    with pq.ParquetWriter(path, schema, version="1.0", store_schema=False) as writer:
        writer.add_key_value_metadata({"key": value})
    data = path.read_bytes()
    path.unlink()
    return data[-8 - int.from_bytes(data[-8:-4], "little") : -8]


def layout(footer: bytes, **changes: Any) -> ParquetLayout:
    known: dict[str, Any] = {
        "codec": "SNAPPY", "level": None, "timestamps": "INT96", "oldest": {}, "dictionary": True, "footer": footer,
        "row_group_bytes": 1 << 20, "page_bytes": 1 << 20, "page_rows": 20000, "dictionary_bytes": 1 << 20,
        "mode": 0o644,
    }  # fmt: skip
    return ParquetLayout(**(known | changes))


def written(child: Chunks, keys: Sequence[int], folder: Path, max_rows: int = 0, **changes: Any) -> WriteFiles:
    """Return the node that writes all columns but the ``keys``."""
    columns = tuple(
        WrittenColumn(ordinal=i, name=field.name, type=field.type, nullable=True)
        for i, field in enumerate(child.output)
        if i not in keys
    )
    schema = pa.schema([pa.field(c.name, c.type.arrow) for c in columns])
    output = (*(child.output[i] for i in keys), *fields("file:string, rows:bigint"))
    return WriteFiles(
        output=output,
        child=child,
        partition_columns=tuple(keys),
        columns=columns,
        max_rows=max_rows,
        layout=layout(footer_of(schema, folder), **changes),
    )


def files_of(node: WriteFiles, folder: Path) -> list[tuple[Any, ...]]:
    """Return partition values and the rows of each file, which are as many as the output says."""
    found = []
    for row in run(node, builder=Builder(staging=str(folder))).to_pylist():
        *values, name, rows = row.values()
        table = pq.read_table(folder / name)
        assert table.num_rows == rows
        found.append((*values, table.column(0).to_pylist()))
    assert len(list(folder.iterdir())) == len(found)
    return found


def rows_of(keys: Sequence[Any], chunk_rows: int) -> Chunks:
    table = pa.table({"k": pa.array(keys, pa.string()), "v": pa.array(range(len(keys)), pa.int64())})
    return leaf("k:string, v:bigint", chunks_of(table, chunk_rows))


@pytest.mark.parametrize("chunk_rows", [1, 2, 3, 100])
@pytest.mark.parametrize("max_rows", [0, 1, 2, 3])
@pytest.mark.parametrize("keys", [[], ["a"], [None, None, "", "a", "a", "a", "b"], ["a", "b", "b", "c", None], [None]])
def test_a_file_has_the_rows_of_one_partition(
    keys: list[str | None], max_rows: int, chunk_rows: int, tmp_path: Path
) -> None:
    found = files_of(written(rows_of(keys, chunk_rows), [0], tmp_path, max_rows), tmp_path)
    expected: list[tuple[Any, list[int]]] = []
    for row, key in enumerate(keys):
        full = bool(max_rows and expected and len(expected[-1][1]) == max_rows)
        if not expected or expected[-1][0] != key or full:
            expected.append((key, []))
        expected[-1][1].append(row)
    assert found == expected


@pytest.mark.parametrize("max_rows", [0, 4, 5, 10, 11])
def test_rows_without_partitions_fill_one_file_after_the_other(max_rows: int, tmp_path: Path) -> None:
    found = files_of(written(rows_of(["a"] * 10, 3), [], tmp_path, max_rows), tmp_path)
    size = max_rows or 10
    assert [len(rows) for (rows,) in found] == [len(range(10)[i : i + size]) for i in range(0, 10, size)]


def test_row_groups_end_at_their_bytes(tmp_path: Path) -> None:
    node = written(rows_of(["a"] * 1000, 10), [0], tmp_path, row_group_bytes=800)
    run(node, builder=Builder(staging=str(tmp_path)))
    about = pq.ParquetFile(tmp_path / "0.parquet").metadata
    assert [about.row_group(i).num_rows for i in range(about.num_row_groups)] == [100] * 10


def test_numbers_with_nan_have_no_bounds(tmp_path: Path) -> None:
    values = [1.0] * 5 + [math.nan] + [2.0] * 14
    table = pa.table({"d": values, "l": [[v] for v in values], "i": range(20)})
    node = written(leaf("d:double, l:array<double>, i:bigint", chunks_of(table, 5)), [], tmp_path, row_group_bytes=1)
    run(node, builder=Builder(staging=str(tmp_path)))
    about = pq.ParquetFile(tmp_path / "0.parquet").metadata
    bounds = [[about.row_group(g).column(c).statistics.has_min_max for c in range(3)] for g in range(4)]
    assert bounds == [[True] * 3, [False, False, True], [True] * 3, [True] * 3]
    assert about.row_group(1).column(0).statistics.null_count == 0
    assert repr(pq.read_table(tmp_path / "0.parquet").to_pylist()) == repr(table.to_pylist())


def test_the_first_page_decides_on_dictionaries(tmp_path: Path) -> None:
    rows = 30_000
    table = pa.table({"a": range(rows), "b": [i % 9 for i in range(rows)], "c": [[i] for i in range(rows)]})
    node = written(leaf("a:bigint, b:bigint, c:array<bigint>", chunks_of(table, 7000)), [], tmp_path)
    run(node, builder=Builder(staging=str(tmp_path)))
    about = pq.ParquetFile(tmp_path / "0.parquet").metadata
    assert [about.row_group(0).column(c).has_dictionary_page for c in range(3)] == [False, True, True]
    assert pq.read_table(tmp_path / "0.parquet").equals(table)


def test_an_old_day_raises(tmp_path: Path) -> None:
    table = pa.table({"d": pa.array([[0, None], [-5]], pa.list_(pa.date32()))})
    oldest = {"date": OldestValue(value=-4, format="Parquet")}
    node = written(leaf("d:array<date>", chunks_of(table, 5)), [], tmp_path, oldest=oldest)
    with pytest.raises(AncientDatetimeError, match="Parquet"):
        run(node, builder=Builder(staging=str(tmp_path)))


def test_a_footer_takes_all_but_rows_of_another(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    columns = {f"c{i}": list(range(40)) for i in range(20)}
    pq.write_table(pa.table(columns), path, version="1.0", row_group_size=2, store_schema=False)
    other = pa.schema([pa.field(f"d{i}", pa.int64()) for i in range(20)])
    replace_footer(str(path), footer_of(other, tmp_path, "ä" * 300), {(g, 3) for g in range(20)})
    file = pq.ParquetFile(path)
    assert file.schema_arrow.names == other.names
    assert file.metadata.metadata[b"key"] == ("ä" * 300).encode()
    assert file.metadata.num_row_groups == 20
    assert [file.metadata.row_group(19).column(c).statistics.has_min_max for c in (2, 3)] == [True, False]
    assert file.read().column(19).to_pylist() == columns["c19"]


def test_partitions_need_the_order_of_their_rows(tmp_path: Path) -> None:
    for keys, expected in (([0], True), ([], False)):
        node = written(rows_of(["a"], 1), keys, tmp_path)
        fragment = Fragment(id=1, root=node, sink=ResultSink(), settings=DEFAULTS)
        assert depends_on_row_order(fragment) == expected

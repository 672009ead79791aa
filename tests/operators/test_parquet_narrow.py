"""Decimals read as unscaled integers below a filter of ranges: the same rows as if read as decimal128."""

from __future__ import annotations

import dataclasses
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.operators.scan.parquet import unscaled as parquet_narrow
from pyspark_pipeline.operators.scan.parquet.file import ParquetFileReader
from pyspark_pipeline.operators.scan.parquet.unscaled import plain_footer, unscaled_leaves
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import FileScan, Filter, Project, ScanSplit
from tests.operators.kit import DEFAULTS, Builder, call, column, fields, literal, run

ROWS = 5000
SPEC = "k:int, price:decimal(15;2), small:decimal(7;3), wide:decimal(30;2), s:string, d:date, missing:decimal(9;2)"


def _table() -> pa.Table:
    numbers = [i * 7919 % 10_007 - 5000 for i in range(ROWS)]
    return pa.table(
        {
            "k": pa.array(range(ROWS), pa.int32()),
            "price": pa.array([None if i % 11 == 0 else Decimal(i).scaleb(-2) for i in numbers], pa.decimal128(15, 2)),
            "small": pa.array([Decimal(i % 97).scaleb(-3) for i in numbers], pa.decimal128(7, 3)),
            "wide": pa.array([Decimal(i).scaleb(-2) for i in numbers], pa.decimal128(30, 2)),
            "s": pa.array([["x", "y", None][i % 3] for i in range(ROWS)]),
            "d": pa.array([i % 1000 for i in numbers], pa.int32()).cast(pa.date32()),
            "nested": pa.array([{"p": Decimal("1.25")}] * ROWS, pa.struct([("p", pa.decimal128(5, 2))])),
        }
    )


@pytest.fixture(params=["plain", "arrow schema", "not as integers", "dictionary off, v2 pages"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / "t.parquet"
    how: dict[str, Any] = {"store_schema": request.param == "arrow schema"}
    how["store_decimal_as_integer"] = request.param != "not as integers"
    if request.param.startswith("dictionary off"):
        how |= {"use_dictionary": False, "data_page_version": "2.0"}
    pq.write_table(_table(), made, row_group_size=2000, **how)
    return made


def _scan() -> FileScan:
    output = fields(SPEC)
    return FileScan(format="parquet", output=output, input_id=0, num_data_columns=len(output))


def _builder(path: Path, batch_rows: int) -> Builder:
    split = ScanSplit(path=str(path), start=0, length=path.stat().st_size)
    options = Options({"batchRows": str(batch_rows)})
    return Builder(dataclasses.replace(DEFAULTS, options=options), scans={0: [split]})


@pytest.mark.parametrize("batch_rows", [700, 4096])
def test_filter_on_unscaled_decimals_returns_the_same_rows(path: Path, batch_rows: int) -> None:
    """Keep few, many and all rows; read row groups at once and incrementally; with and without a projection above."""
    expected = _table().select(["k", "price", "small", "wide", "s", "d"]).to_pylist()
    node = _scan()
    price, small, wide = column(node, "price"), column(node, "small"), column(node, "wide")
    for bound in (-6000, -4900, 0, 4900, 6000):
        limit = Decimal(bound).scaleb(-2)
        parts = [call("LessThan", "boolean", price, literal(limit, "decimal(15,2)"))]
        checks = [lambda row, limit=limit: row["price"] is not None and row["price"] < limit]
        if bound == 4900:
            parts.append(call("GreaterThanOrEqual", "boolean", small, literal(Decimal("0.050"), "decimal(7,3)")))
            parts.append(call("LessThan", "boolean", wide, literal(Decimal("10.00"), "decimal(30,2)")))
            checks.append(lambda row: row["small"] >= Decimal("0.05") and row["wide"] < 10)
        condition = parts[0]
        for part in parts[1:]:
            condition = call("And", "boolean", condition, part)
        filtered = Filter(output=node.output, condition=condition, child=node)
        wanted = [row for row in expected if all(check(row) for check in checks)]
        made = run(filtered, builder=_builder(path, batch_rows))
        assert made.drop_columns(["missing"]).to_pylist() == wanted
        assert made.column("missing").null_count == made.num_rows
        some = Project(output=(node.output[4], node.output[1]), exprs=(column(node, "s"), price), child=filtered)
        made = run(some, builder=_builder(path, batch_rows))
        assert made.to_pylist() == [{"s": row["s"], "price": row["price"]} for row in wanted]


def test_scan_without_filter_returns_decimals(path: Path) -> None:
    made = run(_scan(), builder=_builder(path, 4096))
    assert made.drop_columns(["missing"]).to_pylist() == _table().drop_columns(["nested"]).to_pylist()


def _types(path: Path, spec: str) -> list[pa.DataType]:
    reader = ParquetFileReader(str(path), fields(spec), False, unscaled_decimals=True)
    return next(reader.chunks(0, 10_000)).schema.types


def test_decimals_are_read_unscaled_only_if_stored_as_integers_of_equal_scale(tmp_path: Path) -> None:
    """Integers only if scale and precision allow it for every stored integer, else decimals; other types unchanged."""
    path = tmp_path / "t.parquet"
    pq.write_table(_table(), path, store_decimal_as_integer=True)
    assert _types(path, SPEC) == [
        pa.int32(), pa.int64(), pa.int32(), pa.decimal128(30, 2), pa.dictionary(pa.int32(), pa.string()), pa.date32(),
        pa.decimal128(9, 2),
    ]  # fmt: skip
    assert _types(path, "price:decimal(20;2)") == [pa.int64()]
    assert _types(path, "price:decimal(20;4), small:decimal(7;3)") == [pa.decimal128(20, 4), pa.decimal128(7, 3)]
    pq.write_table(_table(), tmp_path / "bytes.parquet")
    assert _types(tmp_path / "bytes.parquet", "price:decimal(15;2)") == [pa.decimal128(15, 2)]


def test_unscaled_decimals_widen_to_the_scan_precision(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(_table(), path, store_decimal_as_integer=True)
    node = FileScan(format="parquet", output=fields("price:decimal(20;2)"), input_id=0, num_data_columns=1)
    price = column(node, "price")
    condition = call("GreaterThan", "boolean", price, literal(Decimal("49.90"), "decimal(20,2)"))
    made = run(Filter(output=node.output, condition=condition, child=node), builder=_builder(path, 4096))
    wanted = [value for value in _table().column("price").to_pylist() if value is not None and value > Decimal("49.9")]
    assert made.column("price").to_pylist() == wanted and wanted
    assert made.schema.types == [pa.decimal128(20, 2)]


def _paths(footer: pq.FileMetaData) -> set[str]:
    return {footer.schema.column(leaf).path for leaf in unscaled_leaves(footer)}


def test_unscaled_footer_differs_only_in_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(_table(), path, row_group_size=100, store_decimal_as_integer=True)
    footer = pq.read_metadata(path)
    made = plain_footer(str(path), footer, unscaled_leaves(footer))
    assert made is not None and _paths(footer) == {"price", "small", "nested.p"}
    assert made.schema.to_arrow_schema().field("s").type == pa.string()
    assert made.schema.to_arrow_schema().field("d").type == pa.date32()
    for group in range(footer.num_row_groups):
        for place in range(footer.num_columns):
            a, b = (each.row_group(group).column(place) for each in (footer, made))
            assert (a.data_page_offset, a.total_compressed_size) == (b.data_page_offset, b.total_compressed_size)
    assert plain_footer(str(path), made, unscaled_leaves(made)) is None


def test_invalid_footer_is_not_rewritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Truncated or changed bytes never raise: the copy describes the same columns, or is not used."""
    path = tmp_path / "t.parquet"
    pq.write_table(_table(), path, store_decimal_as_integer=True)
    footer = pq.read_metadata(path)
    data = parquet_narrow._read_footer(str(path))
    generator = random.Random(1)
    used = 0
    for turn in range(600):
        broken = bytearray(data[: len(data) - turn // 2 if turn % 2 else len(data)])
        if turn % 2 == 0:
            broken[generator.randrange(min(len(broken), 400))] ^= 1 << generator.randrange(8)
        monkeypatch.setattr(parquet_narrow, "_read_footer", lambda path, broken=bytes(broken): broken)
        made = plain_footer(str(path), footer, unscaled_leaves(footer))
        if made is not None:
            used += 1
            assert parquet_narrow._describes_same(footer, made, unscaled_leaves(footer))
    assert used < 500

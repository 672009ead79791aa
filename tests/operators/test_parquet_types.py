"""Columns of types other than the schema's, files with missing keys, and the errors that name them."""

from __future__ import annotations

import pickle
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.errors import (
    ColumnTypeError,
    CorruptFileError,
    DuplicateColumnError,
    FooterError,
    MissingFileError,
    PipelineError,
)
from pyspark_pipeline.operators.scan.formats import file_format
from pyspark_pipeline.operators.scan.parquet import footer as parquet_footer
from pyspark_pipeline.operators.scan.parquet import thrift as parquet_thrift
from pyspark_pipeline.operators.scan.parquet.file import ParquetFileReader
from pyspark_pipeline.operators.scan.reader import ReadRequest
from pyspark_pipeline.plan.nodes import FileScan, ScanSplit
from tests.operators.kit import call, column, fields, literal


def _reader(path: Path, spec: str, unscaled_decimals: bool = False) -> ParquetFileReader:
    return ParquetFileReader(str(path), fields(spec), False, unscaled_decimals)


def _rows(reader: ParquetFileReader) -> list[list[object]]:
    groups = range(reader.metadata.num_row_groups)
    chunks = [chunk for group in groups for chunk in reader.chunks(group, 1000)]
    return [[value for chunk in chunks for value in chunk.column(i).to_pylist()] for i in range(chunks[0].num_columns)]


def test_integer_read_as_decimal_is_not_its_unscaled_value(tmp_path: Path) -> None:
    """Only decimals of the file may be returned as unscaled integers."""
    path = tmp_path / "t.parquet"
    data = {"n": pa.array([7, None], pa.int64()), "d": pa.array([Decimal("1.25"), None], pa.decimal128(10, 2))}
    pq.write_table(pa.table(data), path, store_decimal_as_integer=True)
    reader = _reader(path, "n:decimal(22;2), d:decimal(10;2)", unscaled_decimals=True)
    assert _rows(reader) == [[Decimal("7.00"), None], [125, None]]


def test_decimal_read_as_integer_leaves_other_columns_decimals(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    values = pa.array([Decimal("1.25"), None, Decimal("-2.00")], pa.decimal128(10, 2))
    data = pa.table({"a": values, "b": values, "c": values.cast(pa.decimal128(5, 2))})
    pq.write_table(data, path, store_decimal_as_integer=True)
    for unscaled in (False, True):
        made = _rows(_reader(path, "a:bigint, b:decimal(12;3), c:tinyint", unscaled))
        assert made == [[125, None, -200], [Decimal("1.250"), None, Decimal("-2.000")], [125, None, 56]]


def test_footer_that_cannot_be_rewritten_raises_corrupt_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.array([Decimal("1.25")], pa.decimal128(10, 2))}), path)
    monkeypatch.setattr(parquet_footer, "plain_footer", lambda *_: None)
    with pytest.raises(CorruptFileError, match=r"column a is stored as decimal128.* and cannot be read as binary"):
        _rows(_reader(path, "a:binary"))


def test_parquet_mr_interval_is_read_as_bytes(tmp_path: Path) -> None:
    """parquet-mr also annotates INTERVAL as a column of nulls, for which pyarrow would read nulls."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"g": pa.array([b"0123456789ab"], pa.binary(12))}), path, store_schema=False)
    data, footer = path.read_bytes(), parquet_thrift.footer_bytes(str(path))
    fields_of, _ = parquet_thrift.struct_fields(footer, 0, last=2)
    _, _, at = parquet_thrift.list_header(footer, fields_of[-1][2])
    _, at = parquet_thrift.struct_fields(footer, at)
    element, end = parquet_thrift.struct_fields(footer, at)
    interval, nulls = bytes([(6 - element[-1][0]) << 4 | 5, 42]), bytes([4 << 4 | 12, 11 << 4 | 12, 0, 0])
    changed = footer[: end - 1] + interval + nulls + footer[end - 1 :]
    length = len(changed).to_bytes(4, "little")
    path.write_bytes(data[: -8 - len(footer)] + changed + length + b"PAR1")
    assert _rows(_reader(path, "g:binary")) == [[b"0123456789ab"]]
    with pytest.raises(ColumnTypeError):
        _rows(_reader(path, "g:void"))


def test_row_groups_of_unzoned_timestamps_are_pruned_by_instants(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    stamps = pa.array([1_000_000 * i for i in range(100)], pa.timestamp("us"))
    pq.write_table(pa.table({"t": stamps}), path, row_group_size=10)
    output = fields("t:timestamp")
    node = FileScan(format="parquet", output=output, input_id=0, num_data_columns=1)
    conjunct = call("GreaterThan", "boolean", column(node, "t"), literal(84_000_000, "timestamp"))
    reader = ParquetFileReader(str(path), output, False)
    groups = reader.row_groups(ScanSplit(path=str(path), start=0, length=path.stat().st_size))
    assert (groups, reader.may_match(groups, (conjunct,))) == (list(range(10)), [8, 9])


def test_type_mismatch_raises_with_file_column_and_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"S": ["x"]}), path)
    with pytest.raises(ColumnTypeError) as caught:
        _rows(_reader(path, "s:int"))
    error = caught.value
    assert (error.path, error.column, error.expected, error.found) == (str(path), "[S]", "int", "BINARY")


def test_missing_file_raises_missing_file_error(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="does not exist") as caught:
        file_format("parquet").open_file(str(tmp_path / "t.parquet"), ReadRequest(columns=fields("s:int")))
    assert caught.value.path == str(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    "error",
    [
        CorruptFileError("m", "p"),
        MissingFileError("m", "p"),
        FooterError("m", "p"),
        DuplicateColumnError("m", "p", "a", ("a", "A")),
        ColumnTypeError("m", "p", "[c]", "int", "BINARY"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_file_errors_pickle(error: PipelineError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), vars(again), str(again)) == (type(error), vars(error), "m")

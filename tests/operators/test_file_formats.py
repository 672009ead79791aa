"""A format that a test registers: a scan shares, prunes, counts and closes its row groups as those of any format.

The format is Arrow's file format. Its reader takes the least and the greatest value of each record batch as statistics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyspark_pipeline.errors import CorruptFileError, MissingFileError, UnsupportedPlanError
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.local import LocalQuery
from pyspark_pipeline.local.write import call, column, fields, file_splits, fragment, literal, scan, where
from pyspark_pipeline.operators.scan import formats
from pyspark_pipeline.operators.scan.formats import RequiredSetting, file_format, format_manifest, reads_format
from pyspark_pipeline.operators.scan.reader import ReadRequest
from pyspark_pipeline.operators.scan.row_group_pruning import ColumnBounds, may_match
from pyspark_pipeline.plan.expr import Expr, columns_read
from pyspark_pipeline.plan.joins import JoinType
from pyspark_pipeline.plan.nodes import FileScan, Limit, Node, Range, ScanSplit
from pyspark_pipeline.plan.wire import decode_node
from tests.operators.join_kit import join

FILES, GROUPS, ROWS = 3, 5, 100


class ArrowReader:
    """Reads one Arrow file; the record batches are its row groups."""

    closed: Counter[str] = Counter()
    opened: list[str] = []
    read: list[int] = []
    requests: list[ReadRequest] = []

    def __init__(self, path: str, request: ReadRequest) -> None:
        self._path, self._columns = path, request.columns
        self._size = Path(path).stat().st_size
        self._file = pa.ipc.open_file(pa.OSFile(path))
        self.is_open = True
        self.opened.append(path)
        self.requests.append(request)

    def row_groups(self, split: ScanSplit) -> list[int]:
        count = self._file.num_record_batches
        return [i for i in range(count) if split.start <= self._size * i // count < split.start + split.length]

    def may_match(self, groups: Sequence[int], conjuncts: Sequence[Expr]) -> list[int]:
        read = columns_read(conjuncts) & set(range(len(self._columns)))
        return [i for i in groups if may_match(conjuncts, {ordinal: self._bounds(i, ordinal) for ordinal in read})]

    def _bounds(self, group: int, ordinal: int) -> ColumnBounds:
        values = self._column(self._file.get_batch(group), ordinal)
        low, high = pc.min_max(values).as_py().values()
        return ColumnBounds(low=low, high=high, nulls=values.null_count, rows=len(values))

    def num_rows(self, group: int) -> int:
        return int(self._file.get_batch(group).num_rows)

    def num_bytes(self, group: int) -> int:
        return int(self._file.get_batch(group).nbytes)

    def chunks(self, group: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        assert self.is_open
        self.read.append(group)
        batch = self._file.get_batch(group)
        for start in range(0, batch.num_rows, batch_rows):
            part = batch.slice(start, batch_rows)
            yield make_chunk([self._column(part, i) for i in range(len(self._columns))], part.num_rows)

    def close(self) -> None:
        self.is_open = False
        self.closed[self._path] += 1

    def _column(self, batch: pa.RecordBatch, ordinal: int) -> pa.Array:
        field = self._columns[ordinal]
        found = batch.schema.get_field_index(field.name)
        return batch.column(found) if found >= 0 else pa.nulls(batch.num_rows, field.type.arrow)


@pytest.fixture(autouse=True)
def arrow_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the format for one test."""
    monkeypatch.setattr(formats, "_FORMATS", dict(formats._FORMATS))
    for name in ("closed", "opened", "read", "requests"):
        monkeypatch.setattr(ArrowReader, name, type(getattr(ArrowReader, name))())
    setting = RequiredSetting(conf="spark.sql.arrow.strict", value="true")
    reads_format("arrow", label="Arrow", types=["bigint", "string"], settings=[setting])(ArrowReader)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three files of five record batches of 100 rows; n ascends over all files."""
    paths = [tmp_path / f"{number}.arrow" for number in range(FILES)]
    for number, path in enumerate(paths):
        table = pa.table({"n": pa.array(range(number * 500, number * 500 + 500), pa.int64()), "s": ["x"] * 500})
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=ROWS)
    return paths


def numbers(spec: str = "n:bigint, s:string", **further: Any) -> FileScan:
    output = fields(spec)
    return FileScan(output=output, input_id=0, format="arrow", num_data_columns=len(output), **further)


def executed(
    root: Node, splits: Sequence[Any], threads: int = 1, further: Mapping[int, Any] | None = None
) -> tuple[pa.Table, dict[str, int]]:
    """Run ``root`` in one instance; return its rows and the counters of its scan."""
    options = {"batchRows": "30", "debug.checkChunks": "true"}
    given = {0: splits, **(further or {})}
    query = LocalQuery([fragment(1, root, splits=given, dop=threads, options=options)], threads=threads)
    table = query.table()
    (metrics,) = (found for found in query.metrics().values() if "pipelines" in found)
    operators = [operator for pipeline in metrics["pipelines"] for operator in pipeline["operators"]]
    (counters,) = (operator["counters"] for operator in operators if operator["name"] == "FileScan")
    return table, counters


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("pieces", [1, 4])
def test_scan_reads_every_row_group_once(files: list[Path], pieces: int, threads: int) -> None:
    root = scan("n:bigint, s:string, missing:bigint", format="arrow")
    table, counters = executed(root, file_splits(files, pieces), threads)
    assert sorted(table.column(0).to_pylist()) == list(range(FILES * 500))
    assert set(table.column(1).to_pylist()) == {"x"} and table.column(2).null_count == FILES * 500
    assert (counters["row_groups_read"], counters["files_opened"]) == (FILES * GROUPS, FILES * pieces)
    assert counters["column_bytes"] > FILES * 500 * 8
    assert ArrowReader.closed == Counter(ArrowReader.opened)


def test_filters_of_the_scan_and_of_joins_prune_row_groups(files: list[Path]) -> None:
    node = numbers()
    late = call("GreaterThanOrEqual", "boolean", column(node, "n"), literal(1200, "bigint"))
    pushed = numbers(pushed=(late,))
    table, counters = executed(where(pushed, late), file_splits(files))
    assert sorted(table.column(0).to_pylist()) == list(range(1200, 1500))
    assert (counters["row_groups_read"], counters["row_groups_pruned"]) == (3, 12)
    keys = Range(output=fields("n:bigint"), input_id=1)
    joined = join(node, keys, JoinType.LEFT_SEMI, False, ["n"])
    table, counters = executed(joined, file_splits(files), further={1: (1390, 20, 1)})
    assert sorted(table.column(0).to_pylist()) == list(range(1390, 1410))
    assert (counters["row_groups_read"], counters["row_groups_pruned_by_joins"]) == (2, 13)


def test_partition_values_are_constant_columns(files: list[Path]) -> None:
    output = fields("n:bigint, p:string")
    root = FileScan(output=output, input_id=0, format="arrow", num_data_columns=1)
    splits = [split | {"partitionValues": [split["path"][-7:]]} for split in file_splits(files)]
    table, _ = executed(root, splits)
    found = Counter(table.column(1).to_pylist())
    assert found == {f"{number}.arrow": 500 for number in range(FILES)}


def test_scan_of_no_column_takes_the_number_of_rows(files: list[Path]) -> None:
    output = fields("p:bigint")
    root = FileScan(output=output, input_id=0, format="arrow", num_data_columns=0)
    table, counters = executed(root, [split | {"partitionValues": [7]} for split in file_splits(files)])
    assert table.column(0).to_pylist() == [7] * 1500 and ArrowReader.read == []
    assert counters["row_groups_read"] == FILES * GROUPS and ArrowReader.closed == Counter(ArrowReader.opened)


@pytest.mark.parametrize("threads", [1, 3])
def test_files_are_closed_once_after_an_early_end(files: list[Path], threads: int) -> None:
    root = numbers()
    table, counters = executed(Limit(output=root.output, limit=10, child=root), file_splits(files), threads)
    assert table.num_rows == 10 and counters["row_groups_read"] <= threads
    assert ArrowReader.closed == Counter(ArrowReader.opened)


def test_unreadable_file_raises_with_its_name_and_format(files: list[Path]) -> None:
    files[1].write_bytes(b"ARROW1, not")
    with pytest.raises(CorruptFileError, match=r"1\.arrow could not be read as Arrow"):
        executed(numbers(), file_splits(files))
    assert ArrowReader.closed == Counter(ArrowReader.opened)
    splits = file_splits(files)
    files[0].unlink()
    with pytest.raises(MissingFileError, match=r"0\.arrow does not exist"):
        executed(numbers(), splits)


def test_error_while_a_row_group_is_read_names_the_file(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(reader: ArrowReader, group: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        raise pa.ArrowInvalid("damaged")
        yield

    monkeypatch.setattr(ArrowReader, "chunks", broken)
    with pytest.raises(CorruptFileError, match=r"0\.arrow could not be read as Arrow: damaged"):
        executed(numbers(), file_splits(files))
    assert ArrowReader.closed == Counter(ArrowReader.opened)


def test_wire_names_format_and_options(files: list[Path]) -> None:
    output = [{"id": 1, "name": "n", "type": "bigint", "nullable": True}]
    root = decode_node(
        {
            "op": "FileSourceScanExec", "output": output, "scan": 0, "format": "arrow", "options": {"mode": "fast"},
            "numDataColumns": 1, "caseSensitive": True, "pushed": [],
        }
    )  # fmt: skip
    table, _ = executed(root, file_splits(files))
    assert table.num_rows == 1500
    (request,) = {id(found): found for found in ArrowReader.requests}.values()
    assert (request.options, request.case_sensitive, request.columns) == ({"mode": "fast"}, True, root.output)


def test_format_without_a_reader_is_unsupported(files: list[Path]) -> None:
    root = FileScan(output=fields("n:bigint"), input_id=0, format="papyrus", num_data_columns=1)
    with pytest.raises(UnsupportedPlanError, match="no reader reads files of the format 'papyrus'"):
        executed(root, file_splits(files))
    with pytest.raises(UnsupportedPlanError):
        file_format("papyrus")


def test_manifest_has_types_and_settings_of_each_format() -> None:
    found = format_manifest()
    setting = {"conf": "spark.sql.arrow.strict", "option": "", "value": "true"}
    assert list(found) == ["arrow", "csv", "json", "orc", "parquet", "text"]
    assert found["arrow"] == {"label": "Arrow", "types": ["bigint", "string"], "settings": [setting]}
    assert "decimal" in found["parquet"]["types"]

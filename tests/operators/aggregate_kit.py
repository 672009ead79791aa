"""Aggregations for tests: one stage or two, over given chunks, as Spark plans them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pyspark_pipeline.local.aggregates import aggregate_call as aggregate_call
from pyspark_pipeline.local.aggregates import complete_node as complete_node
from pyspark_pipeline.local.aggregates import merge_node, references
from pyspark_pipeline.local.aggregates import partial_node as partial_node
from pyspark_pipeline.plan.nodes import (
    Aggregate,
    ExchangeSource,
    HashExchange,
    Settings,
    SingleExchange,
    Sink,
)
from tests.operators.kit import DEFAULTS, Builder, Chunks, fields, run_rows, to_table


def chunks_of(table: pa.Table, rows: int) -> list[pa.RecordBatch]:
    """Cut a table into chunks; every other one has its strings as dictionaries."""
    made = []
    for number, start in enumerate(range(0, table.num_rows, rows)):
        batch = table.slice(start, rows).combine_chunks().to_batches()[0]
        columns = batch.columns
        if number % 2:
            columns = [c.dictionary_encode() if pa.types.is_string(c.type) else c for c in columns]
        made.append(pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(columns))]))
    return made


def leaf(spec: str, chunks: Sequence[pa.RecordBatch]) -> Chunks:
    """Build a leaf node of given chunks."""
    return Chunks(output=fields(spec), chunks=tuple(chunks))


def run_stages(
    first: Aggregate, *, partitions: int = 3, merge_between: bool = False, settings: Settings = DEFAULTS
) -> pa.Table:
    """Run partial, exchange, [partial merge, exchange,] final; return the final rows."""
    keys = tuple(ref for ref in references(first.output)[: len(first.grouping)])
    sink: Sink = HashExchange(keys=keys, num_partitions=partitions) if keys else SingleExchange()
    rows = run_rows(first, sink=sink, builder=Builder(settings=settings))
    source = ExchangeSource(output=first.output, input_id=0)
    numbers = range(partitions if keys else 1)
    if merge_between:
        middle = merge_node(first, "PartialMerge", source)
        merged = []
        for number in numbers:
            inputs = [(0, row) for row in rows if row.partition == number]
            merged += run_rows(middle, sink=sink, builder=Builder(settings=settings), inputs=inputs)
        rows = merged
    final = merge_node(first, "Final", source)
    tables = []
    for number in numbers:
        inputs = [(0, row) for row in rows if row.partition == number]
        made = run_rows(final, builder=Builder(settings=settings), inputs=inputs)
        tables.append(to_table(final, made))
    return pa.concat_tables(tables)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows sorted, floats rounded to 12 digits (their sums depend on the order)."""
    columns = [[_plain(v) for v in column.to_pylist()] for column in table.columns]
    return sorted(zip(*columns, strict=True), key=repr) if columns else []


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if value != value else float(f"{value:.12g}") + 0.0
    return value



"""Build aggregations for tests: one stage or two, over given chunks, as Spark plans them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.plan.expr import ColumnRef, Expr
from pyspark_pipeline.plan.nodes import (
    Aggregate,
    AggregateCall,
    ExchangeSource,
    Field,
    HashExchange,
    Node,
    Settings,
    SingleExchange,
    Sink,
)
from tests.operators.kit import DEFAULTS, Builder, Chunks, fields, run_rows, to_table


def buffer_types(function: str, kind: DataType) -> tuple[DataType, ...]:
    """Give Spark's aggBufferAttributes of a function over an argument of type ``kind``."""
    bigint, double = parse_type("bigint"), parse_type("double")
    wide = DataType("decimal", min(kind.precision + 10, 38), kind.scale)
    if function == "Count":
        return (bigint,)
    if function == "Average":
        return (wide if kind.is_decimal else double, bigint)
    if function == "Sum":
        if kind.is_decimal:
            return (wide, parse_type("boolean"))
        return (bigint if kind.is_integral else double,)
    return (kind,)


def result_type(function: str, kind: DataType) -> DataType:
    """Give the type of a function's value."""
    if function == "Average":
        if kind.is_decimal:
            return DataType("decimal", min(kind.precision + 4, 38), min(kind.scale + 4, 38))
        return parse_type("double")
    return buffer_types(function, kind)[0]


def aggregate_call(function: str, arg: Expr, *, condition: Expr | None = None, ansi: bool = True) -> AggregateCall:
    """Make a Partial call."""
    return AggregateCall(
        function=function,
        mode="Partial",
        args=(arg,),
        filter=condition,
        type=result_type(function, arg.type),
        buffer=buffer_types(function, arg.type),
        fields={"evalMode": "ANSI" if ansi else "LEGACY"} if function in ("Sum", "Average") else {},
    )


def _refs(output: Sequence[Field]) -> tuple[ColumnRef, ...]:
    return tuple(ColumnRef(type=f.type, ordinal=i, nullable=f.nullable) for i, f in enumerate(output))


def partial_node(child: Node, keys: Sequence[Expr], calls: Sequence[AggregateCall]) -> Aggregate:
    """Make the first stage."""
    types = [*(key.type for key in keys), *(kind for call in calls for kind in call.buffer)]
    output = tuple(Field(id=100 + i, name=f"b{i}", type=kind) for i, kind in enumerate(types))
    return Aggregate(output=output, grouping=tuple(keys), calls=tuple(calls), results=None, child=child)


def merge_node(first: Aggregate, mode: str, child: Node) -> Aggregate:
    """Make the stage that merges ``first``'s output, read from ``child``."""
    keys = tuple(ref for ref in _refs(first.output)[: len(first.grouping)])
    calls = tuple(dataclasses.replace(call, mode=mode, args=(), filter=None) for call in first.calls)
    if mode == "PartialMerge":
        return Aggregate(output=first.output, grouping=keys, calls=calls, results=None, child=child)
    types = [*(key.type for key in keys), *(call.type for call in calls)]
    output = tuple(Field(id=200 + i, name=f"r{i}", type=kind) for i, kind in enumerate(types))
    return Aggregate(output=output, grouping=keys, calls=calls, results=_refs(output), child=child)


def complete_node(child: Node, keys: Sequence[Expr], calls: Sequence[AggregateCall]) -> Aggregate:
    """Make the one-stage form."""
    types = [*(key.type for key in keys), *(call.type for call in calls)]
    output = tuple(Field(id=200 + i, name=f"r{i}", type=kind) for i, kind in enumerate(types))
    complete = tuple(dataclasses.replace(call, mode="Complete") for call in calls)
    return Aggregate(output=output, grouping=tuple(keys), calls=complete, results=_refs(output), child=child)


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
    """Make a leaf node of given chunks."""
    return Chunks(output=fields(spec), chunks=tuple(chunks))


def run_stages(
    first: Aggregate, *, partitions: int = 3, merge_between: bool = False, settings: Settings = DEFAULTS
) -> pa.Table:
    """Run partial, exchange, [partial merge, exchange,] final; give the final rows."""
    keys = tuple(ref for ref in _refs(first.output)[: len(first.grouping)])
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
    """Give the rows sorted, floats by 12 digits (their sums depend on the order)."""
    columns = [[_plain(v) for v in column.to_pylist()] for column in table.columns]
    return sorted(zip(*columns, strict=True), key=repr) if columns else []


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if value != value else float(f"{value:.12g}") + 0.0
    return value



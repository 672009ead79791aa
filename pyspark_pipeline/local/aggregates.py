"""Builders of aggregations as Spark plans them: in one stage, or partial, exchange, final."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.plan.expr import ColumnRef, Expr
from pyspark_pipeline.plan.nodes import Aggregate, AggregateCall, Field, Node


def buffer_types(function: str, kind: DataType) -> tuple[DataType, ...]:
    """Return the types of Spark's aggBufferAttributes of a function over an argument of type ``kind``."""
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
    """Return the type of a function's result."""
    if function == "Average":
        if kind.is_decimal:
            return DataType("decimal", min(kind.precision + 4, 38), min(kind.scale + 4, 38))
        return parse_type("double")
    return buffer_types(function, kind)[0]


def aggregate_call(function: str, arg: Expr, *, condition: Expr | None = None, ansi: bool = True) -> AggregateCall:
    """Build a Partial call."""
    return AggregateCall(
        function=function,
        mode="Partial",
        args=(arg,),
        arg_types=(arg.type,),
        filter=condition,
        type=result_type(function, arg.type),
        buffer=buffer_types(function, arg.type),
        fields={"evalMode": "ANSI" if ansi else "LEGACY"} if function in ("Sum", "Average") else {},
    )


def references(output: Sequence[Field]) -> tuple[ColumnRef, ...]:
    """Return a reference to every column of ``output``."""
    return tuple(ColumnRef(type=f.type, ordinal=i, nullable=f.nullable) for i, f in enumerate(output))


def partial_node(child: Node, keys: Sequence[Expr], calls: Sequence[AggregateCall]) -> Aggregate:
    """Build the Partial stage."""
    types = [*(key.type for key in keys), *(kind for call in calls for kind in call.buffer)]
    output = tuple(Field(id=100 + i, name=f"b{i}", type=kind) for i, kind in enumerate(types))
    return Aggregate(output=output, grouping=tuple(keys), calls=tuple(calls), results=None, child=child)


def merge_node(first: Aggregate, mode: str, child: Node) -> Aggregate:
    """Build the stage that merges ``first``'s output, read from ``child``."""
    keys = tuple(ref for ref in references(first.output)[: len(first.grouping)])
    calls = tuple(dataclasses.replace(call, mode=mode, args=(), filter=None) for call in first.calls)
    if mode == "PartialMerge":
        return Aggregate(output=first.output, grouping=keys, calls=calls, results=None, child=child)
    types = [*(key.type for key in keys), *(call.type for call in calls)]
    output = tuple(Field(id=200 + i, name=f"r{i}", type=kind) for i, kind in enumerate(types))
    return Aggregate(output=output, grouping=keys, calls=calls, results=references(output), child=child)


def complete_node(child: Node, keys: Sequence[Expr], calls: Sequence[AggregateCall]) -> Aggregate:
    """Build the one-stage aggregation."""
    types = [*(key.type for key in keys), *(call.type for call in calls)]
    output = tuple(Field(id=200 + i, name=f"r{i}", type=kind) for i, kind in enumerate(types))
    complete = tuple(dataclasses.replace(call, mode="Complete") for call in calls)
    return Aggregate(output=output, grouping=tuple(keys), calls=complete, results=references(output), child=child)

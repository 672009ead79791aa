"""Builders of expressions for tests: by hand, or from the tree that a running Spark resolved."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal


def col(ordinal: int, type_: str) -> ColumnRef:
    """Build a reference to an input column."""
    return ColumnRef(type=parse_type(type_), ordinal=ordinal)


def lit(value: Any, type_: str) -> Literal:
    """Build a literal."""
    return Literal(type=parse_type(type_), value=value, nullable=value is None)


def call(name: str, type_: str, *args: Expr, context: int = -1, **fields: Any) -> Call:
    """Build a call; ``fields`` are the scalar fields of the Catalyst class."""
    return Call(name=name, type=parse_type(type_), args=args, fields=fields, context=context)


def chunk(*columns: pa.Array) -> pa.RecordBatch:
    """Build a chunk of columns."""
    return pa.RecordBatch.from_arrays(list(columns), names=[f"c{index}" for index in range(len(columns))])


def from_catalyst(expression: Any, ordinals: dict[str, int]) -> Expr:
    """Read a resolved Catalyst expression over py4j, as the JVM side writes it (design D7)."""
    name = expression.getClass().getSimpleName()
    type_ = parse_type(expression.dataType().catalogString())
    if name == "AttributeReference":
        return ColumnRef(type=type_, ordinal=ordinals[expression.name()], nullable=expression.nullable())
    if name == "Literal":
        return Literal(type=type_, value=_literal(expression.value(), type_), nullable=expression.nullable())
    children = expression.children()
    args = tuple(from_catalyst(children.apply(index), ordinals) for index in range(children.size()))
    return Call(name=name, type=type_, args=args, fields=_fields(expression), nullable=expression.nullable())


def _literal(value: Any, type_: DataType) -> Any:
    if value is None or isinstance(value, (bool, int, float, bytes)):
        return value
    return Decimal(value.toString()) if type_.is_decimal else value.toString()


def _fields(product: Any) -> dict[str, Any]:
    """Read the scalar fields of a case class, nested case classes flattened."""
    fields: dict[str, Any] = {}
    names = product.productElementNames()
    for index in range(product.productArity()):
        name = names.next()
        value = product.productElement(index)
        if value is None or isinstance(value, (bool, int, float, str)):
            fields[name] = value
            continue
        kind = value.getClass().getName()
        if name == "hset":
            items = value.toSeq()
            fields[name] = [_item(items.apply(position)) for position in range(items.size())]
        elif kind.startswith("scala.Enumeration"):
            fields[name] = value.toString()
        elif kind == "scala.Some":
            fields[name] = value.get() if isinstance(value.get(), (bool, int, float, str)) else None
        elif kind.endswith("EvalContext"):
            fields.update(_fields(value))
    return fields


def _item(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else value.toString()

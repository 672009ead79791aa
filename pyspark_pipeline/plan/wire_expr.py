"""Decodes expressions from the wire and binds their column references to a child's output.

The wire form is what the shim writes of any Catalyst expression: ``{"ref": exprId}``,
``{"literal": value, "type": …}`` or ``{"class": …, "type": …, "args": […], "fields": {…}}``.
"""

from __future__ import annotations

import base64
import decimal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal
from pyspark_pipeline.plan.nodes import Field

Json = Mapping[str, Any]

_VALUES: Mapping[str, Callable[[Any], Any]] = {
    "float": float,
    "double": float,
    "decimal": decimal.Decimal,
    "binary": base64.b64decode,
}


def decode_value(value: Any, data_type: DataType) -> Any:
    """Turn a JSON value into the Python value that :class:`Literal` documents."""
    if value is None:
        return None
    convert = _VALUES.get(data_type.kind)
    return value if convert is None else convert(value)


class ExpressionDecoder:
    """Decodes expressions over the columns ``fields``, found by their expression ids."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._ordinals: dict[int, int] = {}
        for ordinal, field in enumerate(fields):
            self._ordinals.setdefault(field.id, ordinal)

    def decode(self, node: Json) -> Expr:
        """Decode one expression; raise :class:`UnsupportedPlanError` for a column that is not there."""
        if "ref" in node:
            return self._column(node)
        data_type = parse_type(node["type"])
        if "literal" in node:
            value = decode_value(node["literal"], data_type)
            return Literal(type=data_type, nullable=value is None, value=value)
        return Call(
            type=data_type,
            nullable=node["nullable"],
            name=node["class"],
            args=tuple(self.decode(arg) for arg in node["args"]),
            fields=node.get("fields", {}),
            context=node.get("context", -1),
        )

    def decode_all(self, nodes: Sequence[Json]) -> tuple[Expr, ...]:
        """Decode several expressions."""
        return tuple(self.decode(node) for node in nodes)

    def _column(self, node: Json) -> ColumnRef:
        ordinal = self._ordinals.get(node["ref"])
        if ordinal is None:
            raise UnsupportedPlanError(f"expression id {node['ref']} is not among the columns of the input")
        return ColumnRef(type=parse_type(node["type"]), nullable=node["nullable"], ordinal=ordinal)


def strip_alias(node: Json) -> Json:
    """Give what an ``Alias`` names; anything else as it is."""
    return node["args"][0] if node.get("class") == "Alias" else node


def decode_fields(nodes: Sequence[Json]) -> tuple[Field, ...]:
    """Decode the output columns of an operator."""
    return tuple(
        Field(id=node["id"], name=node["name"], type=parse_type(node["type"]), nullable=node["nullable"])
        for node in nodes
    )

"""The decoder of expressions, which binds their column references to a child's output.

The shim writes any Catalyst expression as ``{"ref": exprId}``, ``{"literal": value, "type": …}`` or
``{"class": …, "type": …, "case": …, "args": […], "fields": {…}}``. Below some levels it writes a list instead,
``{"postorder": […]}``: each expression after its arguments, which are indices in the list.
"""

from __future__ import annotations

import base64
import decimal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.plan.expr import FIRST_VARIABLE, Call, ColumnRef, Expr, Literal
from pyspark_pipeline.plan.nodes import Field

Json = Mapping[str, Any]

_VALUES: Mapping[str, Callable[[Any], Any]] = {
    "float": float,
    "double": float,
    "decimal": decimal.Decimal,
    "binary": base64.b64decode,
}


def decode_value(value: Any, data_type: DataType) -> Any:
    """Convert a JSON value to the Python value that :class:`Literal` documents."""
    if value is None:
        return None
    if data_type.kind == "array":
        return tuple(decode_value(item, data_type.children[0]) for item in value)
    if data_type.kind == "map":
        return tuple(tuple(map(decode_value, entry, data_type.children)) for entry in value)
    if data_type.kind == "struct":
        return tuple(map(decode_value, value, data_type.children))
    convert = _VALUES.get(data_type.kind)
    return value if convert is None else convert(value)


class ExpressionDecoder:
    """Decodes expressions over the columns ``fields``, found by their expression ids."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._ordinals: dict[int, int] = {}
        for ordinal, field in enumerate(fields):
            self._ordinals.setdefault(field.id, ordinal)
        self._variables: dict[int, int] = {}

    def decode(self, node: Json) -> Expr:
        """Decode one expression; raise :class:`UnsupportedPlanError` for an unknown column."""
        if "postorder" in node:
            return self._postorder(node["postorder"])
        return self._one(node, [self.decode(arg) for arg in node.get("args", ())])

    def decode_all(self, nodes: Sequence[Json]) -> tuple[Expr, ...]:
        """Decode several expressions."""
        return tuple(self.decode(node) for node in nodes)

    def literal(self, node: Json) -> Literal | None:
        """Decode a literal; return None for any other expression."""
        decoded = self._one(node, ()) if "literal" in node else None
        return decoded if isinstance(decoded, Literal) else None

    def _postorder(self, nodes: Sequence[Json]) -> Expr:
        decoded: list[Expr] = []
        for node in nodes:
            decoded.append(self._one(node, [decoded[place] for place in node.get("args", ())]))
        return decoded[-1]

    def _one(self, node: Json, args: Sequence[Expr]) -> Expr:
        if "ref" in node:
            return self._column(node)
        if "variable" in node:
            ordinal = self._variables.setdefault(node["variable"], FIRST_VARIABLE + len(self._variables))
            return ColumnRef(type=parse_type(node["type"]), nullable=node["nullable"], ordinal=ordinal)
        data_type = parse_type(node["type"])
        if "literal" in node:
            value = decode_value(node["literal"], data_type)
            return Literal(type=data_type, nullable=value is None, value=value)
        return Call(
            type=data_type,
            nullable=node["nullable"],
            name=node["class"],
            args=tuple(args),
            fields=node.get("fields", {}),
            context=node.get("context", -1),
            case=node.get("case"),
        )

    def _column(self, node: Json) -> ColumnRef:
        ordinal = self._ordinals.get(node["ref"])
        if ordinal is None:
            raise UnsupportedPlanError(f"expression id {node['ref']} is not among the columns of the input")
        return ColumnRef(type=parse_type(node["type"]), nullable=node["nullable"], ordinal=ordinal)


def strip_alias(node: Json) -> Json:
    """Return the expression below an ``Alias``; any other expression unchanged."""
    return node["args"][0] if node.get("class") == "Alias" else node


def decode_type(node: Json) -> DataType:
    """Return the type of an expression, which need not be over columns of the input."""
    return parse_type((node["postorder"][-1] if "postorder" in node else node)["type"])


def decode_fields(nodes: Sequence[Json]) -> tuple[Field, ...]:
    """Decode the output columns of an operator."""
    return tuple(
        Field(id=node["id"], name=node["name"], type=parse_type(node["type"]), nullable=node["nullable"])
        for node in nodes
    )

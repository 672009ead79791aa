"""Keys of arrays and structs: operators compare their normalized keys, which are binary.

A sort, a join and a window evaluate the key instead of the value. An aggregation also returns the value: that of the
first row of each group, which is that of all its rows.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, rebound
from pyspark_pipeline.plan.nodes import Aggregate, AggregateCall, Field, Project

_KINDS = ("array", "struct")
_BINARY = parse_type("binary")
_BOOLEAN = parse_type("boolean")


def is_nested(kind: DataType) -> bool:
    """Return whether keys of a type are compared by normalized keys."""
    return kind.kind in _KINDS


def normalized(key: Expr) -> Expr:
    """Return ``key``, or its normalized key if its type is nested."""
    if not is_nested(key.type):
        return key
    return Call(name="NormalizedKey", type=_BINARY, nullable=key.nullable, args=(key,))


def with_normalized_keys(node: Aggregate) -> tuple[Aggregate, Project | None]:
    """Return an aggregation that groups by normalized keys, and the projection above it that restores the output.

    The values of nested keys are calls of ``First`` after the others; results refer to these instead of the key.
    """
    nested = [place for place, key in enumerate(node.grouping) if is_nested(key.type)]
    if not nested:
        return node, None
    mode = "Partial" if node.results is None else "Complete"
    extra = tuple(_first(node.grouping[place], mode) for place in nested)
    grouping = tuple(normalized(key) for key in node.grouping)
    calls = (*node.calls, *extra)
    if node.results is not None:
        moved = {place: len(grouping) + len(node.calls) + number for number, place in enumerate(nested)}
        results = tuple(rebound(result, moved) for result in node.results)
        return replace(node, grouping=grouping, calls=calls, results=results), None
    buffers = [kind for call in calls for kind in call.buffer]
    types = [*(key.type for key in grouping), *buffers]
    output = tuple(Field(id=-1 - place, name="", type=kind) for place, kind in enumerate(types))
    first = len(node.output)  # the keys and the buffers of the other calls
    places = list(range(first))
    for number, place in enumerate(nested):
        places[place] = first + 2 * number
    exprs = tuple(ColumnRef(type=types[place], ordinal=place) for place in places)
    inner = replace(node, grouping=grouping, calls=calls, output=output)
    return inner, Project(output=node.output, exprs=exprs, child=inner)


def _first(key: Expr, mode: str) -> AggregateCall:
    kinds: tuple[DataType, ...] = (key.type, _BOOLEAN)
    return AggregateCall(
        function="First",
        mode=mode,
        args=(key,),
        arg_types=(key.type,),
        filter=None,
        type=key.type,
        buffer=kinds,
        fields={"ignoreNulls": False},
        constants=(None,),
    )

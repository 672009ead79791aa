"""The decoder of session windows: a window function computes the session of each row, which replaces the row's own."""

from __future__ import annotations

from pyspark_pipeline.plan.expr import ColumnRef
from pyspark_pipeline.plan.nodes import Field, Node, Project
from pyspark_pipeline.plan.normalized_keys import normalized
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.sorts import SortKey
from pyspark_pipeline.plan.windows import Window, WindowCall, WindowSpec
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, Json, strip_alias


@decodes("UpdatingSessionsExec")
def _updating_sessions(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    """Decode as a window over all grouping columns but the row's own session."""
    fields, child = node["fields"], children[0]
    decoder = ExpressionDecoder(child.output)
    own = decoder.decode(strip_alias(fields["sessionExpression"]))
    keys = decoder.decode_all([strip_alias(key) for key in fields["groupingExpression"]])
    partition = tuple(normalized(key) for key in keys if key != own)
    spec = WindowSpec(partition=partition, order=(SortKey(expr=normalized(own)),))
    call = WindowCall(function="SessionWindow", frame="session", args=(own,), type=own.type)
    columns = (*child.output, Field(id=-1, name="session", type=own.type))
    window = Window(output=columns, spec=spec, calls=(call,), child=child)
    places = [len(child.output) if _is(own, place) else place for place in range(len(child.output))]
    exprs = tuple(
        ColumnRef(type=field.type, nullable=field.nullable, ordinal=place)
        for place, field in zip(places, child.output, strict=True)
    )
    return Project(output=child.output, exprs=exprs, child=window)


def _is(column: object, ordinal: int) -> bool:
    return isinstance(column, ColumnRef) and column.ordinal == ordinal

"""The nodes of window functions and their decoders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.plan.expr import ColumnRef, Expr
from pyspark_pipeline.plan.nodes import Field, Node, Project
from pyspark_pipeline.plan.normalized_keys import normalized
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.sorts import SortKey, decode_sort_keys
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, Json, decode_value, strip_alias


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One bound of a frame.

    ``kind`` is ``unbounded`` (that of the partition), ``rows`` (``offset`` rows after the current one, negative: before
    it), ``peers`` (the current row's first peer, of an upper bound the last) or ``values`` (the first, of an upper
    bound the last, row whose order value is at least, or at most, the current one plus ``offset``). ``unit`` of such an
    offset is empty if it is a number, or days of a date or microseconds of a timestamp; else it is ``months``.
    """

    kind: str = "rows"
    offset: Any = 0
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCall:
    """One window function call; ``function`` is the name of its Catalyst class.

    ``frame`` is ``rows`` or ``range`` (from the first row of the partition to the current one, or to its last peer),
    ``whole`` (all rows of the partition), ``sliding`` (the partition's rows from ``bounds[0]`` to ``bounds[1]``) or
    ``offset`` (one row at a fixed distance). ``order`` is the sort key of bounds that are values.
    """

    function: str
    frame: str
    args: tuple[Expr, ...]
    type: DataType
    bounds: tuple[Bound, Bound] = (Bound(), Bound())
    order: SortKey | None = None
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)
    context: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSpec:
    """Partition by ``partition``, order by ``order``; both are bound to the child."""

    partition: tuple[Expr, ...]
    order: tuple[SortKey, ...]

    @property
    def sort_keys(self) -> tuple[SortKey, ...]:
        """The sort order that makes the rows of a partition contiguous."""
        return (*(SortKey(expr=key) for key in self.partition), *self.order)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Node):
    """Appends a column for each of ``calls`` to the columns of ``child``; emits rows in the order of ``spec``."""

    spec: WindowSpec
    calls: tuple[WindowCall, ...]
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowGroupLimit(Node):
    """Keeps rows whose ``function`` (``RowNumber``, ``Rank`` or ``DenseRank``) over ``spec`` is at most ``limit``."""

    spec: WindowSpec
    function: str
    limit: int
    child: Node


class _WindowCallExtractor:
    """Extracts the window functions from expressions; replaces each by a column with a negative id."""

    def __init__(self, decoder: ExpressionDecoder, spec: WindowSpec) -> None:
        self._decoder = decoder
        self._spec = spec
        self.calls: list[WindowCall] = []
        self.columns: list[Field] = []

    def extract(self, node: Json) -> Json:
        """Return ``node`` with columns in place of window functions; collect the calls."""
        if node.get("class") == "WindowExpression":
            return self._column(node)
        if "args" in node:
            return {**node, "args": [self.extract(arg) for arg in node["args"]]}
        return node

    def _column(self, node: Json) -> Json:
        function = node["function"]
        kind = parse_type(function["type"])
        call = frame_call(
            node,
            self._spec,
            function["class"],
            self._decoder.decode_all(function["args"]),
            kind,
            fields=function.get("fields", {}),
            context=function.get("context", -1),
        )
        self.calls.append(call)
        number = -len(self.calls)
        self.columns.append(Field(id=number, name=f"w{-number}", type=kind))
        return {"ref": number, "type": node["type"], "nullable": node["nullable"]}


def frame_call(
    frame: Json, spec: WindowSpec, function: str, args: tuple[Expr, ...], type_: DataType, **others: Any
) -> WindowCall:
    """Return a call over the frame that ``frame`` describes; ``others`` are further fields of the call."""
    lower, upper = (_bound(bound, spec) for bound in frame.get("bounds", ({}, {})))
    return WindowCall(
        function=function,
        frame=frame["frame"],
        args=args,
        type=type_,
        bounds=(lower, upper),
        order=spec.order[0] if "values" in (lower.kind, upper.kind) else None,
        **others,
    )


def _bound(node: Json, spec: WindowSpec) -> Bound:
    bound = Bound(**node)
    if bound.kind != "values" or bound.unit:
        return bound
    return replace(bound, offset=decode_value(bound.offset, spec.order[0].expr.type))


def _spec(fields: Json, child: Node) -> WindowSpec:
    decoder = ExpressionDecoder(child.output)
    return WindowSpec(
        partition=tuple(normalized(key) for key in decoder.decode_all(fields["partitionSpec"])),
        order=decode_sort_keys(fields["orderSpec"], decoder),
    )


@decodes("WindowExec")
def _window(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    child, fields = children[0], node["fields"]
    spec = _spec(fields, child)
    found = _WindowCallExtractor(ExpressionDecoder(child.output), spec)
    left = [found.extract(strip_alias(expr)) for expr in fields["windowExpression"]]
    columns = (*child.output, *found.columns)
    calls = tuple(found.calls)
    if [expr.get("ref") for expr in left] == [column.id for column in found.columns]:
        return Window(output=output, spec=spec, calls=calls, child=child)
    window = Window(output=columns, spec=spec, calls=calls, child=child)
    kept = tuple(ColumnRef(type=c.type, nullable=c.nullable, ordinal=i) for i, c in enumerate(child.output))
    return Project(output=output, exprs=(*kept, *ExpressionDecoder(columns).decode_all(left)), child=window)


@decodes("WindowGroupLimitExec")
def _group_limit(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    child, fields = children[0], node["fields"]
    function = fields["rankLikeFunction"]["class"]
    return WindowGroupLimit(
        output=output, spec=_spec(fields, child), function=function, limit=fields["limit"], child=child
    )

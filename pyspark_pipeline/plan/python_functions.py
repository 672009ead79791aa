"""The nodes of the user's Python functions: calls over batches, iterators and groups."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.plan.eval_mode import EvalMode, fields_of_mode
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal
from pyspark_pipeline.plan.nodes import Field, Node, PartitionDependentNode, Project
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.sorts import SortKey, decode_sort_keys
from pyspark_pipeline.plan.windows import Window, WindowCall, WindowSpec, frame_call
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, Json, decode_fields, strip_alias

_INT = parse_type("int")
_ZERO, _ONE = (Literal(type=_INT, nullable=False, value=value) for value in (0, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """A call of a function over columns: ``arguments`` are their ordinals, with a name if passed by keyword.

    ``commands`` are the pickled functions: the first gets the arguments, every other one the result of the one before.
    """

    name: str
    arguments: tuple[tuple[int, str | None], ...]
    commands: tuple[bytes, ...]

    @property
    def positional(self) -> list[int]:
        """The ordinals of the arguments without a name."""
        return [column for column, name in self.arguments if name is None]

    @property
    def named(self) -> dict[str, int]:
        """The ordinals of the other arguments by name."""
        return {name: column for column, name in self.arguments if name is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableForm:
    """Properties of a table function that Spark's worker needs besides its call.

    ``result`` is the type of its rows (a struct, JSON), ``analyzed`` the pickled result of ``analyze``, if it has one.
    ``tables`` are the ordinals of arguments that are rows of a table, ``keys`` those of the columns in such a row by
    which the table is partitioned.
    """

    result: str
    analyzed: bytes | None
    tables: tuple[int, ...]
    keys: tuple[int, ...]


class BatchLimits(NamedTuple):
    """The end of a batch of arguments: at ``rows`` rows, or at the row with which it has ``size`` bytes or more."""

    rows: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonFunctions:
    """Calls of one form, and the properties that Spark's worker needs for them.

    ``eval_type`` is Spark's ``PythonEvalType``, ``input_type`` the type of a batch (a struct, JSON), ``conf`` has the
    settings that Spark sends to its Python workers. The functions get batches within ``limits`` and return columns of
    ``result_types``. ``table`` is present if the only call is of a table function.
    """

    eval_type: int
    limits: BatchLimits
    input_type: str
    conf: Mapping[str, str]
    calls: tuple[PythonCall, ...]
    result_types: tuple[DataType, ...]
    table: TableForm | None = None

    @property
    def names(self) -> str:
        """The names of the functions, for messages."""
        return ", ".join(call.name for call in self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalPython(Node):
    """Appends the results of ``functions``, which read ``arguments``, bound to ``child``, to its columns."""

    functions: PythonFunctions
    arguments: tuple[Expr, ...]
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalIterator(PartitionDependentNode):
    """Appends the results of a function from an iterator over its arguments to one over results of as many rows."""

    functions: PythonFunctions
    arguments: tuple[Expr, ...]
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPython(PartitionDependentNode):
    """The batches that a function returns for an iterator over those of ``child``, as a struct of all columns."""

    functions: PythonFunctions
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonScan(Node):
    """The batches that a function returns for a partition of a data source in Python.

    The function gets one row with one binary column, the pickled partition, which the task's control message contains.
    """

    input_id: int
    functions: PythonFunctions


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePython(PartitionDependentNode):
    """Joins the columns ``kept`` of each row of ``child`` with the rows that a table function returns for it.

    The function gets ``arguments``, bound to the child: each is a value, or a struct of several with names.
    """

    functions: PythonFunctions
    arguments: tuple[TableArgument, ...]
    kept: tuple[int, ...]
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class TableArgument:
    """An argument of a table function: a value (``names`` is None), or a struct of ``values`` called ``names``."""

    values: tuple[Expr, ...]
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonGroups(Node):
    """Calls ``functions`` with each group of rows of ``child``: those with equal keys of ``spec``, in its order.

    The functions get ``arguments``, bound to the child.
    """

    functions: PythonFunctions
    spec: WindowSpec
    arguments: tuple[Expr, ...]
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class MapGroups(PythonGroups):
    """The batches that a function returns for each group.

    The function gets the arguments as columns ``names``, or (``takes_struct``) as a struct of these; its call has the
    ordinals of keys and values as Spark sends them.
    """

    names: tuple[str, ...]
    takes_struct: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BothInputs(Node):
    """All rows of two inputs, whose columns have equal types."""

    inputs: tuple[Node, Node]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class MapCogroups(PythonGroups):
    """The batches that a function returns for two groups with equal keys, of the left and of the right input.

    The first argument is the number of the input that a row is from, 0 or 1, by which ``spec`` orders the rows of a
    group; the columns ``names`` of both inputs follow. The function's call is as that of :class:`MapGroups`.
    """

    names: tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregatePython(PythonGroups):
    """The keys of each group and a value of each function."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPython(PythonGroups):
    """The sorted rows of the child with a value of each function over the group of the row."""


#: The nodes whose function reads an iterator over batches of its partition.
CALLS_OVER_ITERATORS = (EvalIterator, MapPython, PythonScan, TablePython)


@decodes("ArrowEvalPythonExec", "BatchEvalPythonExec")
def _eval_python(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    (child,) = children
    functions = _functions(node, output[len(child.output) :])
    arguments = ExpressionDecoder(child.output).decode_all(node["arguments"])
    number = node.get("partitionDependent")
    if number is not None:
        return EvalIterator(output=output, number=number, functions=functions, arguments=arguments, child=child)
    return EvalPython(output=output, functions=functions, arguments=arguments, child=child)


@decodes("MapInArrowExec", "MapInPandasExec")
def _map_python(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    functions = _batch_functions(node, output)
    return MapPython(output=output, number=node["partitionDependent"], functions=functions, child=children[0])


@decodes("BatchScanExec")
def _python_scan(node: Json, output: tuple[Field, ...], _: tuple[Node, ...]) -> Node:
    return PythonScan(output=output, input_id=node["scan"], functions=_batch_functions(node, output))


def _batch_functions(node: Json, output: tuple[Field, ...]) -> PythonFunctions:
    """Return the function of whole batches, each a struct."""
    functions = _functions(node, output)
    (call,) = functions.calls
    return replace(functions, calls=(replace(call, arguments=((0, None),)),))


@decodes("ArrowEvalPythonUDTFExec", "BatchEvalPythonUDTFExec")
def _table_python(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    (child,) = children
    decoder, form = ExpressionDecoder(child.output), node["table"]
    kept = tuple(column.ordinal for column in decoder.decode_all(node["kept"]) if isinstance(column, ColumnRef))
    table = TableForm(
        result=form["result"],
        analyzed=base64.b64decode(form["analyzed"]) if "analyzed" in form else None,
        tables=tuple(form["tables"]),
        keys=tuple(form["keys"]),
    )
    return TablePython(
        output=output,
        number=node["partitionDependent"],
        functions=replace(_functions(node, output[len(kept) :]), table=table),
        arguments=tuple(map(_table_argument, decoder.decode_all(node["arguments"]))),
        kept=kept,
        child=child,
    )


def _table_argument(argument: Expr) -> TableArgument:
    if isinstance(argument, Call) and argument.name == "CreateNamedStruct":
        names = (name.value for name in argument.args[::2] if isinstance(name, Literal))
        return TableArgument(values=argument.args[1::2], names=tuple(map(str, names)))
    return TableArgument(values=(argument,))


@decodes("FlatMapGroupsInPandasExec", "FlatMapGroupsInArrowExec")
def _map_groups(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    (child,) = children
    decoder = ExpressionDecoder(child.output)
    (side,) = node["sides"]
    return MapGroups(
        output=output,
        functions=_map_functions(node, output),
        spec=WindowSpec(partition=decoder.decode_all(side["keys"]), order=()),
        arguments=decoder.decode_all(side["sent"]),
        names=tuple(side["names"]),
        takes_struct=node["op"] == "FlatMapGroupsInArrowExec",
        child=child,
    )


@decodes("FlatMapCoGroupsInPandasExec", "FlatMapCoGroupsInArrowExec")
def _map_cogroups(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    sides = [(ExpressionDecoder(child.output), side) for child, side in zip(children, node["sides"], strict=True)]
    keys = [decoder.decode_all(side["keys"]) for decoder, side in sides]
    sent = [decoder.decode_all(side["sent"]) for decoder, side in sides]
    left_missing, right_missing = (tuple(Literal(type=expr.type, value=None) for expr in side) for side in sent)
    made = (*keys[0], _ZERO, *sent[0], *right_missing), (*keys[1], _ONE, *left_missing, *sent[1])
    fields = tuple(Field(id=-1 - i, name=f"_{i}", type=expr.type) for i, expr in enumerate(made[0]))
    inputs = [Project(output=fields, exprs=exprs, child=child) for exprs, child in zip(made, children, strict=True)]
    columns = [_column(field, i) for i, field in enumerate(fields)]
    of_key = len(keys[0])
    return MapCogroups(
        output=output,
        functions=_map_functions(node, output),
        spec=WindowSpec(partition=tuple(columns[:of_key]), order=(SortKey(expr=columns[of_key]),)),
        arguments=tuple(columns[of_key:]),
        names=(tuple(sides[0][1]["names"]), tuple(sides[1][1]["names"])),
        child=BothInputs(output=fields, inputs=(inputs[0], inputs[1])),
    )


def _map_functions(node: Json, output: tuple[Field, ...]) -> PythonFunctions:
    """Return the function of groups or cogroups; its arguments are the offsets of keys and values."""
    functions = _functions(node, output)
    (call,) = functions.calls
    offsets = tuple((offset, None) for offset in node["offsets"])
    return replace(functions, calls=(replace(call, arguments=offsets),))


@decodes("ArrowAggregatePythonExec")
def _aggregate_python(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    (child,) = children
    decoder = ExpressionDecoder(child.output)
    keys, columns = decoder.decode_all([strip_alias(key) for key in node["keys"]]), decode_fields(node["columns"])
    groups = AggregatePython(
        output=columns,
        functions=_functions(node, columns[len(keys) :]),
        spec=WindowSpec(partition=keys, order=()),
        arguments=decoder.decode_all(node["arguments"]),
        child=child,
    )
    return Project(output=output, exprs=ExpressionDecoder(columns).decode_all(node["results"]), child=groups)


@decodes("ArrowWindowPythonExec")
def _window_python(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    (child,) = children
    decoder = ExpressionDecoder(child.output)
    spec = WindowSpec(partition=decoder.decode_all(node["keys"]), order=decode_sort_keys(node["order"], decoder))
    arguments = decoder.decode_all(node["arguments"])
    results = output[len(child.output) :]
    functions = _functions(node, results)
    frames = [None if frame["frame"] == "whole" else frame for frame in node["frames"]]
    if not any(frames):
        return WindowPython(output=output, functions=functions, spec=spec, arguments=arguments, child=child)
    framed, bounds, places = _with_bounds(child, spec, frames)
    calls = zip(functions.calls, places, strict=True)
    window = WindowPython(
        output=(*framed.output, *results),
        functions=replace(functions, calls=tuple(_within(call, place, len(bounds)) for call, place in calls)),
        spec=spec,
        arguments=(*bounds, *arguments),
        child=framed,
    )
    columns = enumerate(window.output)
    kept = [_column(field, i) for i, field in columns if not len(child.output) <= i < len(framed.output)]
    return Project(output=output, exprs=tuple(kept), child=window)


def _with_bounds(
    child: Node, spec: WindowSpec, frames: Sequence[Json | None]
) -> tuple[Node, list[Expr], list[int | None]]:
    """Return ``child`` with the numbers of the first and the last row of each frame, and the bounds of the frames.

    The bounds are expressions: for each distinct frame its first row, counted from 0 in the partition, and its end
    (exclusive). The last value has the ordinal of each frame's first bound; None is a whole partition.
    """
    number = Field(id=-1, name="row", type=_INT, nullable=False)
    ranks = (WindowCall(function="RowNumber", frame="rows", args=(), type=_INT),)
    ranked = Window(output=(*child.output, number), spec=spec, calls=ranks, child=child)
    row = _column(number, len(child.output))
    distinct = [frame for i, frame in enumerate(frames) if frame is not None and frame not in frames[:i]]
    calls = tuple(frame_call(frame, spec, name, (row,), _INT) for frame in distinct for name in ("Min", "Max"))
    fields = tuple(Field(id=-2 - i, name=call.function, type=_INT) for i, call in enumerate(calls))
    framed = Window(output=(*ranked.output, *fields), spec=spec, calls=calls, child=ranked)
    found = [_column(field, len(ranked.output) + i) for i, field in enumerate(fields)]
    wraps = fields_of_mode(EvalMode.LEGACY)
    before = [Call(name="Subtract", args=(first, _ONE), type=_INT, fields=wraps) for first in found[::2]]
    bounds = [bound for pair in zip(before, found[1::2], strict=True) for bound in pair]
    ends = [Call(name="Coalesce", args=(bound, _ZERO), type=_INT) for bound in bounds]  # an empty frame
    return framed, list(ends), [None if frame is None else 2 * distinct.index(frame) for frame in frames]


def _within(call: PythonCall, place: int | None, bounds: int) -> PythonCall:
    """Return the call with arguments after ``bounds`` columns, of which those at ``place`` are its frame's."""
    arguments = [(column + bounds, name) for column, name in call.arguments]
    frame = [] if place is None else [(place, None), (place + 1, None)]
    return replace(call, arguments=(*frame, *arguments))


def _column(field: Field, ordinal: int) -> ColumnRef:
    return ColumnRef(type=field.type, nullable=field.nullable, ordinal=ordinal)


def _functions(node: Json, results: tuple[Field, ...]) -> PythonFunctions:
    return PythonFunctions(
        eval_type=node["evalType"],
        limits=BatchLimits(node["maxRows"], _size_limit(node["maxBytes"])),
        input_type=node["inputType"],
        conf=node["conf"],
        calls=tuple(_call(call) for call in node["calls"]),
        result_types=tuple(field.type for field in results),
    )


def _size_limit(most_bytes: int) -> int:
    """Return the limit of the bytes of a batch; Spark has none if it is the greatest int."""
    return most_bytes if most_bytes < 2**31 - 1 else 2**63 - 1


def _call(call: Json) -> PythonCall:
    return PythonCall(
        name=call["name"],
        arguments=tuple((argument["column"], argument.get("name")) for argument in call["arguments"]),
        commands=tuple(base64.b64decode(command) for command in call["commands"]),
    )

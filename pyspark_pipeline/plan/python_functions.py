"""The nodes EvalPython and MapPython: calls of the user's Python functions over Arrow batches."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Field, Node, PartitionDependentNode
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonCall:
    """A call of a function over columns: ``arguments`` are their ordinals, with a name if passed by keyword.

    ``commands`` are the pickled functions: the first gets the arguments, every other one the result of the one before.
    """

    name: str
    arguments: tuple[tuple[int, str | None], ...]
    commands: tuple[bytes, ...]


class PythonNode(Protocol):
    """The properties of a node that calls functions which Spark's worker needs.

    ``eval_type`` is Spark's ``PythonEvalType``, ``input_type`` the type of a batch (a struct, JSON), ``conf`` has the
    settings that Spark sends to its Python workers.
    """

    @property
    def eval_type(self) -> int: ...
    @property
    def input_type(self) -> str: ...
    @property
    def conf(self) -> Mapping[str, str]: ...
    @property
    def calls(self) -> tuple[PythonCall, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalPython(Node):
    """Appends the results of ``calls`` to the columns of ``child``; a :class:`PythonNode`.

    The calls read ``arguments``, bound to the child, in batches of at most ``max_rows`` rows.
    """

    eval_type: int
    max_rows: int
    input_type: str
    conf: Mapping[str, str]
    arguments: tuple[Expr, ...]
    calls: tuple[PythonCall, ...]
    child: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPython(PartitionDependentNode):
    """The batches that a function returns for an iterator over those of ``child``; a :class:`PythonNode`.

    The function gets a struct of all columns, in batches of at most ``max_rows`` rows.
    """

    eval_type: int
    max_rows: int
    input_type: str
    conf: Mapping[str, str]
    calls: tuple[PythonCall, ...]
    child: Node


@decodes("ArrowEvalPythonExec")
def _eval_python(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    return EvalPython(
        output=output,
        eval_type=node["evalType"],
        max_rows=node["maxRows"],
        input_type=node["inputType"],
        conf=node["conf"],
        arguments=ExpressionDecoder(children[0].output).decode_all(node["arguments"]),
        calls=tuple(_call(call) for call in node["calls"]),
        child=children[0],
    )


@decodes("MapInArrowExec", "MapInPandasExec")
def _map_python(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    (call,) = (_call(call) for call in node["calls"])
    return MapPython(
        output=output,
        number=node["partitionDependent"],
        eval_type=node["evalType"],
        max_rows=node["maxRows"],
        input_type=node["inputType"],
        conf=node["conf"],
        calls=(replace(call, arguments=((0, None),)),),
        child=children[0],
    )


def _call(call: Json) -> PythonCall:
    return PythonCall(
        name=call["name"],
        arguments=tuple((argument["column"], argument.get("name")) for argument in call["arguments"]),
        commands=tuple(base64.b64decode(command) for command in call["commands"]),
    )

"""The register of functions: support is declared beside the implementation, once.

``@function("Add", cases=[case(...), ...])`` registers a builder under the name of its Catalyst class. A
builder gets the :class:`Call` and the settings when an expression is compiled and returns a kernel.
:func:`manifest` exports the declarations; the JVM side checks every plan against them (design D7).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.plan.expr import Call, Expr, Literal
from pyspark_pipeline.plan.nodes import Settings

if TYPE_CHECKING:
    from pyspark_pipeline.expressions.frame import Evaluable, Frame

#: An evaluated expression: an array with one value a row, or a scalar that stands for every row.
Value: TypeAlias = pa.Array | pa.Scalar

KINDS = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double",
    "decimal", "string", "binary", "date", "timestamp", "timestamp_ntz", "void",
)  # fmt: skip
INTEGRAL = ("tinyint", "smallint", "int", "bigint")
FLOATING = ("float", "double")
NUMERIC = (*INTEGRAL, *FLOATING, "decimal")
ORDERED = tuple(kind for kind in KINDS if kind != "void")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionSettings:
    """What the session decides for expressions: ANSI mode and the session time zone's name."""

    ansi: bool = True
    time_zone: str = "UTC"

    @classmethod
    def of(cls, settings: Settings) -> ExpressionSettings:
        """Take them from what an instance knows of the session."""
        return cls(ansi=settings.ansi, time_zone=settings.time_zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A function of evaluated arguments: ``run(values, rows)``; at least one value is an array.

    ``can_raise``: some input makes ``run`` raise Spark's error. ``null_intolerant``: a NULL argument gives
    NULL, and Spark does not evaluate the arguments after it (in ``order``). ``by_dictionary``: the function
    works value by value, so a dictionary-encoded argument may be evaluated once per dictionary value.
    """

    run: Callable[[Sequence[Value], int], Value]
    can_raise: bool = False
    null_intolerant: bool = True
    by_dictionary: bool = False
    order: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyKernel:
    """A function that decides which rows of its arguments are evaluated: ``run(frame, arguments)``."""

    run: Callable[[Frame, Sequence[Evaluable]], Value]
    can_raise: bool = False


Builder: TypeAlias = Callable[[Call, ExpressionSettings], "Kernel | LazyKernel"]
Case: TypeAlias = Mapping[str, Any]



@dataclass(frozen=True, slots=True)
class _Registration:
    cases: tuple[Case, ...]
    builder: Builder


_REGISTER: dict[str, list[_Registration]] = {}


def case(*args: Sequence[str], **conditions: Any) -> Case:
    """Declare one supported form: the kinds allowed for each argument, and the manifest's further conditions.

    ``conditions``: variadic, same_type, result, max_precision (of a decimal result), fields, literal, matches,
    difference.
    """
    return {"args": [list(kinds) for kinds in args], **conditions}


def function(name: str, cases: Sequence[Case]) -> Callable[[Builder], Builder]:
    """Register a builder for the Catalyst class ``name`` with the forms it supports.

    Several families may register forms of one class; the first form that matches a call decides.
    """

    def register(builder: Builder) -> Builder:
        _REGISTER.setdefault(name, []).append(_Registration(tuple(cases), builder))
        return builder

    return register


def build(call: Call, settings: ExpressionSettings) -> Kernel | LazyKernel:
    """Make the kernel of ``call``; raise :class:`UnsupportedPlanError` for an unknown function or form."""
    for registration in _REGISTER.get(call.name, ()):
        if any(_matches(entry, call) for entry in registration.cases):
            return registration.builder(call, settings)
    types = ", ".join(str(arg.type) for arg in call.args)
    raise UnsupportedPlanError(f"{call.name}({types}) is not supported")


def manifest() -> dict[str, Any]:
    """Return {function: {"cases": [...]}} for every registered function, sorted by name."""
    return {
        name: {"cases": [dict(entry) for registration in _REGISTER[name] for entry in registration.cases]}
        for name in sorted(_REGISTER)
    }


def _matches(entry: Case, call: Call) -> bool:
    """Apply a manifest case to a call, by the same rules as the JVM side."""
    kinds = list(entry["args"])
    count = len(call.args)
    if entry.get("variadic") and kinds and count >= len(kinds):
        kinds += [kinds[-1]] * (count - len(kinds))
    if len(kinds) != count or any(arg.type.kind not in allowed for arg, allowed in zip(call.args, kinds, strict=True)):
        return False
    if entry.get("same_type") and len({arg.type for arg in call.args}) > 1:
        return False
    if "result" in entry and call.type.kind not in entry["result"]:
        return False
    if call.type.precision > entry.get("max_precision", call.type.precision):
        return False
    if not all(_text(call.fields.get(name)) in allowed for name, allowed in entry.get("fields", {}).items()):
        return False
    if not all(isinstance(call.args[position], Literal) for position in entry.get("literal", ())):
        return False
    return all(
        _fully_matches(call.args[int(position)], pattern) for position, pattern in entry.get("matches", {}).items()
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fully_matches(arg: Expr, pattern: str) -> bool:
    return isinstance(arg, Literal) and isinstance(arg.value, str) and bool(re.fullmatch(pattern, arg.value, re.DOTALL))

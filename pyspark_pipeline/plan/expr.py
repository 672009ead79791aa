"""Expressions of a fragment, as sent by the JVM, bound to the columns of their input.

Three shapes: :class:`ColumnRef` (a column of the input chunk), :class:`Literal`, and :class:`Call`
for everything else. A ``Call`` is generic on purpose (design D7): its ``name`` is the simple name of
the Catalyst class, its ``fields`` are that class's scalar constructor fields by name (nested case
classes flattened), so neither the wire nor this file depends on individual functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.plan.eval_mode import EvalMode, eval_mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Expr:
    """An expression: its Spark type and whether Spark considers it nullable."""

    type: DataType
    nullable: bool = True


#: The ordinals from here on are those of lambda variables.
FIRST_VARIABLE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRef(Expr):
    """A reference to column ``ordinal`` of the input chunk, or to a variable of a lambda around it."""

    ordinal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal(Expr):
    """A constant. ``value`` is None for NULL, else: bool, int (integral kinds, date as days, timestamps as
    microseconds), float, ``decimal.Decimal``, str or bytes by the type's kind; a tuple of the elements of an array, of
    the pairs of a map, or of the fields of a struct.
    """

    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Expr):
    """A Catalyst expression, identified by its class name.

    ``fields`` holds scalars (str, bool, int, float, None, lists of them); ``context`` is the index of
    its query context for error messages, -1 if it has none. ``case`` is the position of the function's case in the
    manifest, which the shim has matched; None in plans written by hand, whose calls the worker matches itself.
    """

    name: str
    args: tuple[Expr, ...]
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)
    context: int = -1
    case: int | None = field(default=None, compare=False, repr=False)

    @property
    def eval_mode(self) -> EvalMode:
        """Return the evaluation mode; raise :class:`EngineBugError` if the class has none."""
        return eval_mode(self.name, self.fields)


#: Functions that choose one of several values, and the arguments that are values, by the number of arguments.
_VALUES: Mapping[str, Callable[[int], Collection[int]]] = {
    "If": lambda count: (1, 2),
    "CaseWhen": lambda count: [place for place in range(count) if place % 2 or place == count - 1],
    "Coalesce": range,
}


def chosen_places(call: Call) -> Collection[int]:
    """Return the places of the arguments of which ``call`` returns one; none if it chooses no argument."""
    return _VALUES[call.name](len(call.args)) if call.name in _VALUES else ()


def constants(exprs: Iterable[Expr]) -> list[Any]:
    """Return the values of those of ``exprs`` that are constants."""
    return [expr.value for expr in exprs if isinstance(expr, Literal)]


def columns_read(exprs: Iterable[Expr]) -> set[int]:
    """Return the ordinals of the input columns that ``exprs`` read."""
    found: set[int] = set()
    pending = list(exprs)
    while pending:
        expr = pending.pop()
        if isinstance(expr, ColumnRef) and expr.ordinal < FIRST_VARIABLE:
            found.add(expr.ordinal)
        elif isinstance(expr, Call):
            pending.extend(expr.args)
    return found


def rebound(expr: Expr, places: Mapping[int, int]) -> Expr:
    """Return ``expr`` with other ordinals for its columns: those that ``places`` has for the old ones."""
    if isinstance(expr, ColumnRef):
        return replace(expr, ordinal=places.get(expr.ordinal, expr.ordinal))
    if isinstance(expr, Call):
        return replace(expr, args=tuple(rebound(arg, places) for arg in expr.args))
    return expr

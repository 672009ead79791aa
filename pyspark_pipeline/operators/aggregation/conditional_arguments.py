"""Arguments that have a value only where a condition holds: the condition becomes the filter of the call.

``sum(CASE WHEN day = 'Monday' THEN price END)`` reads the prices of Mondays, instead of a column with NULLs for all
other rows. With ``ELSE 0`` the other rows make a sum 0 that is else NULL, which :attr:`AggregateCall.has_zeros` says.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark_pipeline.expressions import ExpressionSettings, can_raise
from pyspark_pipeline.plan.expr import Call, Expr, Literal
from pyspark_pipeline.plan.nodes import Aggregate, AggregateCall

#: Functions of one argument whose value and buffers do not depend on rows in which it is NULL.
_SKIP_NULLS = frozenset({"Average", "Count", "Max", "Min", "Sum"})
_EXACT = frozenset({"tinyint", "smallint", "int", "bigint", "decimal"})


def with_conditions(node: Aggregate, settings: ExpressionSettings) -> Aggregate:
    """Return an equivalent aggregation whose calls read only the rows in which their arguments have values."""
    return replace(node, calls=tuple(_with_condition(call, settings) for call in node.calls))


def _with_condition(call: AggregateCall, settings: ExpressionSettings) -> AggregateCall:
    if call.merges or call.filter is not None or call.function not in _SKIP_NULLS or len(call.args) != 1:
        return call
    parts = _split(call.args[0])
    if parts is None:
        return call
    condition, value, has_zeros = parts
    if has_zeros and (call.function != "Sum" or value.type.kind not in _EXACT):  # −0.0 + 0.0 is 0.0
        return call
    if can_raise([condition, value], settings):  # the first row that fails, of all arguments, raises
        return call
    return replace(call, args=(value,), filter=condition, has_zeros=has_zeros)


def _split(argument: Expr) -> tuple[Expr, Expr, bool] | None:
    """Return the condition, the value where it is true, and whether other rows have 0, not NULL; None without one."""
    if not isinstance(argument, Call):
        return None
    if argument.name == "UnscaledValue":
        parts = _split(argument.args[0])
        return None if parts is None else (parts[0], replace(argument, args=(parts[1],)), parts[2])
    if argument.name not in ("CaseWhen", "If") or not 2 <= len(argument.args) <= 3:
        return None
    condition, value, *others = argument.args
    if isinstance(value, Literal) and value.value is None:
        return None
    if not others:
        return condition, value, False
    if not isinstance(others[0], Literal):
        return None
    constant, kind = others[0].value, others[0].type.kind
    if constant is None:
        return condition, value, False
    return (condition, value, True) if kind in _EXACT and constant == 0 else None

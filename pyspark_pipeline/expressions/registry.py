"""The function registry: support is declared once, beside the implementation.

``@function("Add", cases=[case(...), ...])`` registers a builder under the name of its Catalyst class. When an
expression is compiled, the builder receives the :class:`Call` and the settings and returns a kernel.
:func:`manifest` exports the declarations; the JVM side checks every plan against them (design D7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from pyspark_pipeline.expressions.cases import (
    ALL_KINDS,
    FLOATING,
    INTEGRAL,
    KINDS,
    NUMERIC,
    ORDERED,
    Case,
    CaseRegistry,
    Signature,
    case,
)
from pyspark_pipeline.plan.expr import Call
from pyspark_pipeline.plan.nodes import EvaluateInJvm, Settings

if TYPE_CHECKING:
    from pyspark_pipeline.expressions.frame import Evaluable, Frame

__all__ = [
    "ALL_KINDS",
    "FLOATING",
    "INTEGRAL",
    "KINDS",
    "NUMERIC",
    "ORDERED",
    "Builder",
    "Case",
    "ExpressionSettings",
    "Kernel",
    "LazyKernel",
    "Value",
    "build",
    "case",
    "function",
    "manifest",
]

#: An evaluated expression: an array with one value per row, or a scalar that holds for every row.
Value: TypeAlias = pa.Array | pa.Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionSettings:
    """The session settings of expressions: ANSI mode, the name of the session time zone, differences of versions.

    ``checks_truncation``: ``date_trunc`` to at most seconds raises below the first timestamp, as since Spark 4.3.
    ``suggests_ansi_off``: the error of a date that does not exist suggests to disable ANSI mode, as before Spark 4.3.
    ``chooses_inverse_hyperbolic``: ``asinh`` and ``acosh`` choose a formula by their argument, as since Spark 4.3.
    ``names_timestamp``: the error of a number beyond the timestamps names the number, as since Spark 4.3.
    ``clamps_overlays``: ``overlay`` ends positions at the largest int instead of a wrap-around, as since Spark 4.3.
    ``has_nanoseconds``: times have up to nine digits of a second, and texts lose those that their type does not have,
    as since Spark 4.3.
    ``divides_at_scale``: quotients of decimals are rounded at once, as since Spark 4.3: errors have fewer digits.
    ``masks_units``: ``mask`` replaces the two UTF-16 units of a character each, as before Spark 4.3.
    ``java`` is the release of the JVM. ``evaluate_in_jvm``: as in :class:`Settings`.
    ``prints_shortest_digits``: ``Double.toString`` prints as few digits as identify the number, as since Java 19.
    """

    ansi: bool = True
    time_zone: str = "UTC"
    checks_truncation: bool = False
    suggests_ansi_off: bool = True
    chooses_inverse_hyperbolic: bool = False
    names_timestamp: bool = False
    prints_shortest_digits: bool = False
    clamps_overlays: bool = False
    has_nanoseconds: bool = False
    masks_units: bool = True
    divides_at_scale: bool = False
    java: int = 17
    evaluate_in_jvm: EvaluateInJvm | None = None

    @classmethod
    def of(cls, settings: Settings) -> ExpressionSettings:
        """Build them from the settings of a fragment instance."""
        is_spark_43 = settings.is_spark(4, 3)
        return cls(
            ansi=settings.ansi,
            time_zone=settings.time_zone,
            checks_truncation=is_spark_43,
            suggests_ansi_off=not is_spark_43,
            chooses_inverse_hyperbolic=is_spark_43,
            names_timestamp=is_spark_43,
            prints_shortest_digits=settings.java >= 19,
            clamps_overlays=is_spark_43,
            has_nanoseconds=is_spark_43,
            masks_units=not is_spark_43,
            divides_at_scale=is_spark_43,
            java=settings.java,
            evaluate_in_jvm=settings.evaluate_in_jvm,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A function of evaluated arguments: ``run(values, rows)``; at least one value is an array.

    ``can_raise``: some input makes ``run`` raise Spark's error. ``null_intolerant``: the result is NULL if an
    argument is NULL, and Spark does not evaluate the arguments after it (in ``order``). ``by_dictionary``: the
    function is element-wise, so a dictionary-encoded argument may be evaluated once per dictionary value; if
    ``maps_null``, only one without NULL, of which the result need not be NULL.
    """

    run: Callable[[Sequence[Value], int], Value]
    can_raise: bool = False
    null_intolerant: bool = True
    by_dictionary: bool = False
    maps_null: bool = False
    order: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyKernel:
    """A function that selects the rows on which its arguments are evaluated: ``run(frame, arguments)``."""

    run: Callable[[Frame, Sequence[Evaluable]], Value]
    can_raise: bool = False


Builder: TypeAlias = Callable[[Call, ExpressionSettings], "Kernel | LazyKernel"]

_FUNCTIONS: CaseRegistry[Builder] = CaseRegistry("")

#: ``@function("Add", [case(...), ...])`` registers a builder for a Catalyst class with the signatures it supports.
function = _FUNCTIONS.register
#: Returns {function: {"cases": [...]}} for every registered function, sorted by name.
manifest = _FUNCTIONS.manifest


def build(call: Call, settings: ExpressionSettings) -> Kernel | LazyKernel:
    """Build the kernel of ``call`` by its case; raise :class:`UnsupportedPlanError` for an unknown function or case."""
    return implementation(call)(call, settings)


def implementation(call: Call) -> Builder:
    """Return the builder of ``call``; raise :class:`UnsupportedPlanError` as :func:`build`."""
    return _FUNCTIONS.find(call.name, _signature(call), call.case)


def matching_case(call: Call) -> int | None:
    """Return the position in the manifest of the first case that ``call`` matches; None if it matches none."""
    return _FUNCTIONS.matching_case(call.name, _signature(call))


def _signature(call: Call) -> Signature:
    types = tuple(arg.type for arg in call.args)
    return Signature(types=types, type=call.type, fields=call.fields, args=call.args)

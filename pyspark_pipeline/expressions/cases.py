"""Declared support: the cases of functions, aggregate functions and window functions, and the matching of calls.

A case is one supported signature, in the JSON of the manifest. The JVM side checks every plan against the cases
(design D7); the worker selects the implementation of a call by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.datatypes.types import NESTED_KINDS
from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.expressions import java_regex
from pyspark_pipeline.plan.expr import Call, Expr, Literal, chosen_places

DAY_TIME, YEAR_MONTH = "interval day to second", "interval year to month"
KINDS = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double",
    "decimal", "string", "binary", "date", "timestamp", "timestamp_ntz", "time", DAY_TIME, YEAR_MONTH,
    "void",
)  # fmt: skip
ALL_KINDS = (*KINDS, *NESTED_KINDS)
INTEGRAL = ("tinyint", "smallint", "int", "bigint")
FLOATING = ("float", "double")
NUMERIC = (*INTEGRAL, *FLOATING, "decimal")
ORDERED = tuple(kind for kind in KINDS if kind != "void")
#: The settings of functions whose results depend on the order of rows, which drivers of one task do not keep.
ONE_CORE_A_TASK = {"spark.task.cpus": ["1"]}

Case: TypeAlias = Mapping[str, Any]
T = TypeVar("T")


def case(*args: Sequence[str], **conditions: Any) -> Case:
    """Declare one supported signature: the kinds allowed for each argument, and the manifest's further conditions.

    ``conditions``: variadic, same_type, result (required if it is nested), max_precision (of a decimal result, or of
    the decimals of an array), fields (``absent``: the class of this version of Spark has no such field), field_matches
    (a pattern for a field), children (the kinds allowed below an argument of a nested type), least_children (the fewest
    types below such an argument), keys (those of
    a map that is the result), nullable_elements (arguments whose type allows NULL elements, which the worker does not
    know), literal, matches, choices
    (patterns of arguments that are one of several constants in each row, or NULL), regex (a regular expression of Java
    that :mod:`~pyspark_pipeline.expressions.java_regex` supports: the position of the ``pattern``, whether it and the
    replacement are ``chosen`` among constants in each row, the positions of the number of a ``group`` or of a
    ``replacement``, and whether its matches are ``full``, never empty), without_nan (arguments without the
    constant NaN and without subqueries), settings (of Spark, with the values they may have), packages (that the
    workers' Python must have, by the extra of this package that installs them), frames (of a window), distinct (false:
    not with DISTINCT), difference, slower (Spark's own code is faster: if cost counts, it evaluates the function).
    """
    return {"args": [list(kinds) for kinds in args], **conditions}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The properties of a call that cases match.

    ``args`` are the arguments, or only those that are literals, with None for the others; ``frame`` is None outside
    a window.
    """

    types: Sequence[DataType]
    type: DataType
    fields: Mapping[str, Any]
    args: Sequence[Expr | None] = ()
    frame: str | None = None


@dataclass(slots=True)
class CaseRegistry(Generic[T]):
    """Implementations by the name of the Catalyst class and the cases they support.

    Several implementations may be registered for one class; the first with a case that matches a call is used.
    """

    what: str
    _entries: dict[str, list[tuple[Case, T]]] = field(default_factory=dict)

    def register(self, name: str, cases: Sequence[Case]) -> Callable[[T], T]:
        """Return a decorator that registers an implementation of ``cases``."""

        def register(made: T) -> T:
            self._entries.setdefault(name, []).extend((entry, made) for entry in cases)
            return made

        return register

    def matching_case(self, name: str, call: Signature) -> int | None:
        """Return the position in the manifest of the first case that ``call`` matches; None if it matches none."""
        entries = self._entries.get(name, ())
        return next((position for position, (entry, _) in enumerate(entries) if matches(entry, call)), None)

    def find(self, name: str, call: Signature, position: int | None = None) -> T:
        """Return the implementation for ``call``; raise :class:`UnsupportedPlanError` if there is none.

        ``position`` is that of its case in the manifest, which the shim has matched; None: it is matched here.
        """
        if position is None:
            position = self.matching_case(name, call)
        if position is None or not 0 <= position < len(self._entries.get(name, ())):
            types = ", ".join(str(kind) for kind in call.types)
            raise UnsupportedPlanError(f"{self.what}{name}({types}) is not supported")
        return self._entries[name][position][1]

    def cases(self) -> Iterator[tuple[str, Case]]:
        """Yield every name with each of its cases."""
        return ((name, entry) for name, entries in self._entries.items() for entry, _ in entries)

    def manifest(self) -> dict[str, Any]:
        """Return {name: {"cases": [...]}} for every registered name, sorted."""
        return {name: {"cases": [dict(entry) for entry, _ in self._entries[name]]} for name in sorted(self._entries)}


def matches(entry: Case, call: Signature) -> bool:
    """Return whether a call matches a case, by the rules of ``CaseMatcher.scala`` that the worker can check."""
    kinds = list(entry["args"])
    count = len(call.types)
    if entry.get("variadic") and kinds and count >= len(kinds):
        kinds += [kinds[-1]] * (count - len(kinds))
    if len(kinds) != count or any(arg.kind not in allowed for arg, allowed in zip(call.types, kinds, strict=True)):
        return False
    if entry.get("same_type") and len(set(call.types)) > 1:
        return False
    if not all(
        child.kind in kinds for at, kinds in entry.get("children", {}).items() for child in call.types[int(at)].children
    ):
        return False
    if any(len(call.types[int(at)].children) < least for at, least in entry.get("least_children", {}).items()):
        return False
    if "result" in entry and call.type.kind not in entry["result"]:
        return False
    if "keys" in entry and (call.type.kind != "map" or call.type.children[0].kind not in entry["keys"]):
        return False
    if call.type.precision > entry.get("max_precision", call.type.precision):
        return False
    if call.frame is not None and call.frame not in entry["frames"]:
        return False
    if not all(_text(call.fields.get(name, "absent")) in allowed for name, allowed in entry.get("fields", {}).items()):
        return False
    if not all(
        re.fullmatch(pattern, _text(call.fields.get(name, "absent")), re.DOTALL | re.ASCII)
        for name, pattern in entry.get("field_matches", {}).items()
    ):
        return False
    if not all(isinstance(call.args[position], Literal) for position in entry.get("literal", ())):
        return False
    if any(_is_nan(call.args[position]) for position in entry.get("without_nan", ())):
        return False
    if "regex" in entry and not _regex_fits(entry["regex"], call.args):
        return False
    return all(
        _fully_matches(call.args[int(position)], pattern) for position, pattern in entry.get("matches", {}).items()
    ) and all(
        _is_constant(call.args[int(at)], lambda text, p=pattern: _is_like(text, p), is_chosen=True)  # type: ignore[misc]
        for at, pattern in entry.get("choices", {}).items()
    )


def _is_nan(arg: Expr | None) -> bool:
    return isinstance(arg, Literal) and arg.value is not None and bool(arg.value != arg.value)


def _regex_fits(condition: Mapping[str, Any], args: Sequence[Expr | None]) -> bool:
    is_chosen = bool(condition.get("chosen"))

    def is_supported(text: str) -> bool:
        try:
            pattern = java_regex.parse(text)
        except java_regex.UnsupportedPatternError:
            return False
        if condition.get("full") and pattern.may_be_empty:
            return False
        if "group" in condition:
            group = args[condition["group"]]
            return isinstance(group, Literal) and pattern.has_groups([group.value])
        return "replacement" not in condition or _is_constant(
            args[condition["replacement"]], pattern.has_replacement, is_chosen
        )

    return _is_constant(args[condition["pattern"]], is_supported, is_chosen)


def _is_constant(arg: Expr | None, test: Callable[[str], bool], is_chosen: bool) -> bool:
    """Return whether an argument is a constant that passes a test; ``is_chosen``: or NULL, or one of several."""
    if isinstance(arg, Literal):
        return is_chosen if arg.value is None else test(_text(arg.value))
    if not is_chosen or not isinstance(arg, Call):
        return False
    places = chosen_places(arg)
    return bool(places) and all(_is_constant(arg.args[place], test, is_chosen) for place in places)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{','.join(map(_text, value))}]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fully_matches(arg: Expr | None, pattern: str) -> bool:
    if not isinstance(arg, Literal) or arg.value is None:
        return False
    return _is_like(_text(arg.value), pattern)


def _is_like(text: str, pattern: str) -> bool:
    return re.fullmatch(pattern, text, re.DOTALL | re.ASCII) is not None

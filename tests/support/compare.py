"""Compares two results of one query: every row and value, with the types that Spark's ``collect`` returns.

Values are equal when their Python types are the same and: floats are bitwise alike (NaN equals NaN,
infinities by sign, ±0 by sign unless the rule says otherwise) or within the rule's relative tolerance;
decimals have the same digits *and* scale; maps have the same pairs, arrays the same order, structs the
same field names. Unordered comparison is by multiset: a missing duplicate is a difference.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_SHOWN_ROWS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The rule of a comparison: whether row order counts, the relative tolerance of floats, whether ±0 differ, and
    whether messages of errors count.
    """

    ordered: bool = False
    relative: float = 0.0
    signed_zeros: bool = True
    exact_errors: bool = False


EXACT = Rule()
_FLOAT_SLOT = ("float",)


def difference(expected: Sequence[Any], actual: Sequence[Any], rule: Rule = EXACT) -> str | None:
    """Return a description of the first differences between two lists of rows, or None if there are none."""
    if rule.ordered:
        return _ordered_difference(expected, actual, rule)
    if rule.relative:
        return _tolerant_difference(expected, actual, rule)
    left = Counter(fingerprint(row, rule) for row in expected)
    right = Counter(fingerprint(row, rule) for row in actual)
    return _describe(
        [row for row in expected if left[fingerprint(row, rule)] > right[fingerprint(row, rule)]],
        [row for row in actual if right[fingerprint(row, rule)] > left[fingerprint(row, rule)]],
        len(expected),
        len(actual),
    )


def equal(expected: Any, actual: Any, rule: Rule = EXACT) -> bool:
    """Return whether two values (or rows) are equal under ``rule``."""
    if type(expected) is not type(actual):
        return False
    if isinstance(expected, float):
        return _equal_floats(expected, actual, rule)
    if isinstance(expected, dict):
        return difference(list(expected.items()), list(actual.items()), _unordered(rule)) is None
    if isinstance(expected, list | tuple):
        names = getattr(expected, "__fields__", None) == getattr(actual, "__fields__", None)
        return (
            names
            and len(expected) == len(actual)
            and all(equal(left, right, rule) for left, right in zip(expected, actual, strict=True))
        )
    return fingerprint(expected, rule) == fingerprint(actual, rule)


def fingerprint(value: Any, rule: Rule = EXACT) -> Hashable:
    """Return a hashable form of ``value`` that is equal exactly if the values are (floats exact, or left out
    if the rule has a tolerance)."""
    if isinstance(value, float):
        return _fingerprint_float(value, rule)
    if isinstance(value, Decimal):
        return ("Decimal", str(value.as_tuple()))
    if isinstance(value, bytes | bytearray):
        return ("bytes", bytes(value))
    if isinstance(value, dict):
        pairs = Counter((fingerprint(key, rule), fingerprint(item, rule)) for key, item in value.items())
        return ("map", frozenset(pairs.items()))
    if isinstance(value, list | tuple):
        names = tuple(getattr(value, "__fields__", ()))
        return (type(value).__name__, names, tuple(fingerprint(item, rule) for item in value))
    return (type(value).__name__, value)


def _fingerprint_float(value: float, rule: Rule) -> Hashable:
    if math.isnan(value):
        return ("float", "NaN")
    if math.isinf(value):
        return ("float", value)
    if rule.relative:
        return _FLOAT_SLOT
    if value == 0.0:
        return ("float", 0.0, math.copysign(1.0, value) if rule.signed_zeros else 1.0)
    return ("float", value)


def _equal_floats(expected: float, actual: float, rule: Rule) -> bool:
    if math.isnan(expected) or math.isnan(actual):
        return math.isnan(expected) and math.isnan(actual)
    if expected == 0.0 and actual == 0.0 and rule.signed_zeros:
        return math.copysign(1.0, expected) == math.copysign(1.0, actual)
    if math.isinf(expected) or math.isinf(actual):
        return expected == actual
    return math.isclose(expected, actual, rel_tol=rule.relative, abs_tol=0.0)


def _unordered(rule: Rule) -> Rule:
    return Rule(relative=rule.relative, signed_zeros=rule.signed_zeros)


def _ordered_difference(expected: Sequence[Any], actual: Sequence[Any], rule: Rule) -> str | None:
    for number, (left, right) in enumerate(zip(expected, actual, strict=False)):
        if not equal(left, right, rule):
            return f"row {number}: expected {left!r}\n         actual {right!r}"
    return _describe(expected[len(actual) :], actual[len(expected) :], len(expected), len(actual))


def _tolerant_difference(expected: Sequence[Any], actual: Sequence[Any], rule: Rule) -> str | None:
    """Compare rows with a float tolerance: match rows that agree in all but their floats, nearest floats first."""
    groups: dict[Hashable, list[Any]] = defaultdict(list)
    for row in actual:
        groups[fingerprint(row, rule)].append(row)
    for rows in groups.values():
        rows.sort(key=_floats_of)
    missing = []
    for row in sorted(expected, key=_floats_of):
        if not _take(groups[fingerprint(row, rule)], row, rule):
            missing.append(row)
    surplus = [row for rows in groups.values() for row in rows]
    return _describe(missing, surplus, len(expected), len(actual))


def _take(rows: list[Any], wanted: Any, rule: Rule) -> bool:
    for index, row in enumerate(rows):
        if equal(wanted, row, rule):
            del rows[index]
            return True
    return False


def _floats_of(value: Any) -> tuple[float, ...]:
    if isinstance(value, float):
        return () if math.isnan(value) else (value,)
    if isinstance(value, dict):
        return tuple(number for item in value.values() for number in _floats_of(item))
    if isinstance(value, list | tuple):
        return tuple(number for item in value for number in _floats_of(item))
    return ()


def _describe(missing: Sequence[Any], surplus: Sequence[Any], expected: int, actual: int) -> str | None:
    if not missing and not surplus and expected == actual:
        return None
    lines = [f"{expected} rows expected, {actual} rows given"]
    for title, rows in (("missing", missing), ("surplus", surplus)):
        lines += [f"  {title}: {row!r}" for row in list(rows)[:_SHOWN_ROWS]]
        if len(rows) > _SHOWN_ROWS:
            lines.append(f"  {title}: … {len(rows) - _SHOWN_ROWS} more rows")
    return "\n".join(lines)

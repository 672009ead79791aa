"""Search in strings: positions, parts around a delimiter, replacement (Spark: stringExpressions.scala, UTF8String)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.per_value import map_distinct, per_row, per_value
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import flags, to_array
from pyspark_pipeline.plan.expr import Call, Literal, constants

#: The kernel of a function of strings with a constant NULL.
NULL_TEXT = Kernel(run=lambda values, rows: pa.scalar(None, pa.string()))


def find_position(text: str, part: str, start: int = 1) -> int:
    """Return the 1-based position of the first occurrence of ``part`` at or after position ``start``; 0 if none."""
    if start < 1:
        return 0
    return text.find(part, start - 1) + 1 if part else 1


@function("StringInstr", [case(["string"], ["string"])])
def _instr(call: Call, settings: ExpressionSettings) -> Kernel:
    part = call.args[1]
    if not isinstance(part, Literal) or part.value is None:
        return per_row(find_position, pa.int32())
    return Kernel(run=_first_position(part.value, 0), by_dictionary=True)


def _first_position(part: str, argument: int) -> Callable[[Sequence[Value], int], Value]:
    """Return a kernel for the position of a constant: byte offsets are positions if all characters are ASCII."""

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[argument], rows)
        if not part or pc.all(pc.string_is_ascii(array)).as_py() is False:
            return map_distinct(array, lambda text: find_position(text, part), pa.int32())
        return pc.add(pc.find_substring(array, part), pa.scalar(1, pa.int32()))

    return run


@function("StringLocate", [case(["string"], ["string"], ["int"], matches={"2": r"-?\d+"})])
def _locate(call: Call, settings: ExpressionSettings) -> Kernel:
    """``locate(part, text, start)`` with a constant start, which Spark evaluates first."""
    (start,) = constants(call.args[2:])
    part = call.args[0]
    if start == 1 and isinstance(part, Literal) and part.value is not None:
        return Kernel(run=_first_position(part.value, 1), by_dictionary=True)
    return per_row(lambda part, text, start: find_position(text, part, start), pa.int32())


def part_before(text: str, delimiter: str, count: int) -> str:
    """Return ``text`` up to the ``count``-th delimiter from the left, or after the ``-count``-th from the right.

    Occurrences may overlap, as in UTF8String.subStringIndex; the whole text if it has fewer.
    """
    if not delimiter or not count:
        return ""
    if count > 0:
        found = -1
        for _ in range(count):
            found = text.find(delimiter, found + 1)
            if found < 0:
                return text
        return text[:found]
    found = len(text) - len(delimiter) + 1
    for _ in range(-count):
        found = text.rfind(delimiter, 0, found - 1 + len(delimiter)) if found > 0 else -1
        if found < 0:
            return text
    return text[found + len(delimiter) :]


@function("SubstringIndex", [case(["string"], ["string"], ["int"], literal=[1, 2])])
def _substring_index(call: Call, settings: ExpressionSettings) -> Kernel:
    delimiter, count = constants(call.args[1:])
    if delimiter is None or count is None:
        return NULL_TEXT
    if not delimiter or abs(count) != 1:
        return per_value(lambda text: part_before(text, delimiter, count), pa.string())

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        parts = pc.split_pattern(array, delimiter, max_splits=1, reverse=count < 0)
        ends = parts.offsets.to_numpy()
        taken = ends[:-1] if count > 0 else ends[1:] - 1
        valid = flags(array.is_valid())
        return parts.values.take(pa.array(np.where(valid, taken, 0), mask=~valid))

    return Kernel(run=run, by_dictionary=True)


@function("StringReplace", [case(["string"], ["string"], ["string"])])
def _replace(call: Call, settings: ExpressionSettings) -> Kernel:
    """Replace all occurrences from the left, without overlap; an empty search string replaces nothing."""
    if len(constants(call.args[1:])) < 2:
        return per_row(lambda text, search, by: text.replace(search, by) if search else text, pa.string())
    search, by = constants(call.args[1:])
    if search is None or by is None:
        return NULL_TEXT
    if not search:
        return Kernel(run=lambda values, rows: values[0])
    return Kernel(run=lambda values, rows: pc.replace_substring(values[0], search, by), by_dictionary=True)


@function("StringTranslate", [case(["string"], ["string"], ["string"], literal=[1, 2])])
def _translate(call: Call, settings: ExpressionSettings) -> Kernel:
    """Replace character by character; one without a counterpart, or with U+0000 as counterpart, is removed."""
    search, by = constants(call.args[1:])
    if search is None or by is None:
        return NULL_TEXT
    table: dict[int, str | None] = {}
    for position, character in enumerate(search):
        to = by[position] if position < len(by) else "\0"
        table.setdefault(ord(character), None if to == "\0" else to)
    return per_value(lambda text: text.translate(table), pa.string())


def _index_in_set(text: str, members: str) -> int:
    if "," in text:
        return 0
    split = members.split(",")
    return split.index(text) + 1 if text in split else 0


@function("FindInSet", [case(["string"], ["string"])])
def _find_in_set(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the 1-based index of a string in a list separated by commas; 0 if it is not there."""
    return per_row(_index_in_set, pa.int32())


for _name, _test in (("Contains", str.__contains__), ("StartsWith", str.startswith), ("EndsWith", str.endswith)):

    def _build(call: Call, settings: ExpressionSettings, test: Callable[[str, str], bool] = _test) -> Kernel:
        return per_row(test, pa.bool_())

    function(_name, [case(["string"], ["string"])])(_build)

"""Regular expressions (Spark: regexpExpressions.scala), evaluated by RE2 or, if it cannot express them, by Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions import java_regex
from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.java_words import marked_words
from pyspark_pipeline.expressions.per_value import java_text, map_distinct
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.text_arrays import measured
from pyspark_pipeline.expressions.values import from_numbers, to_array
from pyspark_pipeline.kernels import class_matches
from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call, constants

#: Computes the results of texts by a pattern of RE2.
ByRe2: TypeAlias = Callable[[pa.Array, str], pa.Array]
#: Computes the result of a text by its matches, of which only the positions count.
ByPython: TypeAlias = Callable[[str, Iterator[re.Match[str]]], Any]

_ASCII_LAST, _LAST_CHARACTER = 0x7F, 0x10FFFF
_EMPTY_TEXT = pa.array([""])
#: The last bytes of the line terminators in UTF-8, before which ``$`` matches.
_LAST_BYTES = np.array([ord("\n"), ord("\r"), 0x85, 0xA8, 0xA9], dtype=np.uint8)


class Regex:
    """A regular expression of Java; ``captured`` are the groups that RE2 captures (0: the whole match)."""

    def __init__(self, pattern: str, captured: Sequence[int] = ()) -> None:
        parsed = java_regex.parse(pattern)
        places = {node.kind for node in java_regex.nodes(parsed.root) if isinstance(node, java_regex.Place)}
        self._has_boundary = "b" in places
        self._has_end = "$" in places
        #: Whether a match depends on the text before it.
        self.has_start = self._has_boundary or "^" in places
        self._python = java_regex.to_python(parsed)
        self._re2 = java_regex.to_re2(parsed, captured)
        if self._re2 is not None and not _is_accepted(self._re2):
            self._re2 = None

    def evaluate(self, texts: pa.Array, by_re2: ByRe2, by_python: ByPython, type_: pa.DataType) -> pa.Array:
        """Return the results of texts: by RE2, and by Python where RE2's ``$`` or ``\\b`` may differ from Java's.

        Strings that are not UTF-8 are decoded as Java does.
        """
        texts = java_text(texts)
        pattern = self._re2

        def convert(text: str) -> Any:
            return by_python(text, self.matches(text))

        if pattern is None:
            return map_distinct(texts, convert, type_)
        others = self._others(texts)
        if others is None:
            return by_re2(texts, pattern)
        order = np.argsort(others, kind="stable")
        mask = pa.array(others)
        parts = by_re2(texts.filter(pc.invert(mask)), pattern), map_distinct(texts.filter(mask), convert, type_)
        return pa.concat_arrays([part.cast(type_) for part in parts]).take(pa.array(np.argsort(order)))

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text; that in the match objects may be another one of the same length."""
        return self._python.finditer(marked_words(text) if self._has_boundary and not text.isascii() else text)

    def _others(self, texts: pa.Array) -> Any:
        """Return the texts that RE2 may match otherwise than Java: bool, shape (rows,); None if there is none."""
        others = None
        if self._has_end:
            others = _ends_with_terminator(texts)
        if self._has_boundary:
            is_other = ~np.asarray(pc.fill_null(pc.string_is_ascii(texts), True))
            others = is_other if others is None else others | is_other
        return others if others is not None and others.any() else None


def _is_accepted(pattern: str) -> bool:
    """Return whether RE2 accepts a pattern: it limits how large repetitions become."""
    try:
        pc.match_substring_regex(_EMPTY_TEXT, pattern)
    except pa.ArrowInvalid:
        return False
    return True


def _ends_with_terminator(texts: pa.Array) -> Any:
    """Return the texts whose last byte may end a line terminator: bool, shape (rows,)."""
    offsets, data = text_of(texts)
    last = np.zeros(len(texts), dtype=np.uint8)
    has_bytes = offsets[1:] > offsets[:-1]
    last[has_bytes] = data[offsets[1:][has_bytes] - 1]
    return np.isin(last, _LAST_BYTES)


def _pattern(call: Call) -> str:
    return str(constants(call.args[1:2])[0])


@function("RLike", [case(["string"], ["string"], regex={"pattern": 1})])
def _rlike(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return whether any part of a string matches."""
    regex = Regex(_pattern(call))

    def run(values: Sequence[Value], rows: int) -> Value:
        return regex.evaluate(
            to_array(values[0], rows), pc.match_substring_regex, lambda text, found: next(found, None) is not None,
            pa.bool_(),
        )  # fmt: skip

    return Kernel(run=run, by_dictionary=True)


@function("RegExpInStr", [case(["string"], ["string"], ["int"], regex={"pattern": 1}, matches={"2": "0"})])
def _regexp_instr(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the position, from 1, of the first match in characters; 0 if there is none."""
    regex = Regex(_pattern(call))

    def by_python(text: str, matches: Iterator[re.Match[str]]) -> int:
        found = next(matches, None)
        return 0 if found is None else found.start() + 1

    def run(values: Sequence[Value], rows: int) -> Value:
        return regex.evaluate(to_array(values[0], rows), _position, by_python, pa.int32())

    return Kernel(run=run, by_dictionary=True)


def _position(texts: pa.Array, pattern: str) -> pa.Array:
    found = pc.find_substring_regex(texts, pattern)
    if pc.all(pc.string_is_ascii(texts)).as_py() is False:
        offsets, data = text_of(texts)
        counts = np.zeros(len(data) + 1, dtype=np.int32)
        np.cumsum((data & 0xC0) != 0x80, out=counts[1:])
        at = pc.fill_null(found, -1).to_numpy(zero_copy_only=False)
        before = counts[offsets[:-1] + np.maximum(at, 0)] - counts[offsets[:-1]]
        found = from_numbers(np.where(at < 0, -1, before).astype(np.int32), pa.int32(), validity_of([texts]))
    return pc.add(found, pa.scalar(1, pa.int32()))


_REPLACED = {"pattern": 1, "replacement": 2, "full": True}


@function("RegExpReplace", [
    case(["string"], ["string"], ["string"], ["int"], regex=_REPLACED, matches={"3": "1"}),
])  # fmt: skip
def _regexp_replace(call: Call, settings: ExpressionSettings) -> Kernel:
    pattern, by = (str(text) for text in constants(call.args[1:3]))
    parsed = java_regex.parse(pattern)
    parts = java_regex.replacement_parts(by, parsed.groups)
    used = sorted({part for part in parts if isinstance(part, int)})
    direct = None if used else _without_regex(parsed, "".join(map(str, parts)))
    if direct is not None:
        return Kernel(run=lambda values, rows: direct(java_text(to_array(values[0], rows))), by_dictionary=True)
    regex = Regex(pattern, used)
    # RE2 refers to the groups that it captures, of which the whole match is the first.
    re2_by = "".join(
        rf"\{used.index(part) + 1}" if isinstance(part, int) else part.replace("\\", r"\\") for part in parts
    )

    def by_python(text: str, matches: Iterator[re.Match[str]]) -> str:
        written, start = [], 0
        for found in matches:
            written.append(text[start : found.start()])
            written += [text[slice(*found.span(part))] if isinstance(part, int) else part for part in parts]
            start = found.end()
        return "".join([*written, text[start:]])

    def run(values: Sequence[Value], rows: int) -> Value:
        return regex.evaluate(
            to_array(values[0], rows), lambda texts, re2: pc.replace_substring_regex(texts, re2, re2_by),
            by_python, pa.string(),
        )  # fmt: skip

    return Kernel(run=run, by_dictionary=True)


def _without_regex(pattern: java_regex.Pattern, by: str) -> Callable[[pa.Array], pa.Array] | None:
    """Return a function that replaces the matches of a text or of a set of characters; None for another pattern."""
    text = java_regex.as_text(pattern)
    if text is not None:
        return lambda texts: pc.replace_substring(texts, text, by)
    found = java_regex.as_class(pattern)
    in_set = None if found is None else _first_bytes(found[0])
    if found is None or in_set is None:
        return None
    is_run = found[1]
    replacement = frozen(np.frombuffer(by.encode(), dtype=np.uint8).copy())

    def measure(offsets: Int32Array, data: UInt8Array, ends: Int64Array) -> None:
        class_matches.replaced_ends(offsets, data, in_set, is_run, len(replacement), ends)

    def write(offsets: Int32Array, data: UInt8Array, out: UInt8Array) -> None:
        class_matches.replace(offsets, data, in_set, is_run, replacement, out)

    return lambda texts: measured(texts, measure, write)


def _first_bytes(ranges: java_regex.Ranges) -> BoolArray | None:
    """Return which first bytes of UTF-8 start a character of a set; None if the set has only some above ASCII."""
    in_set = np.zeros(256, dtype=np.bool_)
    for low, high in ranges:
        in_set[low : min(high, _ASCII_LAST) + 1] = True
        if high > _ASCII_LAST:
            if low > _ASCII_LAST + 1 or high < _LAST_CHARACTER:
                return None
            in_set[_ASCII_LAST + 1 :] = True
    return frozen(in_set)


@function("RegExpExtract", [case(["string"], ["string"], ["int"], regex={"pattern": 1, "group": 2})])
def _regexp_extract(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the first match or one of its groups; the empty string if there is none."""
    (group,) = constants(call.args[2:])
    regex = Regex(_pattern(call), [group])

    def by_re2(texts: pa.Array, pattern: str) -> pa.Array:
        found = pc.struct_field(pc.extract_regex(texts, pattern), 0)
        return pc.if_else(pc.and_(found.is_null(), texts.is_valid()), pa.scalar(""), found)

    def by_python(text: str, matches: Iterator[re.Match[str]]) -> str:
        found = next(matches, None)
        return text[slice(*found.span(group))] if found else ""

    def run(values: Sequence[Value], rows: int) -> Value:
        return regex.evaluate(to_array(values[0], rows), by_re2, by_python, pa.string())

    return Kernel(run=run, by_dictionary=True)


# Patterns that a row chooses among constants.
_CHOSEN = {"pattern": 1, "chosen": True}
by_constants("RLike", [case(["string"], ["string"], regex=_CHOSEN)], [1])
by_constants("RegExpInStr", [case(["string"], ["string"], ["int"], regex=_CHOSEN, matches={"2": "0"})], [1])
by_constants(
    "RegExpReplace",
    [case(["string"], ["string"], ["string"], ["int"], regex={**_REPLACED, "chosen": True}, matches={"3": "1"})],
    [1, 2],
)
by_constants("RegExpExtract", [case(["string"], ["string"], ["int"], regex={**_CHOSEN, "group": 2})], [1])

"""Regular expressions in the part of Java's syntax that has the same meaning in RE2 (Spark: regexpExpressions.scala).

Patterns are constants of ASCII literals, classes, ``.``, ``\\d \\w \\s``, groups of at most two levels, alternatives,
greedy and lazy quantifiers, ``^`` at the start and ``$`` at the end. Both engines return the leftmost match, and of
alternatives the first. Translated: ``.`` and ``$`` with Java's line terminators, ``\\s`` with the vertical tab.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import from_numbers, to_array
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call, constants

_PUNCTUATION = r"[.+*?()\[\]{}|^$\\/\-]"
_CLASS_ITEM = rf"(?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9 _.,:;/@#%=<>!~\"'`+*?(){{}}$|]|\\[dws]|\\{_PUNCTUATION})"
_CLASS = rf"\[\^?(?:-?{_CLASS_ITEM}+-?|-)\]"
_ATOM = rf"(?:[A-Za-z0-9 _,:;/@#%&=<>!~\"'`\-]|\.|\\[dwsDWS]|\\{_PUNCTUATION}|{_CLASS})"
_QUANTIFIER = r"(?:(?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\})\??(?![*+?{]))"
_SEQUENCE = rf"(?:{_ATOM}{_QUANTIFIER}?)*"
_INNER = rf"\((?:\?:)?{_SEQUENCE}(?:\|{_SEQUENCE})*\)"
_OUTER = rf"\((?:\?:)?(?:{_ATOM}{_QUANTIFIER}?|{_INNER}{_QUANTIFIER}?|\|)*\)"
#: Patterns of which only the existence of a match counts.
TESTED = rf"\^?(?:{_ATOM}{_QUANTIFIER}?|{_OUTER}{_QUANTIFIER}?)+\$?|{_SEQUENCE}(?:\|{_SEQUENCE})+"
_PLAIN_GROUP = rf"\({_SEQUENCE}\)(?![*+?{{])"
#: Patterns whose match is extracted: groups are neither repeated nor nested.
EXTRACTED = rf"\^?(?:{_ATOM}{_QUANTIFIER}?|{_PLAIN_GROUP})+"
#: Patterns whose matches are replaced: the first atom is mandatory, so that no match is empty.
_AT_LEAST_ONE = r"(?:(?:\+|\{[1-9]\d?(?:,\d{0,2})?\})\??(?![*+?{])|(?![*+?{]))"
_FULL_GROUP = rf"\({_ATOM}{_AT_LEAST_ONE}{_SEQUENCE}\)(?![*+?{{])"
REPLACED = rf"\^?(?:{_ATOM}{_AT_LEAST_ONE}|{_FULL_GROUP})(?:{_ATOM}{_QUANTIFIER}?|{_PLAIN_GROUP})*"

_CHOICE = rf"\((?:\?:)?{_SEQUENCE}(?:\|{_SEQUENCE})*\)(?![*+?{{])"
#: Patterns whose matches are counted: as those replaced, but not only at the start, and with alternatives in groups.
COUNTED = rf"(?:{_ATOM}{_AT_LEAST_ONE}|{_FULL_GROUP})(?:{_ATOM}{_QUANTIFIER}?|{_CHOICE})*"


def with_groups(count: int, patterns: str) -> str:
    """Return those of ``patterns``, ``EXTRACTED`` or ``REPLACED``, that have ``count`` groups or more."""
    before = r"(?:[^\\(\[]|\\.|\[(?:[^\]\\]|\\.)*\])*"
    return rf"(?=(?:{before}\(){{{count}}}){patterns}"


_SPACE = r" \t\n\x0B\f\r"
_LINE_END = r"\n\r\x{85}\x{2028}\x{2029}"
_TOKEN = re.compile(rf"\\.|{_CLASS}|\((?:\?:)?|.", re.DOTALL)


def to_re2(pattern: str, group: int | None = None) -> str:
    """Translate a pattern; the capturing group of a number (0: the whole match) gets the name ``g``."""
    found, groups = [], 0
    tokens = _TOKEN.findall(pattern)
    for position, token in enumerate(tokens):
        if token == "(":
            groups += 1
            found.append("(?P<g>" if groups == group else "(?:")
        elif token == "$" and position == len(tokens) - 1:
            found.append(rf"(?:\r\n|[{_LINE_END}])?\z")
        else:
            found.append(_translate(token))
    return f"(?P<g>{''.join(found)})" if group == 0 else "".join(found)


def _translate(token: str) -> str:
    if token == ".":
        return f"[^{_LINE_END}]"
    if token == r"\s":
        return f"[{_SPACE}]"
    if token == r"\S":
        return f"[^{_SPACE}]"
    if token[0] == "[":
        return re.sub(r"\\(.)", lambda match: _SPACE if match[1] == "s" else match[0], token)
    return token


def _pattern(call: Call) -> str:
    return str(constants(call.args[1:2])[0])


@function("RLike", [case(["string"], ["string"], matches={"1": TESTED})])
def _rlike(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return whether any part of a string matches."""
    pattern = to_re2(_pattern(call))
    return Kernel(run=lambda values, rows: pc.match_substring_regex(values[0], pattern), by_dictionary=True)


@function("RegExpInStr", [case(["string"], ["string"], ["int"], matches={"1": TESTED, "2": "0"})])
def _regexp_instr(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the position, from 1, of the first match in characters; 0 if there is none."""
    pattern = to_re2(_pattern(call))

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        found = pc.find_substring_regex(array, pattern)
        if pc.all(pc.string_is_ascii(array)).as_py() is False:
            offsets, data = text_of(array)
            counts = np.zeros(len(data) + 1, dtype=np.int32)
            np.cumsum((data & 0xC0) != 0x80, out=counts[1:])
            at = pc.fill_null(found, -1).to_numpy(zero_copy_only=False)
            before = counts[offsets[:-1] + np.maximum(at, 0)] - counts[offsets[:-1]]
            found = from_numbers(np.where(at < 0, -1, before).astype(np.int32), pa.int32(), validity_of([array]))
        return pc.add(found, pa.scalar(1, pa.int32()))

    return Kernel(run=run, by_dictionary=True)


@function("RegExpReplace", [
    case(["string"], ["string"], ["string"], ["int"], matches={"1": REPLACED, "2": r"[^$\\]*", "3": "1"}),
])  # fmt: skip
def _regexp_replace(call: Call, settings: ExpressionSettings) -> Kernel:
    pattern, by = to_re2(_pattern(call)), str(constants(call.args[2:3])[0])
    return Kernel(run=lambda values, rows: pc.replace_substring_regex(values[0], pattern, by), by_dictionary=True)


@function("RegExpExtract", [
    *(
        case(["string"], ["string"], ["int"], matches={"1": with_groups(group, EXTRACTED), "2": str(group)})
        for group in range(6)
    ),
])  # fmt: skip
def _regexp_extract(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the first match or one of its groups; the empty string if there is none."""
    (group,) = constants(call.args[2:])
    pattern = to_re2(_pattern(call), group)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        found = pc.struct_field(pc.extract_regex(array, pattern), 0)
        return pc.if_else(pc.and_(found.is_null(), array.is_valid()), pa.scalar(""), found)

    return Kernel(run=run, by_dictionary=True)


# Patterns that a row chooses among constants.
by_constants("RLike", [case(["string"], ["string"], choices={"1": TESTED})], [1])
by_constants("RegExpInStr", [case(["string"], ["string"], ["int"], choices={"1": TESTED}, matches={"2": "0"})], [1])
by_constants(
    "RegExpReplace",
    [case(["string"], ["string"], ["string"], ["int"], choices={"1": REPLACED, "2": r"[^$\\]*"}, matches={"3": "1"})],
    [1, 2],
)
by_constants(
    "RegExpExtract",
    [
        case(["string"], ["string"], ["int"], choices={"1": with_groups(group, EXTRACTED)}, matches={"2": str(group)})
        for group in range(6)
    ],
    [1],
)

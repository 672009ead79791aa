"""LIKE with a constant pattern of % and _, and the substring tests (Spark: regexpExpressions.scala).

A pattern that tests for a prefix, a suffix, a substring or the exact text is evaluated by that test, a pattern of
several substrings between % by a kernel of this package, a pattern with _ by Arrow's matcher (RE2 over UTF-8). The
escape character is resolved here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.per_value import per_row
from pyspark_pipeline.expressions.registry import Case, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import decode
from pyspark_pipeline.kernels import text_match
from pyspark_pipeline.kernels.decimal_words import pack_flags, validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call, Literal

_SPECIAL = frozenset("\\.+*?()|[]{}^$-&~#")
_ESCAPES = "\\/#!|~^@$&*+-=:"


def _case_of(escape: str) -> Case:
    """Return the case of an escape character: the pattern escapes only it, _ and %."""
    quoted = re.escape(escape)
    pattern = rf"([^{quoted}]|{quoted}[{quoted}%_])*"
    return case(["string"], ["string"], literal=[1], matches={"1": pattern}, fields={"escapeChar": [escape]})


def _in_order(value: Value, words: str) -> Value:
    """Test whether the substrings between NUL characters occur in order; see :func:`parse_like`."""
    if isinstance(value, pa.Scalar):
        value = pa.array([value.as_py()], pa.string())
    parts = [part.encode() for part in words.split("\0") if part]
    ends = frozen(np.cumsum([len(part) for part in parts], dtype=np.int64))
    out = np.empty(len(value), dtype=np.bool_)
    text_match.contains_in_order(
        *text_of(value), np.frombuffer(b"".join(parts), np.uint8), ends,
        not words.startswith("\0"), not words.endswith("\0"), out,
    )  # fmt: skip
    return pa.Array.from_buffers(pa.bool_(), len(value), [validity_of([value]), pack_flags(out)])


_TESTS: dict[str, Callable[[Value, str], Value]] = {
    "exact": lambda value, text: pc.equal(value, pa.scalar(text)),
    "prefix": lambda value, text: pc.starts_with(value, pattern=text),
    "suffix": lambda value, text: pc.ends_with(value, pattern=text),
    "substring": lambda value, text: pc.match_substring(value, pattern=text),
    "parts": _in_order,
    "regex": lambda value, text: pc.match_substring_regex(value, pattern=text),
}


def parse_like(pattern: str, escape: str) -> tuple[str, str]:
    """Parse a LIKE pattern to (test, text); the test is exact, prefix, suffix, substring, parts or regex.

    The text of ``parts`` has a NUL character for each %.
    """
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == escape:
            position += 1
            escaped = pattern[position : position + 1]
            if escaped not in (escape, "_", "%"):
                raise conditions.wrong_escape(pattern, escaped)
            tokens.append(("text", escaped))
        elif char in "%_":
            tokens.append((char, char))
        else:
            tokens.append(("text", char))
        position += 1
    kinds = [kind for kind, _ in tokens]
    text = "".join(char for kind, char in tokens if kind == "text")
    if "_" not in kinds:
        inner = [index for index, kind in enumerate(kinds) if kind == "%"]
        if not inner:
            return "exact", text
        if inner == [len(kinds) - 1]:
            return "prefix", text
        if inner == [0]:
            return "suffix", text
        if inner == [0, len(kinds) - 1]:
            return "substring", text
        if text and "\0" not in text:
            return "parts", "".join("\0" if kind == "%" else char for kind, char in tokens)
    parts = {"%": ".*", "_": "."}
    regex = "".join(parts.get(kind) or ("\\" + char if char in _SPECIAL else char) for kind, char in tokens)
    return "regex", f"(?s)\\A{regex}\\z"


@function("Like", [_case_of(escape) for escape in _ESCAPES])
def _like(call: Call, settings: ExpressionSettings) -> Kernel:
    pattern = call.args[1]
    assert isinstance(pattern, Literal)
    kind, text = parse_like(pattern.value, call.fields.get("escapeChar", "\\"))
    test = _TESTS[kind]
    return Kernel(run=lambda values, rows: test(values[0], text), by_dictionary=True)


@lru_cache(1024)
def _matcher(pattern: str, escape: str) -> Callable[[str], Any]:
    """Return the test of a text by a LIKE pattern; raise Spark's error for a pattern that escapes another character."""
    kind, text = parse_like(pattern, escape)
    if kind in _STRING_TESTS:
        return lambda value: _STRING_TESTS[kind](value, text)
    expression = text[len("(?s)\\A") : -len("\\z")] if kind == "regex" else ".*".join(map(re.escape, text.split("\0")))
    return re.compile(expression, re.DOTALL).fullmatch


_STRING_TESTS: dict[str, Callable[[str, str], bool]] = {
    "exact": str.__eq__, "prefix": str.startswith, "suffix": str.endswith, "substring": str.__contains__,
}  # fmt: skip


@function("Like", [case(["string"], ["string"])])
def _like_of_columns(call: Call, settings: ExpressionSettings) -> Kernel:
    escape = call.fields.get("escapeChar", "\\")
    kernel = per_row(lambda text, pattern: _matcher(pattern, escape)(text) not in (None, False), pa.bool_())
    return replace(kernel, can_raise=True)


def _substring_test(kind: str) -> Callable[[Call, ExpressionSettings], Kernel]:
    """Return the builder of StartsWith, EndsWith or Contains with a constant second argument."""

    def build(call: Call, settings: ExpressionSettings) -> Kernel:
        needle = call.args[1]
        assert isinstance(needle, Literal)

        def run(values: Sequence[Value], rows: int) -> Value:
            return _TESTS[kind](decode(values[0]), needle.value)

        return Kernel(run=run, by_dictionary=True)

    return build


def _substring_test_of_columns(kind: str) -> Callable[[Call, ExpressionSettings], Kernel]:
    return lambda call, settings: per_row(_STRING_TESTS[kind], pa.bool_())


for _name, _kind in (("StartsWith", "prefix"), ("EndsWith", "suffix"), ("Contains", "substring")):
    function(_name, [case(["string"], ["string"], literal=[1])])(_substring_test(_kind))
    function(_name, [case(["string"], ["string"])])(_substring_test_of_columns(_kind))

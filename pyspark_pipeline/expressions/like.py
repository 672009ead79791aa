"""LIKE with a constant pattern of % and _, and the substring tests (Spark: regexpExpressions.scala).

A pattern that is a prefix, a suffix, a word inside or the exact text becomes that test; others go to
Arrow's matcher (RE2 over UTF-8), with the escape character resolved here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import decode
from pyspark_pipeline.plan.expr import Call, Literal

_SPECIAL = frozenset("\\.+*?()|[]{}^$-&~#")
#: No escape character, or escapes of exactly _ % and the escape character itself.
_PATTERN = r"([^\\]|\\[\\%_])*"

_TESTS: dict[str, Callable[[Value, str], Value]] = {
    "exact": lambda value, text: pc.equal(value, pa.scalar(text)),
    "prefix": lambda value, text: pc.starts_with(value, pattern=text),
    "suffix": lambda value, text: pc.ends_with(value, pattern=text),
    "inside": lambda value, text: pc.match_substring(value, pattern=text),
    "regex": lambda value, text: pc.match_substring_regex(value, pattern=text),
}


def parse_like(pattern: str, escape: str) -> tuple[str, str]:
    """Turn a LIKE pattern to (test, text): exact, prefix, suffix, inside or regex."""
    tokens: list[tuple[str, str]] = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == escape:
            position += 1
            tokens.append(("text", pattern[position]))
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
            return "inside", text
    parts = {"%": ".*", "_": "."}
    regex = "".join(parts.get(kind) or ("\\" + char if char in _SPECIAL else char) for kind, char in tokens)
    return "regex", f"(?s)\\A{regex}\\z"


@function(
    "Like",
    [case(["string"], ["string"], literal=[1], matches={"1": _PATTERN}, fields={"escapeChar": ["\\"]})],
)
def _like(call: Call, settings: ExpressionSettings) -> Kernel:
    pattern = call.args[1]
    assert isinstance(pattern, Literal)
    kind, text = parse_like(pattern.value, call.fields.get("escapeChar", "\\"))
    test = _TESTS[kind]
    return Kernel(run=lambda values, rows: test(values[0], text), by_dictionary=True)


def _substring_test(kind: str) -> Callable[[Call, ExpressionSettings], Kernel]:
    """Make StartsWith, EndsWith or Contains with a constant second argument."""

    def build(call: Call, settings: ExpressionSettings) -> Kernel:
        needle = call.args[1]
        assert isinstance(needle, Literal)

        def run(values: Sequence[Value], rows: int) -> Value:
            return _TESTS[kind](decode(values[0]), needle.value)

        return Kernel(run=run, by_dictionary=True)

    return build


for _name, _kind in (("StartsWith", "prefix"), ("EndsWith", "suffix"), ("Contains", "inside")):
    function(_name, [case(["string"], ["string"], literal=[1])])(_substring_test(_kind))

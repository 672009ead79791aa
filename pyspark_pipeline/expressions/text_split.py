"""Split texts, parts of them, matches and their numbers (Spark: StringSplit, StringSplitSQL, RegExpExtractAll)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.nested import Elements, element_places, list_array
from pyspark_pipeline.expressions.per_value import java_text
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.text_regex import COUNTED, REPLACED, to_re2, with_groups
from pyspark_pipeline.expressions.text_search import NULL_TEXT
from pyspark_pipeline.expressions.values import numbers, set_null, to_array
from pyspark_pipeline.plan.expr import Call, constants


@function("ElementAt(StringSplitSQL)", [case(["string"], ["string"], ["int"], literal=[1])])
def _split_part(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the part of a number, from 1 or, if negative, from the end; the empty string if there are fewer parts."""
    (delimiter,) = constants(call.args[1:2])
    if delimiter is None:
        return NULL_TEXT

    def run(values: Sequence[Value], rows: int) -> Value:
        texts, wanted = to_array(values[0], rows), to_array(values[2], rows)
        if delimiter:
            texts = java_text(texts)
        index: Any = numbers(wanted).astype(np.int64)
        known = pc.and_(texts.is_valid(), wanted.is_valid())
        parts = pc.split_pattern(texts, delimiter) if delimiter else None
        ends: Any = np.arange(rows + 1) if parts is None else parts.offsets.to_numpy()
        at, has_part = element_places(index, ends, np.asarray(known), call.context)
        found = (texts if parts is None else parts.values).take(pa.array(at, mask=~(has_part & np.asarray(known))))
        return set_null(pc.fill_null(found, ""), pc.invert(known))

    return Kernel(run=run, can_raise=True)


by_constants("ElementAt(StringSplitSQL)", [case(["string"], ["string"], ["int"])], [1], can_raise=True)


@function("StringSplit", [case(["string"], ["string"], ["int"], matches={"1": COUNTED, "2": "-1"}, result=["array"])])
def _split(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the texts between the matches of a pattern, which are not empty."""
    pattern = str(constants(call.args[1:2])[0])

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = java_text(to_array(values[0], rows))
        if pattern.isalnum() or pattern in " ,;_-":
            return pc.split_pattern(texts, pattern)
        return pc.split_pattern_regex(texts, to_re2(pattern))

    return Kernel(run=run)


#: Patterns whose matches are extracted, by the number of the group.
_GATHERED = {0: f"{REPLACED}|{COUNTED}"} | {group: with_groups(group, REPLACED) for group in range(1, 6)}


@function("RegExpExtractAll", [
    case(["string"], ["string"], ["int"], matches={"1": patterns, "2": str(group)}, result=["array"])
    for group, patterns in _GATHERED.items()
])  # fmt: skip
def _regexp_extract_all(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return all matches, which are not empty, or a group of each: the parts between marks that replace them."""
    kind, (group,) = call.type.arrow, constants(call.args[2:])
    pattern = to_re2(str(constants(call.args[1:2])[0]), group)

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = java_text(to_array(values[0], rows))
        mark = _absent_letter(texts)
        parts = Elements(pc.split_pattern(pc.replace_substring_regex(texts, pattern, rf"{mark}\1{mark}"), mark))
        is_match = parts.positions() % 2 == 1
        return list_array(kind, parts.counts // 2, parts.values().filter(pa.array(is_match)), parts.valid)

    return Kernel(run=run)


def _absent_letter(texts: pa.Array) -> str:
    """Return a character that no text has, and that stands for itself in a replacement."""
    letters = (chr(code) for code in itertools.count(1) if chr(code) != "\\")
    return next(letter for letter in letters if not pc.any(pc.match_substring(texts, letter)).as_py())


@function("Size(RegExpExtractAll)", [
    case(["string"], ["string"], ["int"], matches={"1": COUNTED, "2": "0"}, fields={"legacySizeOfNull": ["false"]}),
])  # fmt: skip
def _regexp_count(call: Call, settings: ExpressionSettings) -> Kernel:
    """Count the matches of a pattern."""
    pattern = to_re2(str(constants(call.args[1:2])[0]))
    return Kernel(run=lambda values, rows: pc.count_substring_regex(values[0], pattern), by_dictionary=True)

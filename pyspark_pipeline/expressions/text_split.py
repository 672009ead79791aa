"""Split texts, parts of them, matches and their numbers (Spark: StringSplit, StringSplitSQL, RegExpExtractAll)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.nested import Elements, element_places, list_array
from pyspark_pipeline.expressions.per_value import java_text, map_distinct
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.text_regex import Regex
from pyspark_pipeline.expressions.text_search import NULL_TEXT
from pyspark_pipeline.expressions.values import flags, numbers, set_null, to_array
from pyspark_pipeline.kernels import text_slices
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.element_places import element_positions, range_places
from pyspark_pipeline.kernels.text_parse import text_of
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
        parts = _split_literal(texts, delimiter) if delimiter else None
        ends: Any = np.arange(rows + 1) if parts is None else parts.offsets.to_numpy()
        at, has_part = element_places(index, ends, np.asarray(known))
        found = (texts if parts is None else parts.values).take(pa.array(at, mask=~(has_part & np.asarray(known))))
        return set_null(pc.fill_null(found, ""), pc.invert(known))

    return Kernel(run=run, can_raise=True)


by_constants("ElementAt(StringSplitSQL)", [case(["string"], ["string"], ["int"])], [1], can_raise=True)


@function("StringSplit", [
    case(["string"], ["string"], ["int"], literal=[2], regex={"pattern": 1, "full": True}, result=["array"]),
])  # fmt: skip
def _split(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the texts between the matches of a pattern, which are not empty; at most a positive number of them."""
    kind = call.type.arrow
    pattern, limit = constants(call.args[1:])
    if limit is None:
        return Kernel(run=lambda values, rows: pa.nulls(rows, kind))
    most = limit - 1 if limit > 0 else None
    regex = Regex(pattern)
    is_literal = pattern.isalnum() or pattern in " ,;_-"

    def by_re2(texts: pa.Array, re2: str) -> pa.Array:
        if is_literal:
            return _split_literal(texts, pattern, most)
        if not regex.has_start:
            return pc.split_pattern_regex(texts, re2, max_splits=most)
        return map_distinct(texts, lambda text: by_python(text, regex.matches(text)), kind)

    def by_python(text: str, matches: Iterator[re.Match[str]]) -> list[str]:
        parts, start = [], 0
        for found in itertools.islice(matches, most):
            parts.append(text[start : found.start()])
            start = found.end()
        return [*parts, text[start:]]

    def run(values: Sequence[Value], rows: int) -> Value:
        return regex.evaluate(to_array(values[0], rows), by_re2, by_python, kind)

    return Kernel(run=run)


def _split_literal(texts: pa.StringArray, delimiter: str, most: int | None = None) -> pa.ListArray:
    """Return the parts of each text between the places of a delimiter, of at most ``most`` if it is given."""
    if most is not None or len(delimiter) > 1 or not delimiter.isascii():
        return pc.split_pattern(texts, delimiter, max_splits=most)
    offsets, data = text_of(texts)
    valid = flags(texts.is_valid())
    size = int(offsets[-1] - offsets[0])
    marks = int(np.count_nonzero(data[offsets[0] : offsets[-1]] == ord(delimiter)))
    counts = np.empty(len(texts), dtype=np.int64)
    ends, out = allocate(marks + len(texts) + 2, np.int32), allocate(size + 1, np.uint8)
    parts = text_slices.split_at_byte(offsets, data, ord(delimiter), valid, counts, ends, out)
    values = pa.StringArray.from_buffers(parts, pa.py_buffer(ends[: parts + 1]), pa.py_buffer(out))
    return list_array(pa.list_(pa.string()), counts, values, valid)


@function("StringSplit", [case(["string"], ["string"], ["int"], literal=[2], matches={"1": ""}, result=["array"])])
def _split_characters(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the characters of a text, at most a positive number of parts: the last one has the others."""
    kind = call.type.arrow
    (limit,) = constants(call.args[2:])
    if limit is None:
        return Kernel(run=lambda values, rows: pa.nulls(rows, kind))

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = to_array(values[0], rows)
        valid = flags(texts.is_valid())
        return list_array(kind, *_characters(texts, valid, limit), valid)

    return Kernel(run=run)


def _characters(texts: pa.StringArray, valid: BoolArray, limit: int) -> tuple[Int64Array, pa.StringArray]:
    """Return the number of parts of each text, shape (rows,), and all parts; an empty text is a part."""
    offsets, data = text_of(texts)
    lengths = np.where(valid, np.diff(offsets), 0).astype(np.int64)
    data = data[range_places(offsets[:-1].astype(np.int64), lengths)]
    ends = np.cumsum(lengths)
    starts = np.flatnonzero((data & 0xC0) != 0x80)
    counts = np.diff(np.searchsorted(starts, ends), prepend=0)
    if limit > 0:
        positions = element_positions(counts)
        starts, counts = starts[positions < limit], np.minimum(counts, limit)
    is_empty = valid & (lengths == 0)
    starts = np.insert(starts, np.searchsorted(starts, ends[is_empty]), ends[is_empty])
    places = np.append(starts, data.size).astype(np.int32)
    return counts + is_empty, pa.StringArray.from_buffers(starts.size, pa.py_buffer(places), pa.py_buffer(data))


@function("RegExpExtractAll", [
    case(
        ["string"], ["string"], ["int"], regex={"pattern": 1, "group": 2, "full": True}, result=["array"], slower=True
    ),
])  # fmt: skip
def _regexp_extract_all(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return all matches, which are not empty, or a group of each: the parts between marks that replace them."""
    kind = call.type.arrow
    pattern, group = constants(call.args[1:])
    regex = Regex(pattern, [group])

    def by_re2(texts: pa.Array, re2: str) -> pa.Array:
        mark = _absent_letter(texts)
        parts = Elements(pc.split_pattern(pc.replace_substring_regex(texts, re2, rf"{mark}\1{mark}"), mark))
        is_match = parts.positions() % 2 == 1
        return list_array(kind, parts.counts // 2, parts.values().filter(pa.array(is_match)), parts.valid)

    def by_python(text: str, matches: Iterator[re.Match[str]]) -> list[str]:
        return [text[slice(*found.span(group))] for found in matches]

    def run(values: Sequence[Value], rows: int) -> Value:
        return regex.evaluate(to_array(values[0], rows), by_re2, by_python, kind)

    return Kernel(run=run)


def _absent_letter(texts: pa.Array) -> str:
    """Return a character that no text has, and that stands for itself in a replacement."""
    letters = (chr(code) for code in itertools.count(1) if chr(code) != "\\")
    return next(letter for letter in letters if not pc.any(pc.match_substring(texts, letter)).as_py())


@function("Size(RegExpExtractAll)", [
    case(
        ["string"], ["string"], ["int"], regex={"pattern": 1, "full": True}, matches={"2": "0"},
        fields={"legacySizeOfNull": ["false"]},
    ),
])  # fmt: skip
def _regexp_count(call: Call, settings: ExpressionSettings) -> Kernel:
    """Count the matches of a pattern."""
    regex = Regex(str(constants(call.args[1:2])[0]))

    def by_re2(texts: pa.Array, re2: str) -> pa.Array:
        mark = _absent_letter(texts)
        return pc.count_substring(pc.replace_substring_regex(texts, re2, mark), mark)

    def run(values: Sequence[Value], rows: int) -> Value:
        return regex.evaluate(
            to_array(values[0], rows), by_re2 if regex.has_start else pc.count_substring_regex,
            lambda text, matches: sum(1 for _ in matches), pa.int32(),
        )  # fmt: skip

    return Kernel(run=run, by_dictionary=True)

"""Split texts, parts of them and numbers of matches (Spark: StringSplit, StringSplitSQL, RegExpExtractAll)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.nested import element_places
from pyspark_pipeline.expressions.per_value import java_text
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.text_regex import COUNTED, to_re2
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


@function("Size(RegExpExtractAll)", [
    case(["string"], ["string"], ["int"], matches={"1": COUNTED, "2": "0"}, fields={"legacySizeOfNull": ["false"]}),
])  # fmt: skip
def _regexp_count(call: Call, settings: ExpressionSettings) -> Kernel:
    """Count the matches of a pattern."""
    pattern = to_re2(str(constants(call.args[1:2])[0]))
    return Kernel(run=lambda values, rows: pc.count_substring_regex(values[0], pattern), by_dictionary=True)

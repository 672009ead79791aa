"""Strings of CHAR and VARCHAR columns, as tables are read and written (Spark: CharVarcharCodegenUtils)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.text_build import padder
from pyspark_pipeline.expressions.values import to_array
from pyspark_pipeline.plan.expr import Call, constants

_CASES = [case(["string"], ["int"], literal=[1])]


@function("CharVarcharCodegenUtils.readSidePadding", _CASES)
def _read(call: Call, settings: ExpressionSettings) -> Kernel:
    """Pad with spaces; a longer string, which another writer wrote, stays as it is."""
    (limit,) = constants(call.args[1:])
    pad = padder(" ", limit, cuts=False)
    return Kernel(run=lambda values, rows: pad(to_array(values[0], rows)), by_dictionary=True)


@function("CharVarcharCodegenUtils.charTypeWriteSideCheck", _CASES)
def _write_char(call: Call, settings: ExpressionSettings) -> Kernel:
    """Pad with spaces; cut spaces that exceed the length, raise if there is more."""
    (limit,) = constants(call.args[1:])
    return _checked(limit, padder(" ", limit))


@function("CharVarcharCodegenUtils.varcharTypeWriteSideCheck", _CASES)
def _write_varchar(call: Call, settings: ExpressionSettings) -> Kernel:
    """Cut spaces that exceed the length, raise if there is more."""
    (limit,) = constants(call.args[1:])
    return _checked(limit, lambda texts: pc.utf8_slice_codeunits(texts, 0, limit))


def _checked(limit: int, fit: Callable[[pa.StringArray], pa.StringArray]) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        texts = to_array(values[0], rows)
        is_longer = pc.greater(pc.utf8_length(texts), limit)
        if is_longer.true_count:
            kept = pc.ascii_rtrim(texts.filter(is_longer), " ")
            if pc.greater(pc.utf8_length(kept), limit).true_count:
                raise conditions.exceeds_length(limit)
        return fit(texts)

    return Kernel(run=run, can_raise=True)

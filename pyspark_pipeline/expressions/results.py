"""Structs, which leave the engine as results: Spark merges the results of subqueries over one table into one."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyspark_pipeline.expressions.registry import KINDS, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import to_array
from pyspark_pipeline.plan.expr import Call


@function("Alias(CreateNamedStruct)", [case(["string"], KINDS, variadic=True)])
def _struct(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return a struct of every second argument; the others are the names of the fields."""
    kind = call.type.arrow

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        columns = [_plain(to_array(value, rows)) for value in values[1::2]]
        return pa.StructArray.from_arrays(columns, fields=list(kind))

    return Kernel(run=run, null_intolerant=False)


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column

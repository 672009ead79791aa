"""Expressions that Spark's own code evaluates, in the executor's JVM (``JvmExpression``).

The shim wraps an expression that no case of the manifest matches, if its value and the columns that it reads have types
of the engine. The call's arguments are these columns. It is evaluated over chunks, for distinct values where one column
repeats values. A call of several expressions (``results``) returns a struct of their values.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.expressions.per_value import by_distinct
from pyspark_pipeline.expressions.registry import ALL_KINDS, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import to_array
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.plan.expr import Call

_REPEATING = ("string", "binary")


@function("JvmExpression", cases=[case(result=ALL_KINDS), case(ALL_KINDS, variadic=True, result=ALL_KINDS)])
def build_jvm_expression(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the kernel that sends the arguments to the JVM and receives the values.

    The kernel raises :class:`SparkFailureError` where Spark's expression raises.
    """
    number: int = call.fields["number"]
    types = [arg.type.arrow for arg in call.args]
    evaluate = settings.evaluate_in_jvm
    is_struct = "results" in call.fields

    def evaluated(values: Sequence[Value], rows: int) -> pa.Array:
        if evaluate is None:
            raise EngineBugError("a fragment with expressions that Spark evaluates runs without Spark")
        columns = [to_array(value, rows).cast(kind) for value, kind in zip(values, types, strict=True)]
        values_of = evaluate(number, make_chunk(columns, rows), call.type.children if is_struct else [call.type])
        return pa.StructArray.from_arrays(values_of, fields=list(call.type.arrow)) if is_struct else values_of[0]

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [place for place, value in enumerate(values) if isinstance(value, pa.Array)]
        if len(arrays) != 1 or call.args[arrays[0]].type.kind not in _REPEATING:
            return evaluated(values, rows)

        def of_array(array: pa.Array) -> pa.Array:
            return evaluated([array if isinstance(value, pa.Array) else value for value in values], len(array))

        return by_distinct(values[arrays[0]], of_array, maps_null=True)

    return Kernel(run=run, can_raise=True, null_intolerant=False, by_dictionary=True, maps_null=True)

"""Row hashes and bloom filters (Spark: hash.scala, BloomFilterMightContain.scala).

Spark puts ``might_contain(filter, xxhash64(key))`` above the scan of a join's larger side
(``InjectRuntimeFilter``); the filter is a scalar subquery, which completes before a fragment starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.cases import ALL_KINDS
from pyspark_pipeline.expressions.frame import Evaluable, Frame, values_of
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, LazyKernel, Value, case, function
from pyspark_pipeline.expressions.values import from_numbers, to_array
from pyspark_pipeline.kernels import buffers
from pyspark_pipeline.kernels.arrays import Array
from pyspark_pipeline.kernels.bloom import read_filter
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.kernels.murmur3 import hash_rows
from pyspark_pipeline.kernels.xxhash64 import xxhash64_rows
from pyspark_pipeline.plan.expr import Call, Literal


@function("XxHash64", [case(ALL_KINDS, variadic=True)])
def _xxhash64(call: Call, settings: ExpressionSettings) -> LazyKernel:
    return _row_hash(call, xxhash64_rows, pa.int64())


@function("Murmur3Hash", [case(ALL_KINDS, variadic=True)])
def _murmur3(call: Call, settings: ExpressionSettings) -> LazyKernel:
    return _row_hash(call, lambda columns, rows, seed: hash_rows(columns, rows, seed).view(np.int32), pa.int32())


def _row_hash(
    call: Call, hashed: Callable[[Sequence[pa.Array], int, int], Array], kind: pa.DataType
) -> LazyKernel:
    """Build a lazy kernel, which keeps dictionary-encoded arguments; a plain kernel would decode them."""
    seed = int(call.fields["seed"])

    def run(frame: Frame, arguments: Sequence[Evaluable]) -> Value:
        rows = frame.num_rows
        columns = [to_array(value, rows) for value in values_of(frame, arguments)]
        return from_numbers(hashed(columns, rows, seed), kind, None)

    return LazyKernel(run=run)


@function("BloomFilterMightContain", [case(["binary"], ["bigint"])])
def _might_contain(call: Call, settings: ExpressionSettings) -> Kernel:
    """Read the filter during compilation; Spark allows only a constant."""
    filter_ = call.args[0]
    known = read_filter(filter_.value) if isinstance(filter_, Literal) and filter_.value is not None else None

    def run(values: Sequence[Value], rows: int) -> Value:
        bloom = known or read_filter(to_array(values[0], 1)[0].as_py())
        array = to_array(values[1], rows)
        found = bloom.might_contain(buffers.values(array))
        packed = buffers.bool_array(found).buffers()[1]
        return pa.Array.from_buffers(pa.bool_(), rows, [validity_of([array]), packed])

    return Kernel(run=run)

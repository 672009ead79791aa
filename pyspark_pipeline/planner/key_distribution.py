"""The partitioning of a local exchange by keys: the second level of the shuffle.

The rows of one Spark partition have equal ``murmur3 mod n``; modulo the number of drivers, the same hash would leave
most drivers without rows. So the hash is mixed (xorshift) before it is reduced to a driver.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_pipeline.exec import Chunk
from pyspark_pipeline.exec.local_distribution import Distribution, Partitioner, by_hash
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array
from pyspark_pipeline.kernels.murmur3 import driver_ids, hash_rows
from pyspark_pipeline.kernels.partition import group_rows
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Settings


def by_keys(keys: Sequence[Expr], settings: Settings) -> Distribution:
    """Send rows of equal ``keys`` to the same consumer; each producer has its own evaluator."""
    expressions = ExpressionSettings.of(settings)

    def partitioner(producer: int, consumers: int) -> Partitioner:
        compiled = compile_expressions(keys, expressions)

        def destinations(chunk: Chunk, count: int) -> Int32Array:
            return driver_ids(hash_rows(compiled.evaluate(chunk), chunk.num_rows), count)

        return by_hash(destinations, _grouping)(producer, consumers)

    return partitioner


def _grouping(destinations: Int32Array, count: int) -> tuple[Int32Array, Int64Array]:
    starts, rows = group_rows(destinations, count)
    return rows, starts

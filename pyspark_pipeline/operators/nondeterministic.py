"""Nondeterministic functions, whose values depend on a row's partition and position: random numbers with a seed, ids.

Spark evaluates such a function once for each row of its Project or Filter, in the order of the rows, with a state for
each partition. The shim takes the calls out of these operators if Spark evaluates them for every row; they become
columns of a node of their own, which one driver computes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.expressions.cases import CaseRegistry, Signature, case
from pyspark_pipeline.kernels.buffers import fixed_array, make_chunk
from pyspark_pipeline.kernels.xorshift import draw_characters, draw_doubles, draw_gaussians, initial_state
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.expr import Call, constants
from pyspark_pipeline.plan.nondeterministic import NondeterministicColumns
from pyspark_pipeline.plan.properties import RequiredOutput

_SEEDS = ["int", "bigint"]
#: The bits of a row number in MONOTONICALLY_INCREASING_ID; those above are the index of the partition.
_ROW_BITS = 33


class NondeterministicFunction(ABC):
    """The values of one call in one partition, with the state after the rows so far."""

    def __init__(self, call: Call, partition: int) -> None:
        self._partition = partition
        self._constants: Sequence[Any] = constants(call.args)

    @abstractmethod
    def values(self, rows: int) -> pa.Array:
        """Return the values of the next ``rows`` rows."""


_FUNCTIONS: CaseRegistry[type[NondeterministicFunction]] = CaseRegistry("nondeterministic function ")

#: Returns the supported cases by function.
nondeterministic_manifest = _FUNCTIONS.manifest


class _Random(NondeterministicFunction):
    """A function that draws from a generator, which is seeded with the last argument (NULL: 0) + the partition."""

    def __init__(self, call: Call, partition: int) -> None:
        super().__init__(call, partition)
        self._state = initial_state((self._constants[-1] or 0) + partition)


@_FUNCTIONS.register("Rand", [case(_SEEDS, literal=[0])])
class _Rand(_Random):
    """A double from 0 to 1, exclusive."""

    def values(self, rows: int) -> pa.Array:
        drawn = np.empty(rows, dtype=np.float64)
        draw_doubles(self._state, drawn)
        return fixed_array(pa.float64(), drawn)


@_FUNCTIONS.register("Randn", [case(_SEEDS, literal=[0])])
class _Randn(_Random):
    """A double of the standard normal distribution."""

    def __init__(self, call: Call, partition: int) -> None:
        super().__init__(call, partition)
        self._spare = np.full(1, np.nan)

    def values(self, rows: int) -> pa.Array:
        drawn = np.empty(rows, dtype=np.float64)
        draw_gaussians(self._state, self._spare, drawn)
        return fixed_array(pa.float64(), drawn)


@_FUNCTIONS.register("RandStr", [case(["smallint", "int"], _SEEDS, literal=[1], matches={"0": "[0-9]{1,3}"})])
class _RandStr(_Random):
    """A string of a constant length."""

    def values(self, rows: int) -> pa.Array:
        length = self._constants[0]
        drawn = np.empty(rows * length, dtype=np.uint8)
        draw_characters(self._state, drawn)
        ends = np.arange(rows + 1, dtype=np.int32) * np.int32(length)
        return pa.StringArray.from_buffers(rows, pa.py_buffer(ends), pa.py_buffer(drawn))


@_FUNCTIONS.register("Uuid", [case()])
class _Uuid(NondeterministicFunction):
    """A random UUID of version 4, of two longs of a Mersenne Twister (Spark: RandomUUIDGenerator)."""

    def __init__(self, call: Call, partition: int) -> None:
        super().__init__(call, partition)
        seed = (int(call.fields["randomSeed"]) + partition) % 2**64
        self._generator = np.random.RandomState(np.array([seed >> 32, seed % 2**32], dtype=np.uint32))

    def values(self, rows: int) -> pa.Array:
        words = self._generator.randint(0, 2**32, size=(rows, 4), dtype=np.uint32)
        words[:, 1] = words[:, 1] & 0xFFFF0FFF | 0x4000
        words[:, 2] = words[:, 2] & 0x3FFFFFFF | 0x80000000
        digits = np.unpackbits(words.byteswap().view(np.uint8), axis=1).reshape(rows, 32, 4) @ np.array([8, 4, 2, 1])
        text = np.full((rows, 36), ord("-"), dtype=np.uint8)
        text[:, _DIGITS_OF_UUID] = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)[digits]
        ends = np.arange(rows + 1, dtype=np.int32) * np.int32(36)
        return pa.StringArray.from_buffers(rows, pa.py_buffer(ends), pa.py_buffer(text))


#: The places of the digits in a UUID, between which hyphens stand.
_DIGITS_OF_UUID = [place for place in range(36) if place not in (8, 13, 18, 23)]


@_FUNCTIONS.register("MonotonicallyIncreasingID", [case()])
class _IncreasingId(NondeterministicFunction):
    """The number of the row in its partition, below the index of the partition."""

    def __init__(self, call: Call, partition: int) -> None:
        super().__init__(call, partition)
        self._next = partition << _ROW_BITS

    def values(self, rows: int) -> pa.Array:
        first = self._next
        self._next += rows
        return fixed_array(pa.int64(), np.arange(first, self._next, dtype=np.int64))


@_FUNCTIONS.register("SparkPartitionID", [case()])
class _PartitionId(NondeterministicFunction):
    """The index of the partition."""

    def values(self, rows: int) -> pa.Array:
        return fixed_array(pa.int32(), np.full(rows, self._partition, dtype=np.int32))


class NondeterministicColumnsOperator(StreamingOperator):
    """Appends the values of all calls; the only driver of an instance sees its rows in order."""

    def __init__(self, functions: Sequence[NondeterministicFunction]) -> None:
        super().__init__()
        self._functions = functions

    def transform(self, chunk: Chunk) -> Chunk:
        rows = chunk.num_rows
        return make_chunk([*chunk.columns, *(function.values(rows) for function in self._functions)], rows)


class NondeterministicColumnsFactory(OperatorFactory):
    """Makes the operator of the only driver; raises :class:`UnsupportedPlanError` for an unknown call."""

    name = "NondeterministicColumns"

    def __init__(self, node: NondeterministicColumns, partition: int) -> None:
        self._make: list[Callable[[], NondeterministicFunction]] = [_maker(call, partition) for call in node.calls]

    def create(self, dop: int, driver_sequence: int) -> NondeterministicColumnsOperator:
        return NondeterministicColumnsOperator([make() for make in self._make])


def _maker(call: Call, partition: int) -> Callable[[], NondeterministicFunction]:
    types = tuple(arg.type for arg in call.args)
    function = _FUNCTIONS.find(call.name, Signature(types=types, type=call.type, fields=call.fields, args=call.args))
    return lambda: function(call, partition)


def _required_input(node: NondeterministicColumns, required: RequiredOutput) -> tuple[RequiredOutput]:
    """Require what the consumer requires of the columns of the child, which it receives unchanged."""
    below = range(len(node.child.output))
    return (RequiredOutput(unused=required.unused.intersection(below), unscaled=required.unscaled.intersection(below)),)


@implements(NondeterministicColumns, execs=[], pipeline=["NondeterministicColumns"], requires=_required_input)
def decompose_nondeterministic(node: NondeterministicColumns, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the operator to the child's pipeline."""
    return [*builder.decompose(node.child), NondeterministicColumnsFactory(node, builder.partition_of(node))]

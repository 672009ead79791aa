"""Nondeterministic functions, whose values depend on a row's partition and position: random numbers with a seed, ids.

Spark evaluates such a function once for each row of its Project or Filter, in the order of the rows, with a state for
each partition. The shim takes the calls out of these operators if Spark evaluates them for every row; they become
columns of a node of their own, which one driver computes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.expressions import CompiledExpressions, ExpressionSettings, compile_expressions
from pyspark_pipeline.expressions.cases import CaseRegistry, Signature, case
from pyspark_pipeline.expressions.nested import element_bounds, list_array
from pyspark_pipeline.expressions.values import flags
from pyspark_pipeline.kernels.arrays import UInt32Array
from pyspark_pipeline.kernels.buffers import fixed_array, make_chunk
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.shuffled_places import shuffle_places
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.kernels.xorshift import draw_characters, draw_doubles, draw_gaussians, initial_state
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.expr import Call, columns_read, constants
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.nondeterministic import NondeterministicColumns
from pyspark_pipeline.plan.properties import RequiredOutput

_SEEDS = ["int", "bigint"]
#: The bits of a row number in MONOTONICALLY_INCREASING_ID; those above are the index of the partition.
_ROW_BITS = 33


class NondeterministicFunction(ABC):
    """The values of one call in one partition, with the state after the rows so far.

    ``reads_rows``: the arguments are evaluated for every row; those of other functions are constants.
    """

    reads_rows = False

    def __init__(self, call: Call, partition: int) -> None:
        self._partition = partition
        self._constants: Sequence[Any] = constants(call.args)

    @abstractmethod
    def values(self, rows: int, arguments: Sequence[pa.Array]) -> pa.Array:
        """Return the values of the next ``rows`` rows, of which ``arguments`` are those that the function reads."""


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

    def values(self, rows: int, arguments: Sequence[pa.Array]) -> pa.Array:
        drawn = np.empty(rows, dtype=np.float64)
        draw_doubles(self._state, drawn)
        return fixed_array(pa.float64(), drawn)


@_FUNCTIONS.register("Randn", [case(_SEEDS, literal=[0])])
class _Randn(_Random):
    """A double of the standard normal distribution."""

    def __init__(self, call: Call, partition: int) -> None:
        super().__init__(call, partition)
        self._spare = np.full(1, np.nan)

    def values(self, rows: int, arguments: Sequence[pa.Array]) -> pa.Array:
        drawn = np.empty(rows, dtype=np.float64)
        draw_gaussians(self._state, self._spare, drawn)
        return fixed_array(pa.float64(), drawn)


@_FUNCTIONS.register("RandStr", [case(["smallint", "int"], _SEEDS, literal=[1], matches={"0": "[0-9]{1,3}"})])
class _RandStr(_Random):
    """A string of a constant length."""

    def values(self, rows: int, arguments: Sequence[pa.Array]) -> pa.Array:
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
        self._generator = _mersenne_twister(call, partition)

    def values(self, rows: int, arguments: Sequence[pa.Array]) -> pa.Array:
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


@_FUNCTIONS.register("Shuffle", [case(["array"], result=["array"])])
class _Shuffle(NondeterministicFunction):
    """The elements of an array in a random order; the rows before have drawn a number for each of their elements."""

    reads_rows = True

    def __init__(self, call: Call, partition: int) -> None:
        super().__init__(call, partition)
        self._generator = _mersenne_twister(call, partition)
        self._drawn: UInt32Array = np.empty(0, dtype=np.uint32)

    def values(self, rows: int, arguments: Sequence[pa.Array]) -> pa.Array:
        array = arguments[0]
        firsts, counts = element_bounds(array)
        places = np.empty(int(counts.sum()), dtype=np.int64)
        used, missing = -1, max(places.size - self._drawn.size, 0)
        while used < 0:
            drawn = self._generator.randint(0, 2**32, size=missing, dtype=np.uint32)
            self._drawn = np.concatenate([self._drawn, drawn])
            used, missing = shuffle_places(frozen(firsts), frozen(counts), frozen(self._drawn), places), _MORE_DRAWS
        self._drawn = self._drawn[used:]
        return list_array(array.type, counts, take(array.values, places), flags(array.is_valid()))


#: The draws that are added while there are too few for a chunk.
_MORE_DRAWS = 64


def _mersenne_twister(call: Call, partition: int) -> np.random.RandomState:
    """Return the generator that commons-math seeds with a long, the call's seed + the partition."""
    seed = (int(call.fields["randomSeed"]) + partition) % 2**64
    return np.random.RandomState(np.array([seed >> 32, seed % 2**32], dtype=np.uint32))


@_FUNCTIONS.register("MonotonicallyIncreasingID", [case()])
class _IncreasingId(NondeterministicFunction):
    """The number of the row in its partition, below the index of the partition."""

    def __init__(self, call: Call, partition: int) -> None:
        super().__init__(call, partition)
        self._next = partition << _ROW_BITS

    def values(self, rows: int, arguments: Sequence[pa.Array]) -> pa.Array:
        first = self._next
        self._next += rows
        return fixed_array(pa.int64(), np.arange(first, self._next, dtype=np.int64))


@_FUNCTIONS.register("SparkPartitionID", [case()])
class _PartitionId(NondeterministicFunction):
    """The index of the partition."""

    def values(self, rows: int, arguments: Sequence[pa.Array]) -> pa.Array:
        return fixed_array(pa.int32(), np.full(rows, self._partition, dtype=np.int32))


class NondeterministicColumnsOperator(StreamingOperator):
    """Appends the values of all calls; the only driver of an instance sees its rows in order."""

    def __init__(
        self, functions: Sequence[NondeterministicFunction], arguments: Sequence[CompiledExpressions | None]
    ) -> None:
        """``arguments`` are those of each function, None for one that does not read rows."""
        super().__init__()
        self._functions = functions
        self._arguments = arguments

    def transform(self, chunk: Chunk) -> Chunk:
        rows = chunk.num_rows
        columns = [
            function.values(rows, [] if arguments is None else arguments.evaluate(chunk))
            for function, arguments in zip(self._functions, self._arguments, strict=True)
        ]
        return make_chunk([*chunk.columns, *columns], rows)


class NondeterministicColumnsFactory(OperatorFactory):
    """Makes the operator of the only driver; raises :class:`UnsupportedPlanError` for an unknown call."""

    name = "NondeterministicColumns"

    def __init__(self, node: NondeterministicColumns, partition: int, settings: Settings) -> None:
        functions = [_function_of(call) for call in node.calls]
        self._make = [partial(function, call, partition) for function, call in zip(functions, node.calls, strict=True)]
        self._arguments = [
            compile_expressions(call.args, ExpressionSettings.of(settings)) if function.reads_rows else None
            for function, call in zip(functions, node.calls, strict=True)
        ]

    def create(self, dop: int, driver_sequence: int) -> NondeterministicColumnsOperator:
        return NondeterministicColumnsOperator([make() for make in self._make], self._arguments)


def _function_of(call: Call) -> type[NondeterministicFunction]:
    types = tuple(arg.type for arg in call.args)
    return _FUNCTIONS.find(call.name, Signature(types=types, type=call.type, fields=call.fields, args=call.args))


def _required_input(node: NondeterministicColumns, required: RequiredOutput) -> tuple[RequiredOutput]:
    """Require what the consumer requires of the columns of the child, which it receives unchanged, and those read."""
    below = set(range(len(node.child.output))) - columns_read(arg for call in node.calls for arg in call.args)
    return (RequiredOutput(unused=required.unused.intersection(below), unscaled=required.unscaled.intersection(below)),)


@implements(NondeterministicColumns, execs=[], pipeline=["NondeterministicColumns"], requires=_required_input)
def decompose_nondeterministic(node: NondeterministicColumns, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the operator to the child's pipeline."""
    factory = NondeterministicColumnsFactory(node, builder.partition_of(node), builder.settings)
    return [*builder.decompose(node.child), factory]

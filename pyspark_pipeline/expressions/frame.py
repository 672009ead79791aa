"""Frames: the rows on which an expression is evaluated, either a chunk or the rows of it that a branch selects.

A branch that may raise is evaluated on a subset frame, so that no row raises that Spark would not have
evaluated (``CASE WHEN x <> 0 THEN 1 / x END``). A frame caches the values of expressions that occur
more than once; a subset reuses the values that its parent has already computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions.registry import Value
from pyspark_pipeline.expressions.values import flags
from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.row_ranges import row_numbers
from pyspark_pipeline.kernels.take import filter_values


class Evaluable:
    """A compiled expression.

    ``number`` is unique among expressions compiled together; ``scalar`` is its value if it is constant;
    ``can_raise``: evaluation of some row may raise; ``shared``: several expressions use it.
    """

    __slots__ = ("number", "type", "can_raise", "shared", "scalar")

    def __init__(self, number: int, type: DataType, can_raise: bool = False, scalar: pa.Scalar | None = None) -> None:
        self.number = number
        self.type = type
        self.can_raise = can_raise
        self.scalar = scalar
        self.shared = False

    def compute(self, frame: Frame) -> Value:
        """Evaluate for all rows of the frame."""
        assert self.scalar is not None
        return self.scalar


class Frame:
    """``num_rows`` rows of the input columns, with the values computed so far."""

    __slots__ = ("num_rows", "_column", "_cache", "_parent", "_selection", "_rows")

    def __init__(
        self,
        num_rows: int,
        column: Callable[[int], pa.Array],
        parent: Frame | None = None,
        selection: pa.BooleanArray | None = None,
    ) -> None:
        self.num_rows = num_rows
        self._column = column
        self._cache: dict[int, Value] = {}
        self._parent = parent
        self._selection = selection
        self._rows: tuple[UInt8Array, Int32Array] | None = None

    @classmethod
    def of_chunk(cls, chunk: pa.RecordBatch) -> Frame:
        """Build the frame of all rows of a chunk."""
        return cls(chunk.num_rows, chunk.column)

    def column(self, ordinal: int) -> pa.Array:
        """Return the input column ``ordinal`` for the rows of this frame."""
        if self._parent is None:
            return self._column(ordinal)
        key = -1 - ordinal
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._chosen(self._parent.column(ordinal))
        return found

    def value(self, node: Evaluable) -> Value:
        """Return the value of an expression for the rows of this frame, evaluated or cached."""
        if node.scalar is not None:
            return node.scalar
        if not node.shared:
            return node.compute(self)
        found = self._cached(node)
        if found is None:
            found = self._cache[node.number] = node.compute(self)
        return found

    def subset(self, selection: pa.BooleanArray) -> Frame:
        """Return the frame of the rows for which ``selection`` (no NULLs) is true."""
        return Frame(selection.true_count, self._column, self, selection)

    def _cached(self, node: Evaluable) -> Value | None:
        found = self._cache.get(node.number)
        if found is None and self._parent is not None:
            found = self._parent._cached(node)
            if isinstance(found, pa.Array):
                found = self._cache[node.number] = self._chosen(found)
        return found

    def _chosen(self, array: pa.Array) -> pa.Array:
        """Return the rows of this frame of an array of the parent's."""
        if self._rows is None:
            passed = flags(self._selection).view(np.uint8)
            self._rows = passed, row_numbers(passed)
        return filter_values(array, *self._rows)


def values_of(frame: Frame, nodes: Sequence[Evaluable]) -> list[Value]:
    """Evaluate several expressions for all rows of a frame."""
    return [frame.value(node) for node in nodes]

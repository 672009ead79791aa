"""BITMAP_CONSTRUCT_AGG, BITMAP_OR_AGG and BITMAP_AND_AGG: bitmaps of 4096 bytes; the buffer is the bitmap."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.expressions.cases import case
from pyspark_pipeline.expressions.conditions import bitmap_position
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array, UInt8Array
from pyspark_pipeline.kernels.bitmaps import BITMAP_BYTES, or_bitmaps, set_bits, unset_bitmaps
from pyspark_pipeline.kernels.buffers import string_parts, validity, values
from pyspark_pipeline.operators.aggregation.functions.registry import AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import PerGroup, State, StatePool, warm_up
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_MAX_BYTES = 2**31 - 1


class BitmapState(State):
    """The bitmaps of all groups, at first without a bit; ``combine`` combines those of rows with them."""

    def __init__(self, combine: Callable[..., None]) -> None:
        self._combine = combine
        self.bitmaps = PerGroup(np.uint8, BITMAP_BYTES)
        self.arrays = (self.bitmaps,)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        self._combine(groups, *string_parts(columns[0]), *validity(columns[0]), self.bitmaps.array)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        raise NotImplementedError("bitmaps are not a state of running frames")


class PositionState(BitmapState):
    """The bitmaps of positions; raises Spark's error for one beyond the bitmap."""

    def __init__(self) -> None:
        super().__init__(or_bitmaps)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        positions = values(columns[0])
        failed = set_bits(groups, positions, *validity(columns[0]), self.bitmaps.array)
        if failed >= 0:
            raise bitmap_position(int(positions[failed]), BITMAP_BYTES)

    def merge(self, groups: Int64Array, bitmaps: pa.Array) -> None:
        """Add the bits of bitmaps."""
        super().update(groups, [bitmaps])


class _Bitmap(AggregateFunction):
    """A function whose buffer and value are the bitmap."""

    _state: BitmapState

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.update(groups, buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self.result(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        count = (stop - start) * BITMAP_BYTES
        if count > _MAX_BYTES:
            raise ResourceExhaustedError(f"{count} bytes of bitmaps do not fit one column")
        ends = np.arange(stop - start + 1, dtype=np.int32) * np.int32(BITMAP_BYTES)
        data = self.bytes_of(self._state.bitmaps.part(start, stop))
        return pa.Array.from_buffers(pa.binary(), stop - start, [None, pa.py_buffer(ends), pa.py_buffer(data)])

    def bytes_of(self, bitmaps: UInt8Array) -> UInt8Array:
        """Return the bytes of the values."""
        return np.array(bitmaps)


@aggregate("BitmapConstructAgg", [case(["bigint"])])
class BitmapConstruct(_Bitmap):
    """The bitmap whose bits at the positions are set."""

    _state: PositionState

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(PositionState, "bitmap of positions")

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, buffers[0])


@aggregate("BitmapOrAgg", [case(["binary"])])
class BitmapOr(_Bitmap):
    """The bits that are set in a bitmap."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: BitmapState(or_bitmaps), "bitmap of bits")


@aggregate("BitmapAndAgg", [case(["binary"])])
class BitmapAnd(_Bitmap):
    """The bits that are set in all bitmaps: the state has those that are not."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: BitmapState(unset_bitmaps), "bitmap of missing bits")

    def bytes_of(self, bitmaps: UInt8Array) -> UInt8Array:
        return np.invert(bitmaps)


@warm_up
def _load_kernels() -> None:
    groups = np.zeros(2, dtype=np.int64)
    for state, column in (
        (PositionState(), pa.array([1, None])),
        (BitmapState(or_bitmaps), pa.array([b"a", None])),
        (BitmapState(unset_bitmaps), pa.array([b"a", None])),
    ):
        state.reserve(1)
        state.update(groups, [column])

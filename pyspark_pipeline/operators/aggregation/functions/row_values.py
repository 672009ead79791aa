"""The state of functions whose value is that of one row of the group: FIRST, LAST, MAX_BY, MIN_BY."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.operators.aggregation.functions.state import PerGroup, State

#: Replaced values are dropped once they outnumber the groups by this many rows.
_MIN_GARBAGE = 4096


class RowValueState(State):
    """The value of one row of every group.

    The values of a chunk's rows are appended to Arrow arrays; the place of a group is the position of its value.
    """

    def __init__(self, kind: DataType, seen: PerGroup[np.uint8]) -> None:
        self._kind = kind
        self._place = PerGroup(np.int64)
        self._seen = seen
        self.arrays = (self._place, seen)
        self._held: list[pa.Array] = []
        self._rows = 0

    @property
    def nbytes(self) -> int:
        return super().nbytes + sum(int(array.nbytes) for array in self._held)

    def clear(self) -> None:
        super().clear()
        self._held, self._rows = [], 0

    def take(self, groups: Int64Array) -> None:
        super().take(groups)
        self._compact()

    def _hold(self, column: pa.Array, rows: Int64Array) -> None:
        """Append the values of the rows; the places of their groups are already set."""
        if not rows.size:
            return
        taken = column.take(pa.array(rows))
        self._held.append(taken.dictionary_decode() if pa.types.is_dictionary(taken.type) else taken)
        self._rows += rows.size
        if self._rows > 2 * self._seen.array.size + _MIN_GARBAGE:
            self._compact()

    def _hold_scanned(self, column: pa.Array) -> None:
        """Hold the value of group 0 and all values of a scanned column, in this order."""
        self._held = [pa.concat_arrays([self.column(0, 1), column])]
        self._rows = len(column) + 1

    def _compact(self) -> None:
        """Drop the values that later ones replaced."""
        live = np.flatnonzero(self._seen.array)
        kept = self._values().take(pa.array(self._place.array[live]))
        self._place.array[live] = np.arange(live.size)
        self._held, self._rows = [kept], live.size

    def _values(self) -> pa.Array:
        if len(self._held) != 1:
            self._held = [pa.concat_arrays(self._held)] if self._held else [pa.nulls(0, self._kind.arrow)]
        return self._held[0]

    def column(self, start: int, stop: int) -> pa.Array:
        """Return the values; NULL if the group has no row."""
        places = pa.array(self._place.part(start, stop), mask=self._seen.part(start, stop) == 0)
        return self._values().take(places)

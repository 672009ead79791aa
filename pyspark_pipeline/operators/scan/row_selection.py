"""The rows of a batch that pass tests of single columns: a reader decodes the other columns of these rows only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.column_tests import ColumnTest
from pyspark_pipeline.kernels import row_ranges
from pyspark_pipeline.kernels.arrays import Int32Array


class RowSelection:
    """Tests batches of a file until most rows of one pass. For several threads."""

    #: Leave out rows if at most this share passes; above, testing the rows twice costs more than it saves.
    MOST = 0.5

    def __init__(self, tests: Sequence[ColumnTest]) -> None:
        self._tests = tests
        self._pays = True

    def choose(self, rows: int, column: Callable[[int], pa.Array]) -> Int32Array | None:
        """Return the numbers of the rows that pass, int32, ascending; None for all rows.

        ``column`` returns the column of an ordinal.
        """
        if not self._tests or not self._pays:
            return None
        mask = np.ones(rows, dtype=np.uint8)
        for test in self._tests:
            tested = column(test.ordinal)
            if test.accepts(tested) and not test.apply(tested, mask):
                return None
        found = np.empty(rows, dtype=np.int32)
        count = row_ranges.selected_rows(mask, mask[: rows & ~7].view(np.uint64), found)
        if count > self.MOST * rows:
            self._pays = False
            return None
        return found[:count]

"""The rows of a batch that pass the tests of a scan: a reader decodes the other columns of these rows only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.column_tests import ColumnTest
from pyspark_pipeline.kernels import row_ranges
from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.operators.scan.key_tests import KeyTest

#: Returns the column of an ordinal.
Column = Callable[[int], pa.Array]


class ValueTest(Protocol):
    """A test that can be made once for each value of a dictionary."""

    @property
    def least_repeats(self) -> int:
        """The least number of rows of a value for which that pays."""

    def accepted(self, values: pa.Array) -> UInt8Array | None:
        """Return 1 for each of the values that passes, else 0: uint8, shape (values,); None if that is not known."""


#: Clears the mask of the rows that fail a test of the column of an ordinal by its codes, which are not looked up;
#: False if it cannot.
TestOfCodes = Callable[[ValueTest, int, UInt8Array], bool]


class RowSelection:
    """Tests batches of a file as long as that leaves few rows: single columns, then keys of joins if too many pass.

    For several threads.
    """

    #: Leave out rows if at most this share passes; above, testing the rows twice costs more than it saves.
    MOST = 0.5
    #: Test keys by their codes, which is cheap, only if more than this share passed the tests before.
    FEW = 0.1

    def __init__(self, tests: Sequence[ColumnTest], key_tests: Sequence[KeyTest] = ()) -> None:
        self._tests = tests
        self._key_tests = key_tests
        self._pays = True

    def choose(self, rows: int, column: Column, test_codes: TestOfCodes) -> Int32Array | None:
        """Return the numbers of the rows that pass, int32, ascending; None for all rows."""
        key_tests = [test for test in self._key_tests if test.is_on()]
        tests = self._tests if self._pays or key_tests else ()
        if not tests and not key_tests:
            return None
        mask = allocate(rows, np.uint8)
        mask.fill(1)
        if not self._apply(tests, column, test_codes, mask):
            return None
        left = int(np.count_nonzero(mask)) if tests else rows
        self._pays = self._pays and left <= self.MOST * rows
        for test in key_tests:
            if left > self.FEW * rows and self._has_applied(test, test_codes, mask):
                tested, left = left, int(np.count_nonzero(mask))
                test.count(tested, left)
            elif left > self.MOST * rows or (left > self.FEW * rows and not test.is_decided):
                left = test.keep([column(ordinal) for ordinal in test.columns], mask, left)
        if left > self.MOST * rows:
            return None
        return row_ranges.row_numbers(mask)

    @staticmethod
    def _has_applied(test: KeyTest, test_codes: TestOfCodes, mask: UInt8Array) -> bool:
        """Clear the mask of the rows without a match by the codes of the key's column; return False if it cannot."""
        return test.is_decided and len(test.columns) == 1 and test_codes(test, test.columns[0], mask)

    @staticmethod
    def _apply(
        tests: Sequence[ColumnTest], column: Column, test_codes: TestOfCodes, mask: UInt8Array
    ) -> bool:
        """Clear the mask of the rows that fail one of the tests; return False if one does not know all values."""
        for test in tests:
            if test_codes(test, test.ordinal, mask):
                continue
            tested = column(test.ordinal)
            if test.accepts(tested) and not test.apply(tested, mask):
                return False
        return True

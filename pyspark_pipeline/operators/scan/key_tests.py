"""The keys of joins as tests of a scan's rows: a reader decodes the other columns only of rows that have a match.

The scan reads the columns of the keys whole, looks them up in the :class:`KeyFilter` of the join's table, and drops
rows that the join would drop. A sample decides whether few enough rows have a match, and later the rows themselves.
A column of few distinct keys is tested by the codes of its dictionary then, whose values are looked up once.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import UInt8Array
from pyspark_pipeline.kernels.key_filter import KeyFilter, KeyFilterProbe
from pyspark_pipeline.operators import runtime_filters
from pyspark_pipeline.operators.runtime_filters import RowFilter, sample_rows, share_found
from pyspark_pipeline.plan.nodes import FileScan

#: Kinds of keys whose columns a reader returns in the form that a join looks up, and that need no memory to be read.
_KINDS = ("tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz")
#: A test that passes more rows, or whose filter is larger than a core's cache, costs more than it saves.
_MAX_PASS_RATE = 0.3
_MAX_BYTES = 2 << 20
#: The least number of columns that are decoded after the tests.
_LEAST_COLUMNS = 2


def is_testable(scan: FileScan, columns: Sequence[int | None]) -> bool:
    """Return whether a scan can test the key whose parts come from these columns of it; None is no column."""
    others = scan.num_data_columns - len(set(columns))
    return others >= _LEAST_COLUMNS and all(
        column is not None and column < scan.num_data_columns and scan.output[column].type.kind in _KINDS
        for column in columns
    )


class KeyTest:
    """Selects the rows whose ``columns`` (ordinals) are a key of a join. For several threads."""

    #: See :class:`~pyspark_pipeline.expressions.column_tests.ColumnTest`: to look a value up costs more than a range.
    least_repeats = 4

    def __init__(self, rows: RowFilter) -> None:
        self.columns = rows.columns
        self._keys = rows.keys
        self._filter: KeyFilter | None = None
        self._is_off = False
        self._seen = self._passed = 0
        self._lock = threading.Lock()

    def is_on(self) -> bool:
        """Return whether the table is built and the test drops enough rows, as far as is known."""
        return not self._is_off and self._keys.built_table() is not None

    @property
    def is_decided(self) -> bool:
        """Whether a sample has decided about the test."""
        return self._is_off or self._filter is not None

    def keep(self, columns: Sequence[pa.Array], mask: UInt8Array, selected: int) -> int:
        """Clear the mask of rows without a match, ``selected`` of which are set; return how many still are."""
        filter_ = self._filter or self._decide(columns, mask.size)
        if filter_ is None:
            return selected
        kept = KeyFilterProbe(filter_).keep(columns, mask)
        self.count(selected, kept)
        return kept

    def accepted(self, values: pa.Array) -> UInt8Array | None:
        """Return 1 for each of the values that is a key of the table, else 0; None if the test is not used."""
        if self._filter is None:
            return None
        mask = np.ones(len(values), dtype=np.uint8)
        KeyFilterProbe(self._filter).keep([values], mask)
        return mask

    def count(self, tested: int, passed: int) -> None:
        """Count rows that were tested and those of them that passed; turn the test off if these are too many."""
        with self._lock:
            self._seen += tested
            self._passed += passed
            if self._seen >= runtime_filters.OBSERVED_ROWS:
                self._is_off = self._passed > _MAX_PASS_RATE * self._seen
                self._seen = self._passed = 0

    def _decide(self, columns: Sequence[pa.Array], rows: int) -> KeyFilter | None:
        """Return the filter if few rows of a sample have a match; else turn the test off."""
        sample = pa.array(sample_rows(rows))
        share = share_found(self._keys.built_table(), [column.take(sample) for column in columns], len(sample))
        found = self._keys.key_filter() if share <= _MAX_PASS_RATE else None
        self._filter = found if found is not None and found.nbytes <= _MAX_BYTES else None
        self._is_off = self._filter is None
        return self._filter

"""Ordering of the rows of a chunk by sort keys."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.sort_fields import SortColumn
from pyspark_pipeline.kernels.sort_order import order_rows
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.sorts import SortKey

#: Measured bytes per row: its number, its key, and its number in sort order; …
_KEY_BYTES = 24
#: … for a row tied with others: its number, group and next key; …
_TIE_BYTES = 24
#: … for a string key: its words, read one by one.
_TEXT_BYTES = 64
_TEXT = frozenset({"string", "binary"})


class RowOrder:
    """Evaluates sort keys over chunks of one schema and orders their rows.

    The constructor raises :class:`UnsupportedPlanError` for an expression that is not supported.
    """

    def __init__(self, keys: Sequence[SortKey], settings: Settings) -> None:
        self.keys = tuple(keys)
        expressions = ExpressionSettings.of(settings)
        self._compiled = compile_expressions([key.expr for key in keys], expressions)

    @property
    def row_bytes(self) -> int:
        """Estimated bytes per row during the sort."""
        ties = _TIE_BYTES if len(self.keys) > 1 else 0
        text = _TEXT_BYTES if any(key.expr.type.kind in _TEXT for key in self.keys) else 0
        return _KEY_BYTES + ties + text

    def columns(self, chunk: pa.RecordBatch) -> list[SortColumn]:
        """Evaluate the keys."""
        arrays = self._compiled.evaluate(chunk)
        return [
            SortColumn(array, key.descending, key.nulls_first) for array, key in zip(arrays, self.keys, strict=True)
        ]

    def sorted_rows(self, chunk: pa.RecordBatch) -> Int64Array:
        """Return the row numbers of ``chunk`` in stable sort order: int64, shape (rows,)."""
        return order_rows(self.columns(chunk), chunk.num_rows)

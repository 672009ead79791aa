"""TopN: the first rows in sort order, with bounded memory.

Rows are buffered until there are twice as many as the limit; then only the best are kept. From then on, incoming rows
whose first key sorts after that of the worst kept row are dropped.
"""

from __future__ import annotations

import pyarrow as pa

from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.expressions.row_order import RowOrder
from pyspark_pipeline.kernels.take import take_rows
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.sorting.top_n_filter import TopNThreshold
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.sorts import TopN

_MIN_ROWS = 4096


class TopNOperator(Operator):
    """Keeps the best ``limit`` rows of its driver; at the end outputs them in order, without the first ``offset``.

    ``first`` evaluates the first key of ``order`` alone.
    """

    def __init__(self, order: RowOrder, first: RowOrder, limit: int, offset: int, batch_rows: int) -> None:
        self._order = order
        self._first = first
        self._limit = limit
        self._offset = offset
        self._batch_rows = batch_rows
        self._kept: list[Chunk] = []
        self._rows = 0
        self._bytes = 0
        self._threshold: TopNThreshold | None = None
        self._finishing = False

    def need_input(self) -> bool:
        return not self._finishing and self._limit > self._offset

    def push_chunk(self, chunk: Chunk) -> None:
        if self._threshold is not None and chunk.num_columns:
            chunk = chunk.filter(self._threshold.keeps(self._first_key(chunk)))
            if not chunk.num_rows:
                return
        if chunk.num_rows > self._limit:
            chunk = self._best([chunk])
        self._kept.append(chunk)
        self._rows += chunk.num_rows
        self._bytes += chunk.nbytes
        if self._rows > max(2 * self._limit, _MIN_ROWS) or (self._threshold is None and self._rows >= self._limit):
            self._keep_best()
        if not self.context.memory.try_reserve(self._bytes, may_reclaim=False):
            self._keep_best()
            self.context.memory.reserve_minimum(self._bytes)

    def has_output(self) -> bool:
        return self._finishing and bool(self._kept)

    def pull_chunk(self) -> Chunk | None:
        kept = self._kept[0]
        if kept.num_rows <= self._batch_rows:
            self._kept = []
            return kept
        self._kept = [kept.slice(self._batch_rows)]
        return kept.slice(0, self._batch_rows)

    def set_finishing(self) -> None:
        self._finishing = True
        if self._kept:
            self._keep_best()
            best = self._kept[0].slice(self._offset)
            self._kept = [best] if best.num_rows else []

    def is_finished(self) -> bool:
        return not self._kept and (self._finishing or self._limit <= self._offset)

    def set_finished(self) -> None:
        self._finishing = True
        self._kept = []

    def close(self) -> None:
        self._kept = []
        self.context.memory.reserve(0)

    def _keep_best(self) -> None:
        best = self._best(self._kept)
        self._kept, self._rows, self._bytes = [best], best.num_rows, best.nbytes
        if best.num_rows == self._limit:
            self._update_threshold(best.slice(best.num_rows - 1))

    def _update_threshold(self, row: Chunk) -> None:
        value = self._first_key(row)
        plain = value.dictionary_decode() if isinstance(value, pa.DictionaryArray) else value
        worst = TopNThreshold(self._first.keys[0], plain)
        self._threshold = worst if worst.drops_any else None

    def _first_key(self, chunk: Chunk) -> pa.Array:
        return self._first.columns(chunk)[0].values

    def _best(self, chunks: list[Chunk]) -> Chunk:
        together = concat_chunks(chunks)
        return take_rows(together, self._order.sorted_rows(together)[: self._limit])


class TopNFactory(OperatorFactory):
    """Makes the operators, which share the compiled keys."""

    name = "TopN"

    def __init__(self, node: TopN, settings: Settings, *, offset: int) -> None:
        self._limits = (node.limit, offset, settings.options.batch_rows)
        self._orders = (RowOrder(node.keys, settings), RowOrder(node.keys[:1], settings))

    def create(self, dop: int, driver_sequence: int) -> TopNOperator:
        return TopNOperator(*self._orders, *self._limits)


@implements(TopN, execs=["TakeOrderedAndProjectExec"], pipeline=["TopN"])
def decompose_top_n(node: TopN, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append a top-n; with several drivers, one in each driver and a final one after a gather."""
    below = builder.decompose(node.child)
    each = [*below, TopNFactory(node, builder.settings, offset=0)]
    gathered = builder.gather(each)
    last = TopNFactory(node, builder.settings, offset=node.offset)
    return [*below, last] if gathered[0] is below[0] else [*gathered, last]

"""Creates the sink of a fragment by its peer: a result for the JVM, or an exchange by its partitioning."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.exchange.cache_sink import CacheSinkOperator
from pyspark_pipeline.exchange.hash_sink import DriverLevel, HashSinkOperator
from pyspark_pipeline.exchange.range_sink import RangeSampleOperator, RangeSinkOperator, find_bounds
from pyspark_pipeline.exchange.single_sink import (
    BroadcastSinkOperator,
    ResultSinkOperator,
    RoundRobinSinkOperator,
    SingleSinkOperator,
)
from pyspark_pipeline.exchange.sink import ExchangeSinkOperator, SinkContext, SinkSettings
from pyspark_pipeline.exchange.transport import Transport
from pyspark_pipeline.exec.operator import OperatorFactory
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.expressions.row_order import RowOrder
from pyspark_pipeline.plan.broadcasts import BroadcastExchange
from pyspark_pipeline.plan.nodes import (
    HashExchange,
    ResultSink,
    RoundRobinExchange,
    Settings,
    SingleExchange,
    Sink,
)
from pyspark_pipeline.plan.ranges import RangeExchange, RangeSample

_Make = Callable[["SinkFactory"], ExchangeSinkOperator]


class SinkFactory(OperatorFactory):
    """Creates the sinks of a fragment; they share the instance's transport.

    ``types`` are the columns of the root's chunks, ``instances`` is the number of instances of the fragment, ``start``
    the first partition of a round robin, ``max_rows`` a limit on the rows of a message below the rows of a chunk;
    ``is_cached``: the result goes to Spark's cache.
    """

    def __init__(
        self,
        sink: Sink,
        types: tuple[DataType, ...],
        settings: Settings,
        transport: Transport,
        *,
        start: int = 0,
        instances: int = 1,
        max_rows: int | None = None,
        is_cached: bool = False,
    ) -> None:
        self.name = type(sink).__name__
        self.sink = sink
        self.settings = settings
        self.start = start
        self.instances = instances
        self.is_cached = is_cached
        self.destinations = getattr(sink, "num_partitions", 1)
        options = settings.options
        sizes = SinkSettings(
            batch_rows=min(options.batch_rows, max_rows or options.batch_rows),
            chunk_bytes=options.exchange_chunk_bytes,
            buffer_bytes=options.exchange_buffer_bytes,
        )
        self.sink_context = SinkContext(types, self.destinations, transport, sizes)

    @cached_property
    def bounds(self) -> list[pa.Array]:
        """The bounds of a range exchange, computed once for all drivers."""
        assert isinstance(self.sink, RangeExchange)
        return find_bounds(self.sink.keys, self.sink.samples, self.destinations)

    def create(self, dop: int, driver_sequence: int) -> ExchangeSinkOperator:
        self.sink_context.transport.open_sink()
        return _SINKS[type(self.sink)](self)


def _result(factory: SinkFactory) -> ExchangeSinkOperator:
    return (CacheSinkOperator if factory.is_cached else ResultSinkOperator)(factory.sink_context)


def _single(factory: SinkFactory) -> ExchangeSinkOperator:
    return SingleSinkOperator(factory.sink_context)


def _broadcast(factory: SinkFactory) -> ExchangeSinkOperator:
    return BroadcastSinkOperator(factory.sink_context)


def _round_robin(factory: SinkFactory) -> ExchangeSinkOperator:
    sink = RoundRobinSinkOperator(factory.sink_context)
    sink.start = factory.start % factory.destinations
    return sink


def _hash(factory: SinkFactory) -> ExchangeSinkOperator:
    if not isinstance(factory.sink, HashExchange) or factory.destinations == factory.sink.drivers == 1:
        return _single(factory)
    settings = ExpressionSettings.of(factory.settings)
    keys = compile_expressions(factory.sink.keys, settings)
    level = DriverLevel(factory.sink.drivers, is_bound=factory.settings.options.exchange_driver_level == "partition")
    return HashSinkOperator(factory.sink_context, keys, level)


def _range(factory: SinkFactory) -> ExchangeSinkOperator:
    assert isinstance(factory.sink, RangeExchange)
    order = RowOrder(factory.sink.keys, factory.settings)
    return RangeSinkOperator(factory.sink_context, order, factory.bounds)


def _range_sample(factory: SinkFactory) -> ExchangeSinkOperator:
    assert isinstance(factory.sink, RangeSample)
    order = RowOrder(factory.sink.keys, factory.settings)
    max_rows = -(-factory.sink.rows // factory.instances)
    return RangeSampleOperator(factory.sink_context, order, max_rows, factory.start)


_SINKS: dict[type, _Make] = {
    RangeExchange: _range,
    RangeSample: _range_sample,
    ResultSink: _result,
    SingleExchange: _single,
    BroadcastExchange: _broadcast,
    RoundRobinExchange: _round_robin,
    HashExchange: _hash,
}

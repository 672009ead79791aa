"""Runs a whole query of several fragments in one process, without Spark.

All instances of all fragments start at once and exchange chunks while they run
(:mod:`pyspark_pipeline.local.transport.sink_buffer`, :mod:`pyspark_pipeline.local.transport.local_transport`):
unlike Spark's stages there is no barrier. Chunks pass between instances by reference, unless serialization is
requested. Slow receivers throttle their senders; receivers that want no more input end them. All drivers share the
threads of one executor; with one thread everything runs on the caller's thread, and time slices are counted in moves
instead of milliseconds (:data:`MOVE_NS`), so that every run of a query makes the same steps.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import pyarrow as pa

from pyspark_pipeline.exchange import ChunkRow, StreamTransport, Transport, encode_chunk, plain_schema
from pyspark_pipeline.exchange.broadcast import BroadcastCache, Broadcasts, ReadBroadcast, no_broadcast
from pyspark_pipeline.exchange.codec import read_payload
from pyspark_pipeline.exchange.query_statistics import NO_STATISTICS, QueryStatistics, QueryStatisticsReporter
from pyspark_pipeline.exchange.source import ExchangeSourceFactory
from pyspark_pipeline.exchange.transport import pack_by_reference
from pyspark_pipeline.exec import FragmentInstance, OutputQueue, execute
from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.clock import Clocks, StepClock
from pyspark_pipeline.exec.instance_group import InstanceGroup
from pyspark_pipeline.local.checks import check_conditions, check_fragment, check_number
from pyspark_pipeline.local.fragment import LocalFragment
from pyspark_pipeline.local.statistics import statistics_of
from pyspark_pipeline.local.transport.local_transport import Conditions, LocalTransport
from pyspark_pipeline.local.transport.receiver import Receiver
from pyspark_pipeline.local.transport.request import Address
from pyspark_pipeline.local.transport.send_window import WINDOW
from pyspark_pipeline.local.transport.sink_buffer import QUEUE_LENGTH, SinkBuffer
from pyspark_pipeline.local.wiring import Edge, Wiring
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.metrics.profile import draw_tree, merge_reports
from pyspark_pipeline.planner import FragmentBuilder

#: The simulated time of one move of a chunk in a query on one thread: 20 moves are a slice of 20 ms.
MOVE_NS = 1_000_000


class LocalQuery:
    """A query that runs once, when its rows are read.

    ``threads`` run the drivers of all instances. ``conditions`` are those of the network between instances. With
    ``serialize`` chunks are sent as messages, as in Spark. At most ``window`` requests are in flight to a destination
    and ``queue_length`` queued for it. ``memory_limit`` applies to each instance, in bytes. ``read_broadcast`` returns
    the messages of Spark's broadcasts that the plans read. Drivers use ``clocks``; by default all times are real,
    except time slices on a single thread. Raises :class:`UnsupportedPlanError` if the fragments are no valid query,
    :class:`OptionError` for invalid numbers.
    """

    def __init__(
        self,
        fragments: Sequence[LocalFragment],
        *,
        threads: int = 1,
        conditions: Conditions | None = None,
        serialize: bool = False,
        window: int = WINDOW,
        queue_length: int = QUEUE_LENGTH,
        memory_limit: int | None = None,
        read_broadcast: ReadBroadcast = no_broadcast,
        clocks: Clocks | None = None,
    ) -> None:
        for name, number, least in (("threads", threads, 1), ("window", window, 1), ("queue_length", queue_length, 0)):
            check_number(name, number, least)
        if memory_limit is not None:
            check_number("memory_limit", memory_limit, 1)
        if conditions is not None:
            check_conditions(conditions)
        for fragment in fragments:
            check_fragment(fragment)
        self._wiring = Wiring(fragments)
        self.memory = MemoryTracker("query")
        self.transport = LocalTransport(conditions)
        self.buffers: dict[tuple[int, int], SinkBuffer] = {}
        self._receivers: dict[tuple[int, int], list[Receiver]] = {}
        self._threads = threads
        self._pack = encode_chunk if serialize else pack_by_reference
        self._window = window
        self._queue_length = queue_length
        self._memory_limit = memory_limit
        self._read_broadcast = read_broadcast
        self._clocks = clocks or Clocks(slicing=StepClock(MOVE_NS) if threads == 1 else None)
        self._background = BackgroundWork()
        self._in_flight_memory = self.memory.child("requests on their way")
        options = self._wiring.root.plan.settings.options
        self._output = OutputQueue(options.output_queue_chunks)
        self._output.account_to(self.memory)
        self._instances = {
            fragment.id: [self._instance(fragment, number) for number in range(fragment.instances)]
            for fragment in self._wiring.fragments
        }
        instances = [instance for made in self._instances.values() for instance in made]
        self.group = InstanceGroup(instances, self._output, self.transport, self._background, self._clocks)

    # --- running ----------------------------------------------------------------------------------

    def rows(self) -> Generator[ChunkRow, None, None]:
        """Run the query; yield the output of the root fragment. Closing the generator cancels every instance.

        In every case all threads end and all operators are closed. Raises the error of an operator, with a note (or
        text) that names operator, pipeline, driver, instance and fragment, :class:`TransportError`, or
        :class:`CancelledError` after :meth:`cancel`.
        """
        try:
            yield from execute(self.group, self._threads)
        finally:
            for buffer in self.buffers.values():
                buffer.stop()  # not stopped yet if an operator raised in set_cancelled
            self._in_flight_memory.close()

    def cancel(self) -> None:
        """Stop the query, from any thread and at any time: its reader gets :class:`CancelledError`.

        Running operator calls end first. No effect on a query that has yielded all its rows; one that has not started
        never runs.
        """
        self.group.stop()

    def chunks(self) -> Iterator[pa.RecordBatch]:
        """Run the query; yield the chunks of its result."""
        schema = plain_schema([field.type for field in self._wiring.root.plan.root.output])
        with closing(self.rows()) as rows:
            for row in rows:
                yield read_payload(row.data, schema)

    def table(self) -> pa.Table:
        """Run the query; return its result with the names of the root's columns."""
        output = self._wiring.root.plan.root.output
        schema = plain_schema([field.type for field in output])
        return pa.Table.from_batches(self.chunks(), schema).rename_columns([field.name for field in output])

    # --- inspection -------------------------------------------------------------------------------

    def dump(self) -> str:
        """Draw the pipelines of every instance; describe every driver and the requests in flight."""
        return self.group.dump()

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Return the metrics of each instance and of its sink buffer (``exchange``), by the instance's name."""
        metrics = {instance.name: instance.metrics() for instance in self.group.instances}
        for (fragment, instance), buffer in self.buffers.items():
            metrics[_name(fragment, instance)]["exchange"] = buffer.statistics()
        return metrics

    def statistics(self) -> QueryStatistics:
        """Return the statistics of all fragments, as far as their requests have reported to the root.

        Fragments that ended early because their output was no longer wanted may not have reported all their work.
        """
        root = self._wiring.root
        return sum((self._statistics_of(root.id, number) for number in range(root.instances)), NO_STATISTICS)

    def profile(self) -> str:
        """Draw each fragment's pipelines as a tree: each operator's rows, bytes, time and waits, over all instances."""
        lines = []
        for fragment, instances in self._instances.items():
            for kind in merge_reports([instance.metrics() for instance in instances]):
                lines.append(f"fragment {fragment}, instances: {kind['instances']}")
                lines += [f"  {line}" for line in draw_tree(kind)]
        return "\n".join(lines)

    # --- construction -----------------------------------------------------------------------------

    def _instance(self, fragment: LocalFragment, number: int) -> FragmentInstance:
        """Create an instance and register its inputs with the transport."""
        name = _name(fragment.id, number)
        memory = self.memory.child(name, limit=self._memory_limit)
        edge = self._wiring.edge_from(fragment)
        broadcasts = Broadcasts(fragment.plan.broadcasts, self._read_broadcast, BroadcastCache(0))
        builder = FragmentBuilder(
            fragment.plan,
            fragment.control(number),
            self._result(number) if edge is None else self._exchange(edge, number, memory),
            dop=fragment.dop,
            broadcasts=broadcasts,
        )
        builder.build()
        for input_id, queue in builder.inputs.items():
            source = self._wiring.edge_to(fragment, input_id)
            address = Address(fragment.id, number, input_id)
            receiver = self.transport.register(
                address, queue, source.streams(number), ordered=source.sender.ordered
            )
            self._receivers.setdefault((fragment.id, number), []).append(receiver)
        for pipeline in builder.pipelines:
            if isinstance(pipeline.factories[0], ExchangeSourceFactory):
                pipeline.factories[0].flush_first_chunk = True
        output = self._output if edge is None else OutputQueue()
        return builder.instance(
            output, memory=memory, name=name, background=self._background, clocks=self._clocks
        )

    def _statistics_of(self, fragment: int, number: int) -> QueryStatistics:
        """Return the sum of an instance's own statistics and those it received."""
        received = (receiver.statistics for receiver in self._receivers.get((fragment, number), ()))
        return sum(received, statistics_of(self._instances[fragment][number]))

    def _result(self, number: int) -> Transport:
        return StreamTransport(self._output, sender=number, pack=self._pack)

    def _exchange(self, edge: Edge, number: int, memory: MemoryTracker) -> Transport:
        """Create the sink buffer of a sending instance, and register it for abandoned receivers."""
        options = edge.sender.plan.settings.options
        addresses = self._wiring.addresses(edge)
        buffer = SinkBuffer(
            len(addresses),
            self.transport.wire(addresses),
            self.transport.fail,
            sender=number,
            ordered=edge.sender.ordered,
            window=self._window,
            queue_length=self._queue_length,
            batch_bytes=options.exchange_chunk_bytes,
            max_bytes=options.exchange_buffer_bytes,
            pack=self._pack,
            queued_memory=memory.child("sink buffer"),
            in_flight_memory=self._in_flight_memory.child(f"from {_name(edge.sender.id, number)}"),
            reporter=QueryStatisticsReporter(partial(self._statistics_of, edge.sender.id, number)),
        )
        self.transport.on_abandon(edge.receiver.id, edge.input, partial(_abandon, buffer, edge))
        self.buffers[edge.sender.id, number] = buffer
        return buffer


def run_query(fragments: Sequence[LocalFragment], **runs: Any) -> pa.Table:
    """Run a query and return its result; the keywords are those of :class:`LocalQuery`."""
    return LocalQuery(fragments, **runs).table()


def _abandon(buffer: SinkBuffer, edge: Edge, address: Address) -> None:
    for partition in edge.partitions_of(address.instance):
        buffer.abandon(partition)


def _name(fragment: int, instance: int) -> str:
    return f"instance {instance} of fragment {fragment}"

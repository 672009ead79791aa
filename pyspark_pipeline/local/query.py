"""Runs a whole query of several fragments in one process, without Spark.

Every instance of every fragment starts at once, and what one sends the others receive while they run
(:mod:`pyspark_pipeline.exchange.sink_buffer`, :mod:`~pyspark_pipeline.exchange.local_transport`): unlike Spark's stages
there is no barrier. A chunk is handed from instance to instance as it is, unless serialization is asked for. Receivers
that are slow hold their senders back; receivers that want no more end them. All drivers share the threads of one
executor; with one thread everything runs on the caller's, and time slices are numbers of moves instead of milliseconds
(:data:`MOVE_NS`), so that the same query does the same steps in every run.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import pyarrow as pa

from pyspark_pipeline.exchange import ChunkRow, StreamTransport, Transport, encode_chunk, plain_schema
from pyspark_pipeline.exchange.broadcast import BroadcastCache, Broadcasts, ReadBroadcast, no_broadcast
from pyspark_pipeline.exchange.codec import unpack_payload
from pyspark_pipeline.exchange.local_transport import Conditions, LocalTransport
from pyspark_pipeline.exchange.query_statistics import NOTHING, QueryStatistics, StatisticsReport
from pyspark_pipeline.exchange.receiver import Receiver
from pyspark_pipeline.exchange.request import Address
from pyspark_pipeline.exchange.send_window import WINDOW
from pyspark_pipeline.exchange.sink_buffer import QUEUE_LENGTH, SinkBuffer
from pyspark_pipeline.exchange.source import ExchangeSourceFactory
from pyspark_pipeline.exchange.transport import hand_over
from pyspark_pipeline.exec import FragmentInstance, OutputQueue, execute
from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.clock import Clocks, StepClock
from pyspark_pipeline.exec.instance_group import InstanceGroup
from pyspark_pipeline.local.checks import check_conditions, check_fragment, check_number
from pyspark_pipeline.local.fragment import LocalFragment
from pyspark_pipeline.local.statistics import statistics_of
from pyspark_pipeline.local.wiring import Edge, Wiring
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.metrics.profile import added, drawn
from pyspark_pipeline.planner import FragmentBuilder

#: What a move of a chunk counts for in the slices of a query on one thread: 20 moves are a slice of 20 ms.
MOVE_NS = 1_000_000


class LocalQuery:
    """A query that runs once, when its rows are read.

    ``threads`` run the drivers of all instances. ``conditions`` are those of the way between instances. With
    ``serialize`` chunks travel as messages, as they do through Spark. ``window`` requests may be on their way to a
    destination, ``queue_length`` wait for it. ``memory_limit`` is each instance's, in bytes. ``read_broadcast`` gives
    the messages of Spark's broadcasts that the plans read. Drivers go by ``clocks``; by default all times are real, and
    so are slices where there are several threads. Raises :class:`UnsupportedPlanError` for fragments that make
    no query, :class:`OptionError` for numbers that cannot be.
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
        self._pack = encode_chunk if serialize else hand_over
        self._window = window
        self._queue_length = queue_length
        self._memory_limit = memory_limit
        self._read_broadcast = read_broadcast
        self._clocks = clocks or Clocks(slicing=StepClock(MOVE_NS) if threads == 1 else None)
        self._background = BackgroundWork()
        self._moving = self.memory.child("requests on their way")
        options = self._wiring.root.plan.settings.options
        self._output = OutputQueue(options["output.queueChunks"])
        self._output.account_to(self.memory)
        self._instances = {
            fragment.id: [self._instance(fragment, number) for number in range(fragment.instances)]
            for fragment in self._wiring.fragments
        }
        instances = [instance for made in self._instances.values() for instance in made]
        self.group = InstanceGroup(instances, self._output, self.transport, self._background, self._clocks)

    # --- running ----------------------------------------------------------------------------------

    def rows(self) -> Generator[ChunkRow, None, None]:
        """Run the query; give what leaves the root fragment. Closing the generator cancels every instance.

        However it ends, no thread is left and every operator has been closed. Raises what an operator raised, with a
        note (or text) that names operator, pipeline, driver, instance and fragment, :class:`TransportError`, or
        :class:`CancelledError` after :meth:`cancel`.
        """
        try:
            yield from execute(self.group, self._threads)
        finally:
            for buffer in self.buffers.values():
                buffer.stop()  # an operator that raised where it was cancelled did not
            self._moving.close()

    def cancel(self) -> None:
        """Stop the query, from any thread and at any time: who reads it gets :class:`CancelledError`.

        A call of an operator that is being made ends first. A query that has given all its rows does not mind; one that
        has not begun never does.
        """
        self.group.stop()

    def chunks(self) -> Iterator[pa.RecordBatch]:
        """Run the query; give the chunks of its result."""
        schema = plain_schema([field.type for field in self._wiring.root.plan.root.output])
        with closing(self.rows()) as rows:
            for row in rows:
                yield unpack_payload(row.data, schema)

    def table(self) -> pa.Table:
        """Run the query; give its result with the names of the root's columns."""
        output = self._wiring.root.plan.root.output
        schema = plain_schema([field.type for field in output])
        return pa.Table.from_batches(self.chunks(), schema).rename_columns([field.name for field in output])

    # --- looking inside ---------------------------------------------------------------------------

    def dump(self) -> str:
        """Draw the pipelines of every instance; describe every driver, and what is under way between instances."""
        return self.group.dump()

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Give what each instance counted, and what its sink buffer did (``exchange``), by the instance's name."""
        told = {instance.name: instance.metrics() for instance in self.group.instances}
        for (fragment, instance), buffer in self.buffers.items():
            told[_name(fragment, instance)]["exchange"] = buffer.statistics()
        return told

    def statistics(self) -> QueryStatistics:
        """Give what all fragments did, as far as their requests have told the root.

        Those that were ended because nobody wanted more may have done a little more than they told.
        """
        root = self._wiring.root
        return sum((self._statistics_of(root.id, number) for number in range(root.instances)), NOTHING)

    def profile(self) -> str:
        """Draw each fragment's pipelines as a tree: each operator's rows, bytes, time and waits, over all instances."""
        lines = []
        for fragment, instances in self._instances.items():
            for kind in added([instance.metrics() for instance in instances]):
                lines.append(f"fragment {fragment}, instances: {kind['instances']}")
                lines += [f"  {line}" for line in drawn(kind)]
        return "\n".join(lines)

    # --- making -----------------------------------------------------------------------------------

    def _instance(self, fragment: LocalFragment, number: int) -> FragmentInstance:
        """Make an instance, whose inputs are registered with the transport."""
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
                pipeline.factories[0].first_at_once = True
        output = self._output if edge is None else OutputQueue()
        return builder.instance(
            output, memory=memory, name=name, background=self._background, clocks=self._clocks
        )

    def _statistics_of(self, fragment: int, number: int) -> QueryStatistics:
        """Give what an instance did and heard."""
        heard = (receiver.statistics for receiver in self._receivers.get((fragment, number), ()))
        return sum(heard, statistics_of(self._instances[fragment][number]))

    def _result(self, number: int) -> Transport:
        return StreamTransport(self._output, sender=number, pack=self._pack)

    def _exchange(self, edge: Edge, number: int, memory: MemoryTracker) -> Transport:
        """Make the sink buffer of a sending instance, which hears of receivers that leave."""
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
            batch_bytes=options["exchange.chunkBytes"],
            max_bytes=options["exchange.bufferBytes"],
            pack=self._pack,
            waiting=memory.child("sink buffer"),
            moving=self._moving.child(f"from {_name(edge.sender.id, number)}"),
            report=StatisticsReport(partial(self._statistics_of, edge.sender.id, number)),
        )
        self.transport.on_leave(edge.receiver.id, edge.input, partial(_abandon, buffer, edge))
        self.buffers[edge.sender.id, number] = buffer
        return buffer


def run_query(fragments: Sequence[LocalFragment], **runs: Any) -> pa.Table:
    """Run a query and give its result; the keywords are those of :class:`LocalQuery`."""
    return LocalQuery(fragments, **runs).table()


def _abandon(buffer: SinkBuffer, edge: Edge, address: Address) -> None:
    for partition in edge.partitions_of(address.instance):
        buffer.abandon(partition)


def _name(fragment: int, instance: int) -> str:
    return f"instance {instance} of fragment {fragment}"

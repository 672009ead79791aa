"""Runs one fragment instance over a stream of chunk rows.

The first row is the control message; the others are the inputs' chunks. What comes out is chunk rows: data for
destinations, with a statistics message before the last of it, and before the first, second, fourth, eighth … some MiB,
for a reader that stops early. An error that Spark must raise as its own is the last message; every other error is
raised here and reaches the user with its traceback. Statistics come before either.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from typing import Any

import pyarrow as pa

from pyspark_pipeline.errors import CorruptFileError, ResourceExhaustedError, SparkConditionError
from pyspark_pipeline.exchange import ERROR, STATISTICS, ChunkRow, ExchangeClient, StreamTransport, pack_rows
from pyspark_pipeline.exchange.broadcast import BroadcastCache, Broadcasts, ReadBroadcast, no_broadcast
from pyspark_pipeline.exchange.query_statistics import is_told
from pyspark_pipeline.exec import FragmentInstance, OutputQueue, execute
from pyspark_pipeline.exec.input_queue import InputFeed
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.plan.nodes import Fragment
from pyspark_pipeline.plan.wire import decode_fragment
from pyspark_pipeline.planner import FragmentBuilder
from pyspark_pipeline.task.capture import captured
from pyspark_pipeline.task.capture_operator import OperatorRecorder
from pyspark_pipeline.task.memory import broadcast_memory, give_back, idle_broadcast_bytes, instance_memory
from pyspark_pipeline.task.statistics import Told

_PACK_BYTES = 4 << 20
_LARGE_TEXT = 1 << 19
_BROADCASTS = BroadcastCache(idle_broadcast_bytes(), broadcast_memory())


@lru_cache(maxsize=64)
def _decoded(text: str) -> Fragment:
    """Decode a fragment once a worker; its tasks share the plan."""
    return decode_fragment(text)


@lru_cache(maxsize=2)
def _decoded_large(text: str) -> Fragment:
    """Do the same for a fragment whose bloom filters (megabytes) are not worth keeping for long."""
    return decode_fragment(text)


def run_fragment(
    text: str, batches: Iterator[pa.RecordBatch], read_broadcast: ReadBroadcast = no_broadcast
) -> Iterator[pa.RecordBatch]:
    """Run the fragment ``text`` (JSON) over Arrow batches of chunk rows; see :func:`run_plan`.

    Where the fragment's options ask for it, what the task gets is captured (:mod:`pyspark_pipeline.task.capture`).
    """
    fragment = _decoded(text) if len(text) < _LARGE_TEXT else _decoded_large(text)
    task = captured(text, fragment, batches, read_broadcast)
    wanted = fragment.settings.options["capture.operator"]
    recorder = OperatorRecorder(task.files, wanted) if task.files and wanted else None
    return task.watched(run_plan(fragment, task.batches, task.read_broadcast, recorder))


def run_plan(
    fragment: Fragment,
    batches: Iterator[pa.RecordBatch],
    read_broadcast: ReadBroadcast = no_broadcast,
    recorder: OperatorRecorder | None = None,
) -> Generator[pa.RecordBatch, None, None]:
    """Run ``fragment`` over Arrow batches of chunk rows; give batches of chunk rows.

    ``read_broadcast`` gives the messages of one of the fragment's broadcasts, by Spark's id; ``recorder`` keeps chunks.
    Closing the iterator cancels the instance. Raises :class:`EngineBugError` for a bug of the engine and
    :class:`ResourceExhaustedError` where memory ran out; what the user's data or files did wrong is told
    to the JVM by the last batch.
    """
    memory = instance_memory()
    try:
        yield from _run_within(memory, fragment, batches, read_broadcast, recorder)
    finally:
        if recorder is not None:
            recorder.close()
        memory.close()
        give_back(memory.peak)


def _run_within(
    memory: MemoryTracker,
    fragment: Fragment,
    batches: Iterator[pa.RecordBatch],
    read_broadcast: ReadBroadcast,
    recorder: OperatorRecorder | None,
) -> Iterator[pa.RecordBatch]:
    """Run the fragment with what ``memory`` counts; once this has ended, nothing holds anything of the instance."""
    began = time.perf_counter()
    client = ExchangeClient(batches)
    control = json.loads(client.control())
    queue = OutputQueue(fragment.settings.options["output.queueChunks"])
    told: Told | None = None
    try:
        builder = make_builder(fragment, control, queue, read_broadcast)
        instance = _instance(builder, client, queue, memory, recorder)
        del builder
        where = {name: control.get(name) for name in ("stage", "partition", "attempt")}
        told = Told(instance, where | {"process": os.getpid()}, began)
        for number, (pack, is_last) in enumerate(_packs(instance, int(control.get("cpus", 1))), start=1):
            if is_last and instance.feed is None:
                client.expect_end()
            if is_last or is_told(number):
                yield pack_rows([_row(STATISTICS, told.more())])
            if pack is not None:
                yield pack
    except Exception as error:
        rows = [] if told is None else [_row(STATISTICS, told.more())]
        content = _error_content(error)
        rows += [] if content is None else [_row(ERROR, content)]
        if rows:
            yield pack_rows(rows)
        if content is None:
            raise


def make_builder(
    fragment: Fragment, control: Mapping[str, Any], queue: OutputQueue, read_broadcast: ReadBroadcast
) -> FragmentBuilder:
    """Make the builder of the instance that ``control`` describes; ``cpus`` of it are ``spark.task.cpus``."""
    broadcasts = Broadcasts(fragment.broadcasts, read_broadcast, _BROADCASTS)
    transport = StreamTransport(queue, sender=control["partition"])
    return FragmentBuilder(fragment, control, transport, dop=int(control.get("cpus", 1)), broadcasts=broadcasts)


def _instance(
    builder: FragmentBuilder,
    client: ExchangeClient,
    queue: OutputQueue,
    memory: MemoryTracker,
    recorder: OperatorRecorder | None,
) -> FragmentInstance:
    """Build the instance, with its input from ``client``."""
    pipelines = builder.build()
    if recorder is not None:
        recorder.open(pipelines)
    order = [i for i in builder.control.get("inputOrder", sorted(builder.inputs)) if i in builder.inputs]
    feed = InputFeed(client.stream(), builder.inputs, order=order, has_more=client.has_rows) if builder.inputs else None
    return builder.instance(queue, memory=memory, feed=feed, recorder=recorder)


def _packs(instance: FragmentInstance, threads: int) -> Iterator[tuple[pa.RecordBatch | None, bool]]:
    """Run the instance; give its output in batches of some MiB, and whether each is the last, which may be None."""
    sent: list[ChunkRow] = []
    held = 0
    try:
        with closing(execute(instance, threads)) as rows:
            for row in rows:
                sent.append(row)
                held += row.data.size
                if held >= _PACK_BYTES:
                    yield pack_rows(sent), False
                    sent, held = [], 0
        yield pack_rows(sent) if sent else None, True
    except MemoryError as error:  # outside every operator: reading the input, packing the output
        raise ResourceExhaustedError(f"no memory left to move chunks between Spark and the engine: {error}") from error


def _row(kind: int, content: Mapping[str, Any]) -> ChunkRow:
    return ChunkRow(partition=kind, rows=0, data=pa.py_buffer(json.dumps(content).encode()))


def _error_content(error: Exception) -> Mapping[str, Any] | None:
    """Give what the JVM is told of what the user's data or files did wrong; None for any other error."""
    if isinstance(error, SparkConditionError):
        return condition_content(error)
    if isinstance(error, CorruptFileError):
        return {"kind": "corruptFile", "message": str(error), "path": _path(error)}
    return None


def condition_content(error: SparkConditionError) -> Mapping[str, Any]:
    """Give what the JVM is told of an error that Spark raises as its own."""
    return {
        "kind": "condition",
        "exception": error.exception,
        "condition": error.condition,
        "parameters": error.parameters,
        "context": error.context,
    }


def _path(error: CorruptFileError) -> str:
    return str(getattr(error, "path", "")) or str(error)

"""Runs one fragment instance over a stream of chunk rows.

The first row is the control message; the others are the inputs' chunks. The output is chunk rows: data for
destinations, with a statistics message before the last batch, and before batches 1, 2, 4, 8 … of some MiB, for a
reader that stops early. An error that Spark must raise as its own is the last message; every other error is raised
here and reaches the user with its traceback. Statistics precede either.

If the control message names a map file, the data for destinations is written to it instead, and the last message says
what was written.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa

from pyspark_pipeline.errors import (
    AncientDatetimeError,
    ColumnTypeError,
    CorruptFileError,
    DuplicateColumnError,
    FooterError,
    MissingFileError,
    ResourceExhaustedError,
    ShuffleBlockError,
    SparkConditionError,
    SparkFailureError,
)
from pyspark_pipeline.exchange import (
    ERROR,
    METRICS,
    STATISTICS,
    WRITTEN,
    ChunkRow,
    ExchangeClient,
    MapFile,
    MapOutput,
    StreamTransport,
    encode_chunk,
    pack_rows,
)
from pyspark_pipeline.exchange.broadcast import BroadcastCache, Broadcasts, ReadBroadcast, no_broadcast
from pyspark_pipeline.exchange.cached_columns import encode_columns
from pyspark_pipeline.exchange.query_statistics import should_report
from pyspark_pipeline.exec import Chunk, FragmentInstance, OutputQueue, execute
from pyspark_pipeline.exec.input_queue import InputFeed
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.plan.depth import raised_recursion_limit
from pyspark_pipeline.plan.layout import check_layout
from pyspark_pipeline.plan.nodes import Fragment
from pyspark_pipeline.plan.python_functions import CALLS_OVER_ITERATORS, EvalPython
from pyspark_pipeline.plan.wire import decode_fragment
from pyspark_pipeline.planner import FragmentBuilder, depends_on_row_order
from pyspark_pipeline.task.capture import capture_task
from pyspark_pipeline.task.capture_operator import OperatorRecorder
from pyspark_pipeline.task.jvm_expressions import JvmExpressions
from pyspark_pipeline.task.memory import broadcast_memory, idle_broadcast_bytes, instance_memory, trim_after_instance
from pyspark_pipeline.task.statistics import StatisticsReporter

_PACK_BYTES = 4 << 20
_LARGE_TEXT = 1 << 19
_BROADCASTS = BroadcastCache(idle_broadcast_bytes(), broadcast_memory())


@lru_cache(maxsize=64)
def _decoded(text: str) -> Fragment:
    """Return the decoded fragment; the tasks of a worker share the plan."""
    return decode_fragment(text)


@lru_cache(maxsize=2)
def _decoded_large(text: str) -> Fragment:
    """Return the decoded fragment; cache only few with large texts (bloom filters of megabytes)."""
    return decode_fragment(text)


def _fragment(text: str) -> Fragment:
    return _decoded(text) if len(text) < _LARGE_TEXT else _decoded_large(text)


def needs_calling_thread(text: str, cpus: int) -> bool:
    """Return whether the engine would call functions of the fragment ``text`` on other threads than the caller's.

    It does if a function waits for its input, or if ``cpus`` threads run drivers.
    """
    pending = [_fragment(text).root]
    while pending:
        node = pending.pop()
        if isinstance(node, CALLS_OVER_ITERATORS) or (cpus > 1 and isinstance(node, EvalPython)):
            return True
        pending.extend(node.children)
    return False


def run_fragment(
    text: str, batches: Iterator[pa.RecordBatch], read_broadcast: ReadBroadcast = no_broadcast
) -> Iterator[pa.RecordBatch]:
    """Run the fragment ``text`` (JSON) over Arrow batches of chunk rows; see :func:`run_plan`.

    If the fragment's options request it, the task's input is captured (:mod:`pyspark_pipeline.task.capture`).
    """
    fragment = _fragment(text)
    task = capture_task(text, fragment, batches, read_broadcast)
    wanted = fragment.settings.options.capture_operator
    recorder = OperatorRecorder(task.files, wanted) if task.files and wanted else None
    return task.record_ending(run_plan(fragment, task.batches, task.read_broadcast, recorder))


def run_plan(
    fragment: Fragment,
    batches: Iterator[pa.RecordBatch],
    read_broadcast: ReadBroadcast = no_broadcast,
    recorder: OperatorRecorder | None = None,
) -> Generator[pa.RecordBatch, None, None]:
    """Run ``fragment`` over Arrow batches of chunk rows; yield batches of chunk rows.

    ``read_broadcast`` returns the messages of one of the fragment's broadcasts, by Spark's id; ``recorder`` records
    chunks. Closing the iterator cancels the instance. Raises :class:`EngineBugError` for a bug of the engine and
    :class:`ResourceExhaustedError` if memory is exhausted; the last batch reports errors of the user's data or files
    to the JVM.
    """
    memory = instance_memory()
    try:
        with raised_recursion_limit(fragment.depth):
            yield from _run_within(memory, fragment, batches, read_broadcast, recorder)
    finally:
        if recorder is not None:
            recorder.close()
        memory.close()
        trim_after_instance(memory.peak)


def _run_within(
    memory: MemoryTracker,
    fragment: Fragment,
    batches: Iterator[pa.RecordBatch],
    read_broadcast: ReadBroadcast,
    recorder: OperatorRecorder | None,
) -> Iterator[pa.RecordBatch]:
    """Run the fragment with the tracker ``memory``; afterwards nothing references the instance."""
    began = time.perf_counter()
    client = ExchangeClient(batches)
    control = json.loads(client.control())
    expressions = JvmExpressions(control["expressions"]) if "expressions" in control else None
    if expressions is not None:
        fragment = replace(fragment, settings=replace(fragment.settings, evaluate_in_jvm=expressions.evaluate))
    queue = OutputQueue(fragment.settings.options.output_queue_chunks)
    reporter: StatisticsReporter | None = None
    try:
        builder = make_builder(fragment, control, queue, read_broadcast)
        instance = _instance(builder, client, queue, memory, recorder)
        collected = builder.collected_metrics
        del builder
        where = {name: control.get(name) for name in ("stage", "partition", "attempt")}
        reporter = StatisticsReporter(instance, where | {"process": os.getpid()}, began)
        threads = int(control.get("cpus", 1))
        file = MapFile.of(control)
        if file is None:
            output = _output_batches(instance, threads)
        else:
            buffer_bytes = fragment.settings.options.exchange_buffer_bytes
            output = _written_output(instance, threads, MapOutput(file, memory, buffer_bytes))
        for number, (pack, is_last) in enumerate(output, start=1):
            if is_last and instance.feed is None:
                client.expect_end()
            if is_last or should_report(number):
                statistics = _row(STATISTICS, reporter.delta() | {"chunksRead": client.take_counts()})
                yield pack_rows([statistics, *(_metrics_rows(collected) if is_last else ())])
            if pack is not None:
                yield pack
    except Exception as error:
        rows = [] if reporter is None else [_row(STATISTICS, reporter.delta())]
        content = _error_content(error)
        rows += [] if content is None else [_row(ERROR, content)]
        if rows:
            yield pack_rows(rows)
        if content is None:
            raise
    finally:
        if expressions is not None:
            expressions.close()


def make_builder(
    fragment: Fragment, control: Mapping[str, Any], queue: OutputQueue, read_broadcast: ReadBroadcast
) -> FragmentBuilder:
    """Create the builder of the instance of ``control``: at most ``cpus`` (``spark.task.cpus``) drivers.

    Raises :class:`UnsupportedPlanError` or :class:`EngineBugError` if ``control`` does not belong to ``fragment``.
    """
    check_layout(fragment, control)
    broadcasts = Broadcasts(fragment.broadcasts, read_broadcast, _BROADCASTS)
    cache = control.get("cache")
    pack = encode_chunk if cache is None else partial(encode_columns, codec=cache["codec"])
    writes_file = MapFile.of(control) is not None
    transport = StreamTransport(
        queue, sender=control["partition"], pack=pack, narrows=cache is None, writes_file=writes_file
    )
    cpus = int(control.get("cpus", 1))
    dop = 1 if cpus > 1 and depends_on_row_order(fragment) else cpus
    return FragmentBuilder(fragment, control, transport, dop=dop, broadcasts=broadcasts)


def _instance(
    builder: FragmentBuilder,
    client: ExchangeClient,
    queue: OutputQueue,
    memory: MemoryTracker,
    recorder: OperatorRecorder | None,
) -> FragmentInstance:
    """Build the instance with the input of ``client``."""
    pipelines = builder.build()
    if recorder is not None:
        recorder.open(pipelines)
    order = [i for i in builder.control.get("inputOrder", sorted(builder.inputs)) if i in builder.inputs]
    feed = InputFeed(client.stream(), builder.inputs, order=order, has_more=client.has_rows) if builder.inputs else None
    return builder.instance(queue, memory=memory, feed=feed, recorder=recorder)


def _output_batches(instance: FragmentInstance, threads: int) -> Iterator[tuple[pa.RecordBatch | None, bool]]:
    """Run the instance; yield its output in batches of some MiB, each with an is-last flag. The last may be None."""
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
    except SparkConditionError:
        if sent:
            yield pack_rows(sent), False
        raise
    except MemoryError as error:  # outside every operator: reading the input, packing the output
        raise ResourceExhaustedError(f"no memory left to move chunks between Spark and the engine: {error}") from error


def _written_output(
    instance: FragmentInstance, threads: int, output: MapOutput
) -> Iterator[tuple[pa.RecordBatch | None, bool]]:
    """Run the instance and write its output to the map file; yield the message about it, and that it is the last."""
    with closing(output):
        with closing(execute(instance, threads)) as rows:
            for row in rows:
                output.add(row)
        yield pack_rows([_row(WRITTEN, output.finish())]), True


def _row(kind: int, content: Mapping[str, Any]) -> ChunkRow:
    return ChunkRow(partition=kind, rows=0, data=pa.py_buffer(json.dumps(content).encode()))


def _metrics_rows(collected: Mapping[int, Chunk]) -> Iterator[ChunkRow]:
    """Yield the messages with the buffers of metrics that nodes collected."""
    for number, chunk in collected.items():
        yield ChunkRow(partition=METRICS, driver=number, rows=chunk.num_rows, data=encode_chunk(chunk))


def _error_content(error: Exception) -> Mapping[str, Any] | None:
    """Return the message to the JVM for an error of the user's data or files; None for any other error."""
    if isinstance(error, SparkFailureError):
        return {"kind": "jvm", "number": error.number}
    if isinstance(error, SparkConditionError):
        return condition_content(error)
    if isinstance(error, CorruptFileError):
        return _file_content(error)
    if isinstance(error, AncientDatetimeError):
        return {"kind": "ancientDatetime", "format": error.format}
    if isinstance(error, ShuffleBlockError):
        block = {"shuffle": error.shuffle, "map": error.map_id, "mapIndex": error.map_index, "reduce": error.reduce}
        return {"kind": "shuffleBlock", "message": str(error)} | block
    return None


def condition_content(error: SparkConditionError) -> Mapping[str, Any]:
    """Return the message to the JVM for an error that Spark raises as its own."""
    return {
        "kind": "condition",
        "exception": error.exception,
        "condition": error.condition,
        "parameters": error.parameters,
        "context": error.context,
    }


def _file_content(error: CorruptFileError) -> Mapping[str, Any]:
    """Return the message to the JVM for Spark's error of an unreadable file."""
    content = {"kind": "corruptFile", "message": str(error), "path": error.path}
    if isinstance(error, MissingFileError):
        return content | {"kind": "missingFile"}
    if isinstance(error, FooterError):
        return content | {"kind": "footer"}
    if isinstance(error, DuplicateColumnError):
        return content | {"kind": "duplicateColumn", "wanted": error.wanted, "found": f"[{', '.join(error.found)}]"}
    if isinstance(error, ColumnTypeError):
        column = {"column": error.column, "expected": error.expected, "found": error.found}
        return content | {"kind": "columnType"} | column
    return content

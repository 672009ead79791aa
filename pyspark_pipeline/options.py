"""The engine's options: each field of :class:`Options` declares key, type, default, allowed values, description.

The reference page and the manifest, against which the JVM side checks ``spark.pysparkPipeline.*`` settings,
are generated from it. Values are sent to the worker as strings in the fragment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any

from pyspark_pipeline.errors import OptionError

PREFIX = "spark.pysparkPipeline."


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option: ``key`` without the prefix, ``kind`` (boolean, int, choice, text, names), default in text form."""

    key: str
    kind: str
    default: str
    doc: str
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None

    @property
    def allowed(self) -> str:
        """Return a description of the allowed values."""
        if self.kind == "boolean":
            return "true or false"
        if self.kind == "text":
            return "any text"
        if self.kind == "names":
            return "names of functions and operators of Spark, with commas between"
        if self.kind == "choice":
            return "one of " + ", ".join(self.choices)
        low = "" if self.minimum is None else f" from {self.minimum}"
        high = "" if self.maximum is None else f" to {self.maximum}"
        return f"a whole number{low}{high}"

    def parse(self, text: str) -> Any:
        """Return the option's value of ``text``; raise :class:`OptionError` if it is not allowed."""
        value = _PARSERS[self.kind](self, text.strip())
        if value is None:
            raise OptionError(f"{PREFIX}{self.key} is {text!r}: allowed is {self.allowed}")
        return value


def _boolean(_option: Option, text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


def _choice(option: Option, text: str) -> str | None:
    return text if text in option.choices else None


def _text(_option: Option, text: str) -> str | None:
    return text


def _integer(option: Option, text: str) -> int | None:
    try:
        value = int(text)
    except ValueError:
        return None
    too_low = option.minimum is not None and value < option.minimum
    too_high = option.maximum is not None and value > option.maximum
    return None if too_low or too_high else value


_PARSERS: Mapping[str, Callable[[Option, str], Any]] = {
    "boolean": _boolean,
    "choice": _choice,
    "int": _integer,
    "names": _text,
    "text": _text,
}


def _declare(
    key: str,
    kind: str,
    default: str,
    *,
    doc: str,
    choices: tuple[str, ...] = (),
    minimum: int | None = None,
    maximum: int | None = None,
) -> Any:
    """Declare the option of a field of :class:`Options`, whose type is that of the values of ``kind``."""
    option = Option(key=key, kind=kind, default=default, doc=doc, choices=choices, minimum=minimum, maximum=maximum)
    return field(metadata={"option": option})


# fmt: off
@dataclass(frozen=True, init=False, eq=False, slots=True)
class Options:
    """The options of one fragment: the given values, parsed; all others at their default.

    ``given``: the given values as texts, for sending them to another process.
    """

    given: Mapping[str, str]
    enabled: bool = _declare("enabled", "boolean", "true",
        doc="Convert eligible plans of this session.")
    strict: bool = _declare("strict", "boolean", "false",
        doc="Fail, instead of leaving queries to Spark, when the extension cannot start or a worker lacks it.")
    executors_wait_seconds: int = _declare("executors.waitSeconds", "int", "30", minimum=0, maximum=86400,
        doc="On a cluster: seconds that the first query waits for the first executor to report that its Python can run"
            " fragments; without a report it runs in Spark, or fails if strict.")
    allow_differences: bool = _declare("allowDifferences", "boolean", "false",
        doc="Also convert expressions whose results differ from Spark's in a documented way.")
    exclude: str = _declare("exclude", "names", "",
        doc="Functions that Spark evaluates and operators that stay in Spark, with commas between: names in SQL"
            " (percentile), classes of Catalyst (Percentile), physical operators (SortMergeJoin).")
    cost_enabled: bool = _declare("cost.enabled", "boolean", "true",
        doc="Leave plans to Spark that the cost rule expects to be slower; false converts all that is supported.")
    cost_min_scan_bytes: int = _declare("cost.minScanBytes", "int", "1048576", minimum=0,
        doc="With the cost rule on: a query whose scans read fewer bytes than this stays in Spark.")
    join_broadcast_bytes: int = _declare("join.broadcastBytes", "int", "67108864", minimum=0,
        doc="A join side of at most this many bytes (by Spark's statistics), and at most a 64th of"
            " spark.executor.pyspark.memory, is broadcast if that saves a shuffle.")
    join_order: str = _declare("join.order", "choice", "auto", choices=("auto", "always", "never"),
        doc="Whether inner joins change their order, so that a wide table whose key the query groups by is joined last:"
            " if sizes suggest a gain, if possible, never.")
    join_reduction: str = _declare("join.reduction", "choice", "auto", choices=("auto", "always", "never"),
        doc="Whether a semi join drops rows early that a later join would drop: if sizes suggest a gain, if"
            " possible, never.")
    join_runtime_filter_enabled: bool = _declare("join.runtimeFilter.enabled", "boolean", "true",
        doc="Let the scan, the first join of a pipeline and the tables of broadcasts leave out rows that its other"
            " joins cannot match.")
    join_runtime_filter_in_list_values: int = _declare("join.runtimeFilter.inListValues", "int", "1024", minimum=0,
        doc="Up to this many distinct join keys prune row groups by value; more prune by their range.")
    join_runtime_filter_wait_ms: int = _declare("join.runtimeFilter.waitMs", "int", "1000", minimum=0, maximum=600000,
        doc="Milliseconds that a scan waits for a runtime filter of a join in another pipeline; a filter that"
            " arrives later prunes the remaining row groups; 0 never waits.")
    sort_gather_bytes: int = _declare("sort.gatherBytes", "int", "67108864", minimum=0,
        doc="A global sort of at most this many bytes, by Spark's statistics, runs in one partition of the engine.")
    cache_enabled: bool = _declare("cache.enabled", "boolean", "false",
        doc="Let cache() and persist() of a plan of the engine hold compressed columns of chunks, through"
            " spark.sql.cache.serializer. Read when the application starts; a session may set false later.")
    jvm_input: str = _declare("jvmInput", "choice", "auto", choices=("auto", "always", "never"),
        doc="Whether rows produced by the JVM may be the input of a fragment: by the cost rule, always, never.")
    jvm_expressions: bool = _declare("jvmExpressions", "boolean", "true",
        doc="Let Spark's own code evaluate expressions and aggregate functions that the engine does not support, in the"
            " executor's JVM, on chunks of a fragment; false leaves their operators to Spark.")
    explain_log_level: str = _declare("explain.logLevel", "choice", "info", choices=("off", "debug", "info", "warn"),
        doc="Level of the log line per query.")
    batch_rows: int = _declare("batchRows", "int", "131072", minimum=1, maximum=1048576,
        doc="Maximum number of rows of a chunk.")
    exchange_chunk_bytes: int = _declare("exchange.chunkBytes", "int", "262144", minimum=1,
        doc="An exchange sink sends the rows of a destination when they reach this many bytes.")
    exchange_buffer_bytes: int = _declare("exchange.bufferBytes", "int", "67108864", minimum=1,
        doc="Maximum bytes that an exchange sink buffers for all destinations before it sends the largest buffer.")
    exchange_worker_files: bool = _declare("exchange.workerFiles", "boolean", "true",
        doc="Let workers write the files of Spark's shuffle themselves, where it is Spark's own and writes to local"
            " directories; false: the JVM writes them.")
    exchange_driver_level: str = _declare("exchange.driverLevel", "choice", "row", choices=("row", "partition"),
        doc="With spark.task.cpus above 1: whether a hash exchange partitions rows, by a second hash, or whole"
            " partitions across the drivers of the receiving tasks.")
    aggregate_pass_through_rows: int = _declare("aggregate.passThroughRows", "int", "100000", minimum=1,
        doc="Rows after which a partial aggregation checks its reduction.")
    aggregate_pass_through_ratio: int = _declare("aggregate.passThroughRatio", "int", "80", minimum=1, maximum=101,
        doc="Groups per hundred rows from which a partial aggregation is abandoned and its rows pass through; 101"
            " never does.")
    local_exchange_buffer_bytes: int = _declare("localExchange.bufferBytes", "int", "33554432", minimum=1,
        doc="Bytes that a local exchange buffers before it blocks its producers.")
    parallelism_rows_per_driver: int = _declare("parallelism.rowsPerDriver", "int", "65536", minimum=0,
        doc="With spark.task.cpus above 1: rows of an exchange per driver of a sort or a partial aggregation; 0"
            " always uses all drivers.")
    time_slice_ms: int = _declare("timeSliceMs", "int", "20", minimum=1,
        doc="Milliseconds that a driver runs before it yields to the next.")
    output_queue_chunks: int = _declare("output.queueChunks", "int", "16", minimum=1,
        doc="Chunks that may wait for Spark to read them before the drivers block.")
    spill_codec: str = _declare("spill.codec", "choice", "lz4", choices=("none", "lz4", "zstd"),
        doc="Compression of the buffers of spill files.")
    spill_max_bytes: int = _declare("spill.maxBytes", "int", "0", minimum=0,
        doc="Maximum total bytes of the spill files of a task; more fails the task; 0: the capacity of the disk.")
    metrics_cpu_time: bool = _declare("metrics.cpuTime", "boolean", "false",
        doc="Record the CPU time of every operator besides its wall time; costs microseconds per chunk and operator.")
    metrics_timeline: bool = _declare("metrics.timeline", "boolean", "false",
        doc="Record when every driver was running, ready or blocked (with the reason), for"
            " `pyspark_pipeline.timeline`.")
    capture_folder: str = _declare("capture.folder", "text", "",
        doc="Folder of the captured inputs of the tasks of one partition, for `pyspark-pipeline replay`; empty: no"
            " capture.")
    capture_partition: int = _declare("capture.partition", "int", "0", minimum=0,
        doc="The partition whose tasks are captured, in every fragment.")
    capture_operator: str = _declare("capture.operator", "text", "",
        doc="Operators (names as in a profile, or pipeline and index, 0.1; commas between) whose input chunks are"
            " captured as well, for `pyspark-pipeline replay --operator`.")
    capture_max_bytes: int = _declare("capture.maxBytes", "int", "4294967296", minimum=1,
        doc="Approximate maximum bytes of a task's capture; later input is not captured, the task continues.")
    debug_check_chunks: bool = _declare("debug.checkChunks", "boolean", "false",
        doc="Check every chunk that moves between operators: types, lengths, validity. Slow; for finding bugs.")
# fmt: on

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        texts = dict(given or {})
        for key in texts:
            if key not in OPTIONS:
                raise OptionError(f"{PREFIX}{key} is not an option{_suggestion(key)}")
        object.__setattr__(self, "given", texts)
        for name, option in OPTION_FIELDS.items():
            object.__setattr__(self, name, option.parse(texts.get(option.key, option.default)))


#: The declared options by the name of the field that has the value.
OPTION_FIELDS: Mapping[str, Option] = {
    column.name: column.metadata["option"] for column in fields(Options) if "option" in column.metadata
}
#: The declared options by key.
OPTIONS: Mapping[str, Option] = {option.key: option for option in OPTION_FIELDS.values()}


def _suggestion(key: str) -> str:
    """Return the end of an error message: the option that ``key`` may be a misspelling of, else all options."""
    near = get_close_matches(key.lower(), [known.lower() for known in OPTIONS], n=1)
    if near:
        return f"; did you mean {PREFIX}{next(known for known in OPTIONS if known.lower() == near[0])}?"
    return f"; there are: {', '.join(sorted(OPTIONS))}"

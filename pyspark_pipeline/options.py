"""Every option of the engine, once: key, type, default, what is allowed, what it does.

The reference page and the manifest that the JVM side checks ``spark.pysparkPipeline.*`` settings
against are generated from this registry. Values travel to the worker as strings in the fragment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark_pipeline.errors import OptionError

PREFIX = "spark.pysparkPipeline."


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option: ``key`` without the prefix, ``kind`` (boolean, int, choice, text), default in text form."""

    key: str
    kind: str
    default: str
    doc: str
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None

    @property
    def allowed(self) -> str:
        """Say in words what values are allowed."""
        if self.kind == "boolean":
            return "true or false"
        if self.kind == "text":
            return "any text"
        if self.kind == "choice":
            return "one of " + ", ".join(self.choices)
        low = "" if self.minimum is None else f" from {self.minimum}"
        high = "" if self.maximum is None else f" to {self.maximum}"
        return f"a whole number{low}{high}"

    def parse(self, text: str) -> Any:
        """Turn ``text`` into the option's value; raise :class:`OptionError` where it is not allowed."""
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
    "text": _text,
}

_ALL = (
    Option(key="enabled", kind="boolean", default="true", doc="Convert eligible plans of this session."),
    Option(key="strict", kind="boolean", default="false",
           doc="Fail, instead of leaving queries to Spark, when the extension cannot start or a worker lacks it."),
    Option(key="allowDifferences", kind="boolean", default="false",
           doc="Also convert what differs from Spark in a stated way."),
    Option(key="cost.enabled", kind="boolean", default="true",
           doc="Leave to Spark what the cost rule says would not win; false converts all that is supported."),
    Option(key="cost.minScanBytes", kind="int", default="1048576", minimum=0,
           doc="With the cost rule on: a query whose scans read fewer bytes than this stays in Spark."),
    Option(key="join.broadcastBytes", kind="int", default="67108864", minimum=0,
           doc="A side of a join of no more bytes (by Spark's statistics), nor more than a 64th of"
               " spark.executor.pyspark.memory, is broadcast where that saves a shuffle."),
    Option(key="join.reduction", kind="choice", default="auto", choices=("auto", "always", "never"),
           doc="Whether a semi join drops early what a join drops late: where sizes say it pays, where it can, never."),
    Option(key="join.runtimeFilter.enabled", kind="boolean", default="true",
           doc="Let the scan and the first join of a pipeline skip what the tables of its other joins cannot match."),
    Option(key="join.runtimeFilter.inListValues", kind="int", default="1024", minimum=0,
           doc="Up to so many keys of a join's table prune row groups one by one; more as the range they lie in."),
    Option(key="join.runtimeFilter.waitMs", kind="int", default="1000", minimum=0, maximum=600000,
           doc="A scan in another pipeline than the join whose table prunes it waits so many milliseconds for that"
               " table, then reads, and prunes what is left when the table comes; 0 never waits."),
    Option(key="sort.gatherBytes", kind="int", default="67108864", minimum=0,
           doc="A global sort of no more bytes, by Spark's statistics, runs in one partition of the engine."),
    Option(key="jvmInput", kind="choice", default="auto", choices=("auto", "always", "never"),
           doc="Whether rows made by the JVM may be the input of a fragment: by the cost rule, always, never."),
    Option(key="explain.logLevel", kind="choice", default="info", choices=("off", "debug", "info", "warn"),
           doc="Level of the one log line a query gets."),
    Option(key="batchRows", kind="int", default="131072", minimum=1, maximum=1048576,
           doc="Rows of a chunk at most."),
    Option(key="exchange.chunkBytes", kind="int", default="262144", minimum=1,
           doc="An exchange sink sends a destination's rows when they reach this many bytes."),
    Option(key="exchange.bufferBytes", kind="int", default="67108864", minimum=1,
           doc="Bytes an exchange sink holds for all destinations before it sends the largest."),
    Option(key="exchange.driverLevel", kind="choice", default="row", choices=("row", "partition"),
           doc="With spark.task.cpus above 1: whether a hash exchange deals rows, by a second hash, or whole partitions"
               " to the drivers of the tasks that read it."),
    Option(key="aggregate.passThroughRows", kind="int", default="100000", minimum=1,
           doc="After this many rows a partial aggregation looks whether it reduces."),
    Option(key="aggregate.passThroughRatio", kind="int", default="80", minimum=1, maximum=101,
           doc="Groups per hundred rows from which a partial aggregation passes its rows through; 101 never does."),
    Option(key="localExchange.bufferBytes", kind="int", default="33554432", minimum=1,
           doc="Bytes a local exchange buffers before it blocks its producers."),
    Option(key="parallelism.rowsPerDriver", kind="int", default="65536", minimum=0,
           doc="With spark.task.cpus above 1: rows of an exchange that are worth a driver of their own in a sort or a"
               " partial aggregation; 0 always uses all."),
    Option(key="timeSliceMs", kind="int", default="20", minimum=1,
           doc="Milliseconds a driver runs before it yields to the next."),
    Option(key="output.queueChunks", kind="int", default="16", minimum=1,
           doc="Chunks that may wait for Spark to take them before the drivers block."),
    Option(key="spill.codec", kind="choice", default="lz4", choices=("none", "lz4", "zstd"),
           doc="How the buffers of spill files are compressed."),
    Option(key="spill.maxBytes", kind="int", default="0", minimum=0,
           doc="Bytes that the spill files of a task may have together: more fails the task; 0: what the disk takes."),
    Option(key="metrics.cpuTime", kind="boolean", default="false",
           doc="Count the CPU time of every operator beside its time; costs microseconds a chunk and operator."),
    Option(key="metrics.timeline", kind="boolean", default="false",
           doc="Keep when every driver ran, was ready, and was blocked and why, for `pyspark_pipeline.timeline`."),
    Option(key="capture.folder", kind="text", default="",
           doc="Where workers keep what tasks of one partition got, for `pyspark-pipeline replay`; empty: nothing."),
    Option(key="capture.partition", kind="int", default="0", minimum=0,
           doc="The partition whose tasks are captured, in every fragment."),
    Option(key="capture.operator", kind="text", default="",
           doc="Operators (names as in a profile, or pipeline and place, 0.1; commas between) whose chunks are kept"
               " besides, for `pyspark-pipeline replay --operator`."),
    Option(key="capture.maxBytes", kind="int", default="4294967296", minimum=1,
           doc="Bytes that a task's capture may have, about; what comes later is not kept, the task goes on."),
    Option(key="debug.checkChunks", kind="boolean", default="false",
           doc="Check every chunk that moves between operators: types, lengths, validity. Slow; for finding bugs."),
)

OPTIONS: Mapping[str, Option] = {option.key: option for option in _ALL}


class Options:
    """The options of one fragment: the given texts, parsed; everything else at its default."""

    def __init__(self, given: Mapping[str, str] | None = None) -> None:
        self._given = dict(given or {})
        for key in self._given:
            if key not in OPTIONS:
                raise OptionError(f"{PREFIX}{key} is not an option; there are: {', '.join(sorted(OPTIONS))}")
        self._values = {key: option.parse(self._given.get(key, option.default)) for key, option in OPTIONS.items()}

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    @property
    def given(self) -> Mapping[str, str]:
        """The texts that were given, for sending them on."""
        return self._given

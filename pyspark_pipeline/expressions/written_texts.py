"""Values as texts of JSON and CSV, as the writers of both print them (Spark: JacksonGenerator, UnivocityGenerator)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.date_format import DATE_PATTERN, PATTERN, Formatter
from pyspark_pipeline.expressions.java_numbers import Digits
from pyspark_pipeline.expressions.registry import FLOATING
from pyspark_pipeline.expressions.time_zones import TimeZone
from pyspark_pipeline.expressions.timestamps import SECOND
from pyspark_pipeline.expressions.values import numbers_or_zero

Write = Callable[[pa.Array], pa.Array]

#: The options of patterns, each a line, by their names in any case.
FORMATS = (
    f"(?i:timestampFormat)=(?:{PATTERN})\n|(?i:dateFormat)=(?:{DATE_PATTERN})\n|"
    f"(?i:timestampNTZFormat)=(?!.*[XxZ])(?:{PATTERN})\n"
)
MOMENTS = ("date", "timestamp", "timestamp_ntz")
_NAMES = {"date": "dateformat", "timestamp": "timestampformat", "timestamp_ntz": "timestampntzformat"}


class WrittenTexts:
    """Writes values that are not nested; NULL as anything.

    ``patterns`` are those of dates and timestamps, by the names of the options in lower case.
    """

    def __init__(self, patterns: Mapping[str, str], zone: TimeZone, is_shortest: bool) -> None:
        self._formats = {kind: Formatter(patterns[name]) for kind, name in _NAMES.items()}
        self._zone = zone
        self._is_shortest = is_shortest

    def of(self, kind: str) -> Write:
        """Return the function that writes booleans, numbers or moments."""
        if kind in FLOATING:
            return self._floating
        if kind == "date":
            return lambda values: self._moments(kind, numbers_or_zero(values), 0, 0)
        if kind in MOMENTS:
            zone = self._zone if kind == "timestamp" else TimeZone("UTC")
            return lambda values: self._timestamps(kind, values, zone)
        return lambda values: values.cast(pa.string())

    def _floating(self, values: pa.Array) -> pa.Array:
        """Write as ``Double.toString``."""
        return Digits.of(numbers_or_zero(values), self._is_shortest).texts(None)

    def _timestamps(self, kind: str, values: pa.Array, zone: TimeZone) -> pa.Array:
        instants: Any = numbers_or_zero(values)
        days, micros = zone.local_times(instants)
        east = zone.offsets(instants // SECOND) if self._formats[kind].has_offset else 0
        return self._moments(kind, days, micros, east)

    def _moments(self, kind: str, days: Any, micros: Any, east: Any) -> pa.Array:
        micros = np.broadcast_to(np.asarray(micros, dtype=np.int64), len(days))
        return self._formats[kind].format(days.astype(np.int64), micros, None, east)

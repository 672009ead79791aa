"""Spark's table of the differences to add to a timestamp of the hybrid calendar, by time zone.

Spark's jars contain it (``julian-gregorian-rebase-micros.json``). It includes differences of time zone rules between
Java's classes of the two calendars; no other source has the same numbers. The executor sends its location.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

import numpy as np

from pyspark_pipeline.kernels.arrays import Int64Array

_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneRebase:
    """The rebase of one time zone: from each of ``switches`` on add the item of ``differences`` at the same index.

    Both are int64, microseconds; ``switches`` ascend. Timestamps before the first switch are undefined.
    """

    switches: Int64Array
    differences: Int64Array

    def between(self, micros: Int64Array) -> Int64Array:
        """Return the difference to add to each of ``micros``, none of which is before the first switch."""
        found: Int64Array = self.differences[np.searchsorted(self.switches, micros, side="right") - 1]
        return found


@lru_cache(maxsize=4)
def rebase_table(url: str) -> Mapping[str, ZoneRebase]:
    """Read the table from a ``jar:file:…!/…`` URL, once a worker process; return an empty one if that fails."""
    jar, _, entry = url.removeprefix("jar:file:").partition("!/")
    try:
        with zipfile.ZipFile(unquote(jar)) as archive:
            records = json.loads(archive.read(unquote(entry)))
        return {
            record["tz"]: ZoneRebase(switches=_micros(record["switches"]), differences=_micros(record["diffs"]))
            for record in records
        }
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile):
        return {}


def _micros(seconds: list[int]) -> Int64Array:
    return np.array(seconds, dtype=np.int64) * _SECOND_US

"""Spark's table of what to add to a timestamp of the hybrid calendar, by time zone.

Spark's jars hold it (``julian-gregorian-rebase-micros.json``), with differences of time zone rules that the two
calendars' classes in Java know: no other source has the same numbers. The executor says where it is.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

import numpy as np

from pyspark_pipeline.kernels.buffers import Array

_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneRebase:
    """From each of ``switches`` on add the item of ``differences`` at its place; int64, microseconds, ascending.

    Nothing is said of timestamps before the first.
    """

    switches: Array
    differences: Array

    def between(self, micros: Array) -> Array:
        """Give what to add to each of ``micros``, all from the first switch on."""
        found: Array = self.differences[np.searchsorted(self.switches, micros, side="right") - 1]
        return found


@lru_cache(maxsize=4)
def rebase_table(url: str) -> Mapping[str, ZoneRebase]:
    """Read the table from a ``jar:file:…!/…`` URL, once a worker; empty where it cannot be read as one."""
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


def _micros(seconds: list[int]) -> Array:
    return np.array(seconds, dtype=np.int64) * _SECOND_US

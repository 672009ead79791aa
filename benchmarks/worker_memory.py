"""The peak memory of a Python worker, and its private part.

Linux records the largest resident set of a process (``VmHWM``). It includes pages that a worker shares with the daemon
since the fork, so the shared pages of now are subtracted: those are libraries and compiled kernels, which remain.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_KIB = 1 << 10
_MIB = 1 << 20
#: The tolerated difference of a worker's own memory to its operators' counted memory: this share of it …
SHARE = 0.2
#: … plus this many bytes.
MARGIN_BYTES = 150 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerMemory:
    """Bytes: the largest resident set, the current resident set, and the private part of the latter."""

    peak: int
    resident: int
    private: int

    @property
    def own_peak(self) -> int:
        """The largest resident set minus the bytes shared with other processes."""
        return self.peak - (self.resident - self.private)


def fields(text: str) -> dict[str, int]:
    """Return bytes by name from lines of the form ``VmHWM:   123 kB``."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if len(words) == 2 and words[1] == "kB":
            found[name] = int(words[0]) * _KIB
    return found


def worker_memory(pid: int) -> WorkerMemory | None:
    """Return the memory of a process; None if it has ended."""
    with contextlib.suppress(OSError, KeyError):
        status = fields(Path(f"/proc/{pid}/status").read_text())
        rollup = fields(Path(f"/proc/{pid}/smaps_rollup").read_text())
        private = rollup["Private_Clean"] + rollup["Private_Dirty"]
        # Linux updates the largest resident set periodically, so it may lag.
        return WorkerMemory(peak=max(status["VmHWM"], rollup["Rss"]), resident=rollup["Rss"], private=private)
    return None


def compared(counted: int, measured: WorkerMemory) -> dict[str, Any]:
    """Return the counted peak beside the measured peak, in MiB."""
    own = measured.own_peak
    return {
        "counted_mib": counted // _MIB,
        "own_peak_mib": own // _MIB,
        "resident_peak_mib": measured.peak // _MIB,
        "own_after_mib": measured.private // _MIB,
        "within": counted * (1 - SHARE) - MARGIN_BYTES <= own <= counted * (1 + SHARE) + MARGIN_BYTES,
    }

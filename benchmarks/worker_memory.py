"""How much memory a Python worker took at most, and how much of it is its own.

Linux keeps the largest resident set of a process (``VmHWM``). Pages that a worker has shared with the daemon since it
was forked are in it, so what is shared now is taken off: those are libraries and compiled kernels, which stay.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_KIB = 1 << 10
_MIB = 1 << 20
#: How far a worker's own memory may be from what its operators counted: this part of it …
SHARE = 0.2
#: … and this much.
MARGIN_BYTES = 150 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerMemory:
    """Bytes: the largest resident set, the resident set now, and what of that no other process has."""

    peak: int
    resident: int
    private: int

    @property
    def own_peak(self) -> int:
        """The largest resident set less what is shared with other processes."""
        return self.peak - (self.resident - self.private)


def fields(text: str) -> dict[str, int]:
    """Read lines of the form ``VmHWM:   123 kB``; bytes by name."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if len(words) == 2 and words[1] == "kB":
            found[name] = int(words[0]) * _KIB
    return found


def worker_memory(pid: int) -> WorkerMemory | None:
    """Read the memory of a process; None where it is gone."""
    with contextlib.suppress(OSError, KeyError):
        status = fields(Path(f"/proc/{pid}/status").read_text())
        rollup = fields(Path(f"/proc/{pid}/smaps_rollup").read_text())
        private = rollup["Private_Clean"] + rollup["Private_Dirty"]
        # Linux adds up the largest resident set now and then, so it may be behind.
        return WorkerMemory(peak=max(status["VmHWM"], rollup["Rss"]), resident=rollup["Rss"], private=private)
    return None


def compared(counted: int, measured: WorkerMemory) -> dict[str, Any]:
    """Set what was counted at most beside what was taken at most; MiB."""
    own = measured.own_peak
    return {
        "counted_mib": counted // _MIB,
        "own_peak_mib": own // _MIB,
        "resident_peak_mib": measured.peak // _MIB,
        "own_after_mib": measured.private // _MIB,
        "within": counted * (1 - SHARE) - MARGIN_BYTES <= own <= counted * (1 + SHARE) + MARGIN_BYTES,
    }

"""CPU seconds of an engine's processes by kind, from /proc: the JVM's threads, and the Python workers below the JVM.

Of the JVM ``jit`` is the time of its compilers, ``collector`` of the garbage collector, ``tasks`` of the threads of
Spark's tasks, ``other`` of all others: planning, scheduling, listeners. Of the workers ``user`` and ``system``, with
``page_faults``, a number. Processes that ended between two readings are missing.
"""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from benchmarks.memory import children

_TICKS = os.sysconf("SC_CLK_TCK")
#: Of ``/proc/PID/stat``, after the name: minor page faults, ticks of user and system time.
_FAULTS, _USER, _SYSTEM = 7, 11, 12
_THREADS = {
    "jit": ("C1 ", "C2 "),
    "collector": ("GC ", "G1 ", "VM Thread", "VM Periodic"),
    "tasks": ("Executor task",),
}

Reading = Mapping[str, float]


def reading(jvm: int) -> Reading:
    """Return the CPU seconds so far of a JVM and its workers, by ``jvm_…`` and ``workers_…``."""
    found: defaultdict[str, float] = defaultdict(float)
    for thread in _entries(Path(f"/proc/{jvm}/task")):
        name = _text(thread / "comm")
        for kind, names in _THREADS.items():
            if name.startswith(names):
                found[f"jvm_{kind}"] += _seconds(_stat(thread))
    found["jvm_other"] = _seconds(_stat(Path(f"/proc/{jvm}"))) - sum(found.values())
    for worker in children(jvm):
        stat = _stat(Path(f"/proc/{worker}"))
        found["workers_user"] += stat[_USER] / _TICKS
        found["workers_system"] += stat[_SYSTEM] / _TICKS
        found["workers_page_faults"] += stat[_FAULTS]
    return found


def spent(before: Reading, after: Reading) -> dict[str, float]:
    """Return what was spent between two readings."""
    return {key: round(value - before.get(key, 0), 2) for key, value in sorted(after.items())}


def _entries(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return list(folder.iterdir())
    return []


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text()
    return ""


def _stat(process: Path) -> list[int]:
    """Return the fields after the name and the state of a process or thread, zeros if it has ended."""
    fields = _text(process / "stat").rpartition(")")[2].split()[1:]
    return [0, *map(int, fields)] if fields else [0] * (_SYSTEM + 1)


def _seconds(stat: list[int]) -> float:
    return (stat[_USER] + stat[_SYSTEM]) / _TICKS

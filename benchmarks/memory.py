"""Peak resident memory of an engine's processes, sampled from /proc while the engine works.

``jvm`` is the JVM; ``workers`` is the sum over all Python processes below it. Pages that workers share
after a fork count once for each, so the sum is an upper bound. A sample every 50 ms may miss a shorter peak. The JVM's
own children are looked for once a second: to read those of its 350 threads takes 17 ms.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Iterator
from pathlib import Path

_INTERVAL_S = 0.05
_SAMPLES_OF_CHILDREN = 20
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MIB = 1 << 20


def children_of(pid: int) -> list[int]:
    """Return the direct children of ``pid``."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def children(pid: int) -> list[int]:
    """Return the descendants of ``pid``."""
    found = children_of(pid)
    return found + [below for child in found for below in children(child)]


def resident_bytes(pid: int) -> int:
    """Return the resident set of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


class MemoryWatch:
    """Recorder of one engine's peaks: since the last :meth:`reset`, and of all time."""

    def __init__(self, *, driver: int, jvm: int) -> None:
        self._driver, self._jvm = driver, jvm
        self._peak = {"jvm": 0, "workers": 0}
        self._all_time = dict(self._peak)

    def reset(self) -> None:
        """Reset the peak, but not the all-time peak."""
        self._peak = {"jvm": 0, "workers": 0}

    @property
    def peak_mib(self) -> dict[str, int]:
        """The peaks since the last reset, MiB."""
        return {key: value // _MIB for key, value in self._peak.items()}

    @property
    def all_time_mib(self) -> dict[str, int]:
        """The all-time peaks, MiB."""
        return {key: value // _MIB for key, value in self._all_time.items()}

    @contextlib.contextmanager
    def sampling(self) -> Iterator[None]:
        """Sample in a separate thread while the body runs."""
        done = threading.Event()
        thread = threading.Thread(target=self._sample_until, args=(done,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _sample_until(self, done: threading.Event) -> None:
        own: list[int] = []
        for sample in itertools.count():
            if not own or sample % _SAMPLES_OF_CHILDREN == 0:
                own = children_of(self._jvm)
            below = own + [process for child in own for process in children(child)]
            now = {"jvm": resident_bytes(self._jvm), "workers": sum(map(resident_bytes, below))}
            for peak in (self._peak, self._all_time):
                for key, value in now.items():
                    peak[key] = max(peak[key], value)
            if done.wait(_INTERVAL_S):
                return

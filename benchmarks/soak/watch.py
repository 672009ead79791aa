"""Samples the resources of a session: its JVM, Spark's Python daemon, each worker, and Spark's local folders.

It also reads the bytes spilled since the last sample, to show that the queries spill.

The JVM's heap is read after two collections, between which Spark's cleaner removes unreachable shuffles and
broadcasts.
"""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from benchmarks.left_behind import descriptors
from benchmarks.memory import children_of, resident_bytes

_MIB = 1 << 20
_CLEANER_SECONDS = 0.3
#: Missing stage ids after which the search ends: skipped stages have no status.
_MISSES = 50
SPILLED = "spilled_mib"
#: Spark's own threads that are not counted: pools of up to a thousand that end a thread after it was idle for a
#: minute, and a monitor per Python task.
_SPARKS_THREADS = (
    "block-manager-", "shuffle-exchange-", "broadcast-exchange-", "ResultQueryStageExecution-", "QueryStageCreator-",
    "Worker Monitor for ",
)  # fmt: skip

#: The measures and the tolerated growth of each after the warm-up. Netty allocates direct memory in chunks of
#: 4 MiB per arena.
TOLERANCES = {
    "driver_fds": 3.0,
    "driver_rss_mib": 24.0,
    "jvm_threads": 6.0,
    "jvm_heap_mib": 6.0,
    "jvm_direct_mib": 10.0,
    "jvm_arrow_kib": 0.0,
    "jvm_fds": 4.0,
    "jvm_sockets": 2.0,
    "daemon_fds": 2.0,
    "daemon_rss_mib": 8.0,
    "workers": 2.0,
    "worker_fds": 2.0,
    "worker_sockets": 1.0,
    "worker_threads": 1.0,
    "worker_rss_mib": 24.0,
    "local_files": 8.0,
    "local_mib": 2.0,
}


class SessionWatch:
    """Sampler of one local session, whose Spark files are all below ``folder``."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        context: Any = spark.sparkContext
        self._jvm = context._jvm
        self._bus = context._jsc.sc().listenerBus()
        self._stages = context._jsc.sc().statusStore()
        self._next_stage = 0
        self._pid = int(self._jvm.java.lang.ProcessHandle.current().pid())
        self._folder = folder

    def sample(self) -> dict[str, float]:
        """Return every measure of :data:`TOLERANCES`; of workers, the maximum."""
        self._settle()
        daemons = children_of(self._pid)
        workers = [worker for daemon in daemons for worker in children_of(daemon)]
        files = list(sizes(self._folder))
        return self._of_jvm() | {
            "driver_fds": len(descriptors(os.getpid())),
            "driver_rss_mib": mib(resident_bytes(os.getpid())),
            "daemon_fds": sum(len(descriptors(pid)) for pid in daemons),
            "daemon_rss_mib": mib(sum(map(resident_bytes, daemons))),
            "workers": len(workers),
            "worker_fds": max((len(descriptors(pid)) for pid in workers), default=0),
            "worker_sockets": max((len(sockets(pid)) for pid in workers), default=0),
            "worker_threads": max(map(num_threads, workers), default=0),
            "worker_rss_mib": mib(max(map(resident_bytes, workers), default=0)),
            "local_files": len(files),
            "local_mib": mib(sum(files)),
            SPILLED: self._spilled(),
        }

    def _settle(self) -> None:
        """Release unreferenced objects: Python's references to JVM objects, the JVM's garbage, Spark's shuffles."""
        self._bus.waitUntilEmpty()
        for _ in range(2):
            gc.collect()
            self._jvm.java.lang.System.gc()
            time.sleep(_CLEANER_SECONDS)

    def _spilled(self) -> float:
        """Return the MiB spilled by the stages since the last sample that Spark still retains."""
        spilled, stage = 0, self._next_stage
        while stage < self._next_stage + _MISSES:
            with contextlib.suppress(Py4JJavaError):
                spilled += self._stages.lastStageAttempt(stage).diskBytesSpilled()
                self._next_stage = stage + 1
            stage += 1
        return mib(spilled)

    def _of_jvm(self) -> dict[str, float]:
        factory = self._jvm.java.lang.management.ManagementFactory
        arrow = getattr(getattr(self._jvm.org.apache.spark.sql.util, "ArrowUtils$"), "MODULE$")
        netty = self._jvm.io.netty.util.internal.PlatformDependent
        return {
            "jvm_threads": sum(not name.startswith(_SPARKS_THREADS) for name in self._threads()),
            "jvm_heap_mib": mib(factory.getMemoryMXBean().getHeapMemoryUsage().getUsed()),
            "jvm_direct_mib": mib(self._direct() + max(0, netty.usedDirectMemory())),
            "jvm_arrow_kib": round(arrow.rootAllocator().getAllocatedMemory() / 1024, 1),
            "jvm_fds": len(descriptors(self._pid)),
            "jvm_sockets": len(sockets(self._pid)),
        }

    def _threads(self) -> list[str]:
        """Return the names of the JVM's threads."""
        return [thread.getName() for thread in self._jvm.java.lang.Thread.getAllStackTraces().keySet()]

    def _direct(self) -> int:
        """Return the bytes of the JVM's direct buffers."""
        factory = self._jvm.java.lang.management.ManagementFactory
        kind = self._jvm.java.lang.Class.forName("java.lang.management.BufferPoolMXBean")
        return sum(pool.getMemoryUsed() for pool in factory.getPlatformMXBeans(kind) if pool.getName() == "direct")


def mib(nbytes: float) -> float:
    """Return bytes as MiB, rounded to two digits."""
    return round(nbytes / _MIB, 2)


def sockets(pid: int) -> list[str]:
    """Return the open sockets of a process."""
    return [name for name in descriptors(pid) if name.startswith("socket:")]


def num_threads(pid: int) -> int:
    """Return the number of threads of a process; 0 if it has ended."""
    with contextlib.suppress(OSError):
        return len(os.listdir(f"/proc/{pid}/task"))
    return 0


def sizes(folder: Path) -> Iterator[int]:
    """Yield the bytes of every file below ``folder``."""
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                yield os.stat(os.path.join(parent, name)).st_size

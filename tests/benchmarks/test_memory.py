"""Tests of the peak memory: its processes and its time span."""

import os
import subprocess
import sys
import time

from benchmarks.memory import MemoryWatch, children, resident_bytes


def test_peaks_cover_child_processes_and_reset() -> None:
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'b = bytearray(80 << 20); input()'])"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    try:
        watch = MemoryWatch(driver=os.getpid(), jvm=process.pid)
        with watch.sampling():
            deadline = time.monotonic() + 20
            while sum(map(resident_bytes, children(process.pid))) < 80 << 20:
                assert time.monotonic() < deadline, "the child never took its memory"
                time.sleep(0.02)
            time.sleep(0.15)
        assert 80 <= watch.peak_mib["workers"] < 400
        assert 0 < watch.peak_mib["jvm"] < 80
        watch.reset()
        assert watch.peak_mib == {"jvm": 0, "workers": 0}
        assert watch.all_time_mib["workers"] >= 80
    finally:
        process.communicate(b"\n", timeout=20)


def test_ended_process_has_no_memory_or_children() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert resident_bytes(process.pid) == 0
    assert children(process.pid) == []

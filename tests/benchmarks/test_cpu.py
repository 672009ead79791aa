"""Tests of the CPU seconds of processes."""

import os
import signal
import subprocess
import sys
import time

from benchmarks.cpu import reading, spent
from benchmarks.memory import children


def test_seconds_of_a_process_and_its_children() -> None:
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    process = subprocess.Popen([sys.executable, "-c", program])
    try:
        before = reading(process.pid)
        deadline = time.monotonic() + 20
        while (found := spent(before, reading(process.pid))).get("workers_user", 0) < 0.2:
            assert time.monotonic() < deadline, found
            time.sleep(0.05)
        assert found["workers_page_faults"] > 0 and found["jvm_other"] >= 0
    finally:
        for child in children(process.pid):
            os.kill(child, signal.SIGKILL)
        process.wait(timeout=20)
    assert spent({}, reading(process.pid)) == {"jvm_other": 0}


def test_threads_of_a_process_count_by_name() -> None:
    found = reading(os.getpid())
    assert found["jvm_other"] > 0 and "jvm_jit" not in found

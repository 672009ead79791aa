"""The parent's handle on one engine's session process: sends commands, times out, samples memory."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.memory import MemoryWatch

ROOT = Path(__file__).resolve().parents[1]


class EngineError(RuntimeError):
    """The session failed to run a command; carries its message."""


class Engine:
    """A session process of one engine. It is idle except between a command and its answer, so engines can alternate.

    The process runs the code of ``checkout``, a clone of the repository.
    """

    def __init__(self, name: str, conf: dict[str, str], *, log: Path | None = None, checkout: Path = ROOT) -> None:
        self.name = name
        read, write = os.pipe()
        path = os.pathsep.join([str(checkout), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
        self._scratch = tempfile.TemporaryDirectory(prefix=f"benchmark-{name}-")
        local = {"spark.local.dir": self._scratch.name, "spark.sql.warehouse.dir": self._scratch.name}
        command = [sys.executable, "-m", "benchmarks.session", name, json.dumps(local | conf), str(write)]
        self._log = open(log or os.devnull, "ab")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            pass_fds=[write],
            env=env,
            cwd=checkout,  # which ``-m`` searches first
            text=True,
        )
        os.close(write)
        self._answers = os.fdopen(read, encoding="utf-8")
        self.started = self._answer()
        self.pid = self._process.pid
        self.local_dir = Path(self._scratch.name)
        self.memory = MemoryWatch(driver=self._process.pid, jvm=int(self.started["jvm"]))

    def call(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Run one command of :mod:`benchmarks.session` and return its answer.

        Raises :class:`EngineError` if it failed or the session died.
        """
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps({"command": command, **arguments}) + "\n")
            stdin.flush()
        except BrokenPipeError:
            raise EngineError(f"the {self.name} session has ended") from None
        with self.memory.sampling():
            return self._answer()

    def stop(self) -> None:
        """Stop the session and wait until its processes have ended; its local directory remains."""
        self.call("stop")
        stdin = self._process.stdin
        assert stdin is not None
        stdin.close()
        self._process.wait(timeout=60)
        deadline = time.monotonic() + 60
        while Path(f"/proc/{self.started['jvm']}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    def _answer(self) -> dict[str, Any]:
        line = self._answers.readline()
        if not line:
            raise EngineError(f"the {self.name} session died with exit code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise EngineError(answer["error"])
        return answer

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self._process.poll() is None:
                self.call("stop")
            self._process.wait(timeout=60)
        except (EngineError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
        finally:
            for stream in (self._process.stdin, self._answers, self._log):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):  # of an ended session
                        stream.close()
            self._scratch.cleanup()

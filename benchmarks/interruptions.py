"""Ends a spilling query early by an error, a cancel, or a kill, and reports the files left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

from benchmarks.engine import Engine, EngineError
from benchmarks.left_behind import foreign, named_files, nameless_files
from benchmarks.limit_cases import Case
from benchmarks.memory import children
from benchmarks.session import CANCEL

_LOOK_S = 0.02
_SETTLES_S = 10.0


def left_now(engine: Engine, known: Collection[str]) -> dict[str, Any]:
    """Return the leftovers of an ended query: open nameless files, and new files.

    ``known`` are the files that existed before; blocks of Spark's block manager do not count. Waits briefly for the
    tasks of a failed query to end.
    """
    until = time.monotonic() + _SETTLES_S
    while True:
        nameless = sum(nameless_files(pid, engine.local_dir) for pid in children(int(engine.started["jvm"])))
        named = [name for name in foreign(named_files(engine.local_dir)) if name not in known]
        if not (nameless or named) or time.monotonic() > until:
            return {"nameless": nameless, "named": named}
        time.sleep(_LOOK_S)


def interruptions(engine: Engine, known: Collection[str], case: Case, failing: str) -> dict[str, Any]:
    """Run a query that fails, cancel one, and kill the worker of one; return the leftovers and error of each."""
    with _when_spilling(engine, lambda _pid: None) as spilled:
        found = {"failure": _ended(engine, known, failing, case.sink)}
    found["failure"]["spilled"] = spilled.is_set()
    actions: dict[str, Callable[[int], None]] = {
        "cancel": lambda _pid: os.kill(engine.pid, CANCEL),
        "kill": lambda pid: os.kill(pid, signal.SIGKILL),
    }
    for name, action in actions.items():
        with _when_spilling(engine, action) as spilled:
            found[name] = _ended(engine, known, case.sql, case.sink)
        found[name]["spilled"] = spilled.is_set()
    return found


def _ended(engine: Engine, known: Collection[str], sql: str, sink: str) -> dict[str, Any]:
    """Run a query that must fail; return its error and leftovers."""
    error = ""
    try:
        engine.call("run", sql=sql, sink=sink)
    except EngineError as raised:
        error = str(raised)
    return left_now(engine, known) | {"error": shortened(error)}


def shortened(error: str) -> str:
    """Return the word that names the cause of an error, else its first line."""
    for word in ("DIVIDE_BY_ZERO", "cancelled", "exited unexpectedly"):
        if word in error:
            return word
    return error.split("\n", 1)[0][:200]


@contextlib.contextmanager
def _when_spilling(engine: Engine, action: Callable[[int], None]) -> Iterator[threading.Event]:
    """During the body, wait for a worker with a spill file; call ``action`` with its process id and set the event."""
    spilled, done = threading.Event(), threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK_S):
            for pid in children(int(engine.started["jvm"])):
                if nameless_files(pid, engine.local_dir):
                    spilled.set()
                    action(pid)
                    return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield spilled
    finally:
        done.set()
        thread.join()

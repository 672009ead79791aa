"""A function over an iterator, run on a thread of its own, or by the calling thread, between two bounded queues.

The function pulls its input, a driver pushes it: so the function waits on its thread, and the driver polls. The thread
counts as background work while it computes, not while it waits for the driver.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator

import pyarrow as pa

from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.operators.python_functions.calling_thread import CallingThread

_MOST_QUEUED = 2

Batches = Iterator[pa.RecordBatch]


class _StoppedError(BaseException):
    """Ends the function: its output is no longer needed."""


class FunctionThread:
    """Runs ``function``; ``wake`` is called whenever a poll may have changed. All methods return at once."""

    def __init__(
        self,
        name: str,
        function: Callable[[Batches], Batches],
        background: BackgroundWork,
        wake: Callable[[], None],
        caller: CallingThread | None = None,
    ) -> None:
        self._name = name
        self._function = function
        self._background = background
        self._wake = wake
        self._caller = caller
        self._inputs: deque[pa.RecordBatch] = deque()
        self._outputs: deque[pa.RecordBatch] = deque()
        self._changed = threading.Condition()
        self._is_waiting = False
        self._has_all_input = False
        self._is_stopped = False
        self._error: BaseException | None = None
        self.is_done = False
        background.started(name, may_take_long=True)
        threading.Thread(target=self._run, name=f"pipeline-function {name}", daemon=True).start()

    def needs_input(self) -> bool:
        """Return whether another batch may be put."""
        return not self.is_done and not self._is_stopped and len(self._inputs) < _MOST_QUEUED

    def put(self, batch: pa.RecordBatch) -> None:
        """Append a batch of input; dropped if the function has ended."""
        with self._changed:
            self._inputs.append(batch)
            self._resume()

    def end_input(self) -> None:
        """End the iterator after the batches put so far."""
        with self._changed:
            self._has_all_input = True
            self._resume()

    def has_output(self) -> bool:
        """Return whether :meth:`take` may be called: there is a batch, or an error to raise."""
        return bool(self._outputs) or (self.is_done and self._error is not None)

    def take(self) -> pa.RecordBatch:
        """Remove the next batch of output; raise the error of the function after the batches before it."""
        with self._changed:
            if self._outputs:
                self._resume()
                return self._outputs.popleft()
        assert self._error is not None
        error, self._error = self._error, None
        raise error

    def is_finished(self) -> bool:
        """Return whether the function has ended and all of its output was taken."""
        return self.is_done and not self._outputs and self._error is None

    def stop(self) -> None:
        """End the function when it next asks for input or returns output; drop its output."""
        with self._changed:
            self._is_stopped = True
            self._inputs.clear()
            self._outputs.clear()
            self._error = None
            self._resume()

    def _resume(self) -> None:
        """Wake the thread if it waits: from here on it computes. Call with the lock held."""
        if self._is_waiting:
            self._is_waiting = False
            self._background.started(self._name, may_take_long=True)
            self._changed.notify_all()
            if self._caller is not None:
                self._caller.wake()

    def _wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait on the thread; raise if the output is no longer needed. Call with the lock held."""
        while not self._is_stopped and not holds():
            self._is_waiting = True
            self._background.done(self._name)
            self._wake()
            if self._caller is None or not self._caller.is_current():
                while self._is_waiting:
                    self._changed.wait()
                continue
            self._changed.release()
            try:
                self._caller.serve_while(lambda: self._is_waiting)
            finally:
                self._changed.acquire()
        if self._is_stopped:
            raise _StoppedError

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            for batch in self._function(self._input()):
                with self._changed:
                    self._wait_until(lambda: len(self._outputs) < _MOST_QUEUED)
                    self._outputs.append(batch)
                self._wake()
        except _StoppedError:
            pass
        except BaseException as raised:
            error = raised
        with self._changed:
            self._error = None if self._is_stopped else error
            self.is_done = True
            self._inputs.clear()
        self._background.done(self._name)
        self._wake()

    def _input(self) -> Batches:
        while True:
            with self._changed:
                self._wait_until(lambda: bool(self._inputs) or self._has_all_input)
                if not self._inputs:
                    return
                batch = self._inputs.popleft()
            self._wake()
            yield batch

"""The main thread of a worker, on which Spark calls the user's functions, while another thread runs the engine.

Functions may need it: for handlers of signals, the event loop of asyncio, or connections that only the thread that
opened them may use. A function over an iterator waits for its input on that thread, which meanwhile makes other calls.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_MOST_QUEUED = 2
_END: Any = object()


class _Call:
    """A call that another thread waits for."""

    __slots__ = ("work", "result", "error", "is_done")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_done = False


class CallingThread:
    """The thread that constructs it makes the calls of other threads, while :meth:`run` iterates on one of them."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._changed = threading.Condition()
        self._calls: deque[_Call] = deque()
        self._items: deque[Any] = deque()
        self._running_calls = 0  # one within the other
        self._error: BaseException | None = None
        self._is_claimed = False
        self._is_stopped = False
        self._is_over = False

    def is_current(self) -> bool:
        """Return whether the caller runs on this thread."""
        return threading.get_ident() == self._thread

    def claim(self) -> bool:
        """Claim the thread for a function over an iterator; return whether it is the first: two could deadlock."""
        is_first, self._is_claimed = not self._is_claimed, True
        return is_first

    def call(self, work: Callable[[], T]) -> T:
        """Return the result of ``work``, called on this thread; raise its error. Waits."""
        if self.is_current():
            return work()
        call = _Call(work)
        with self._changed:
            if self._is_over:
                raise RuntimeError("the task of this thread has ended")
            self._calls.append(call)
            self._changed.notify_all()
            self._changed.wait_for(lambda: call.is_done)
        error, call.error = call.error, None
        if error is not None:
            raise error
        result: T = call.result
        return result

    def iterate(self, make: Callable[[], Iterator[T]]) -> Iterator[T]:
        """Yield the items of the iterator that ``make`` returns; both run on this thread."""
        made = self.call(make)
        try:
            while (item := self.call(lambda: next(made, _END))) is not _END:
                yield item
        finally:
            if isinstance(made, Generator) and not self._is_over:
                self.call(made.close)

    def serve_while(self, holds: Callable[[], bool]) -> None:
        """Make calls while ``holds()``, which is evaluated again after :meth:`wake`. On this thread only."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._calls or not holds())
                if not holds():
                    return
                call = self._calls.popleft()
            self._make(call)

    def wake(self) -> None:
        """Make :meth:`serve_while` evaluate its condition again."""
        with self._changed:
            self._changed.notify_all()

    def run(self, items: Iterator[T]) -> Iterator[T]:
        """Yield the items of an iterator that runs on a thread of its own, and make its calls. On this thread only."""
        threading.Thread(target=self._fill, args=(items,), name="pipeline-engine", daemon=True).start()
        try:
            while True:
                self.serve_while(lambda: not self._items and not self._is_over)
                with self._changed:
                    if not self._items:
                        break
                    item: T = self._items.popleft()
                    self._changed.notify_all()
                yield item
            error, self._error = self._error, None
            if error is not None:
                raise error
        finally:
            self._is_stopped = True
            self.wake()
            self.serve_while(lambda: not self._is_over)

    def _make(self, call: _Call) -> None:
        with self._changed:
            self._running_calls += 1
            self._changed.notify_all()
        try:
            call.result = call.work()
        except BaseException as error:
            call.error = error
        with self._changed:
            self._running_calls -= 1
            call.is_done = True
            self._changed.notify_all()

    def _fill(self, items: Iterator[Any]) -> None:
        """Queue the items. During a call their number is not bounded: it may need input that follows them."""
        try:
            for item in items:
                with self._changed:
                    self._changed.wait_for(self._may_queue)
                    if self._is_stopped:
                        break
                    self._items.append(item)
                    self._changed.notify_all()
            if isinstance(items, Generator):
                items.close()
        except BaseException as error:
            self._error = error
        with self._changed:
            self._is_over = True
            for call in self._calls:
                call.error, call.is_done = RuntimeError("the task of this thread has ended"), True
            self._calls.clear()
            self._changed.notify_all()

    def _may_queue(self) -> bool:
        return self._is_stopped or self._running_calls > 0 or len(self._items) < _MOST_QUEUED


_current: list[CallingThread] = []


def current() -> CallingThread | None:
    """Return the calling thread of the running task; None if the engine's own threads call functions."""
    return _current[-1] if _current else None


def with_calling_thread(items: Iterator[T]) -> Iterator[T]:
    """Yield the items of a task that runs on another thread, while this one calls its functions."""
    thread = CallingThread()
    _current.append(thread)
    try:
        yield from thread.run(items)
    finally:
        _current.remove(thread)

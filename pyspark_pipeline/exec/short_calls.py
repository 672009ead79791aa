"""The lock for loops of many short native calls.

Arrow releases the interpreter lock in each of its calls. If two drivers make thousands of calls of microseconds at the
same time, each waits for the other after every call, which takes five times as long as one loop after the other.
"""

from __future__ import annotations

import threading

#: Held by the one thread of the process that runs such a loop. The loop must not block.
SHORT_CALLS_LOCK = threading.Lock()

"""The lock for loops of many short native calls.

Arrow gives the interpreter lock away in each of its calls. Where two drivers make thousands of calls of microseconds at
once, each waits for the other after every one of them, which takes five times as long as one after the other.
"""

from __future__ import annotations

import threading

#: Held by the one thread of the process that runs such a loop; nothing that waits may be done in it.
SHORT_CALLS = threading.Lock()

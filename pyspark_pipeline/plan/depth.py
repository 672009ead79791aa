"""Recursion limit for deep plans: Python's default suffices only for plans written by hand.

Operators and expressions are trees, and the functions that decode, compile and evaluate them recurse for each level.
The JVM converts expressions of some hundred levels (``Support.scala``) and sends the depth of a fragment.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

#: The most Python calls per level, needed by the evaluation of nested ``CASE WHEN``.
_CALLS_PER_LEVEL = 16

#: Levels for which Python's default limit suffices.
_SHALLOW = 40


@contextlib.contextmanager
def raised_recursion_limit(levels: int) -> Iterator[None]:
    """Raise Python's recursion limit in a ``with`` block as needed for a plan of ``levels`` levels."""
    before = sys.getrecursionlimit()
    if levels <= _SHALLOW:
        yield
        return
    sys.setrecursionlimit(before + levels * _CALLS_PER_LEVEL)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)

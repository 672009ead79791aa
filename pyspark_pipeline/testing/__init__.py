"""Test utilities for operators: a controlled clock, calls in a given order, and runs that cannot hang.

* :class:`StepClock` in the :class:`Clocks` of an instance or of a local query: the test determines slices, overruns,
  levels and waits to the nanosecond.
* :class:`Sequencer`: orders the calls of drivers that run on several threads.
* :func:`watched` reads a run to its end, and fails with a dump of every driver if none can progress;
  :func:`wait_until_blocked` waits until drivers are blocked or done.

Examples are in ``docs/extend.md``.
"""

from pyspark_pipeline.exec.clock import Clocks, StepClock
from pyspark_pipeline.testing.sequencer import Call, OrderNotMetError, Sequencer
from pyspark_pipeline.testing.watch import StuckError, wait_until_blocked, watched

__all__ = [
    "Call",
    "Clocks",
    "OrderNotMetError",
    "Sequencer",
    "StepClock",
    "StuckError",
    "wait_until_blocked",
    "watched",
]

"""For tests of operators: time that moves when told, calls in a given order, and runs that cannot hang.

* :class:`StepClock` in the :class:`Clocks` of an instance or of a local query: slices, overruns, levels and waits are
  what the test says, to the nanosecond.
* :class:`Sequencer`: one driver makes a call only after another has made one, where threads run them.
* :func:`watched` reads a run to its end, and fails with a dump of every driver where none can go on any more;
  :func:`wait_until_blocked` waits for drivers to come to rest.

``docs/extend.md`` shows them.
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

"""A whole query in one process, without Spark: for tests, teaching and debugging.

:class:`~.query.LocalQuery` runs fragments (:mod:`~.fragment`), written by hand with :mod:`~.write` and
:mod:`~.aggregates`, or decoded by ``plan.wire.decode_fragment`` from the JSON of Spark's tasks. See ``docs/local.md``.
"""

from pyspark_pipeline.local.fragment import LocalFragment
from pyspark_pipeline.local.query import LocalQuery, run_query
from pyspark_pipeline.local.transport.local_transport import Conditions

__all__ = ["Conditions", "LocalFragment", "LocalQuery", "run_query"]

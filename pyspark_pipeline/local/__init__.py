"""A whole query in one process, without Spark: for tests, for teaching, for a debugger.

:class:`~.query.LocalQuery` runs fragments (:mod:`~.fragment`), which :mod:`~.write` and :mod:`~.aggregates` help to
write by hand and ``plan.wire.decode_fragment`` reads from the JSON that Spark's tasks get. ``docs/local.md`` shows how.
"""

from pyspark_pipeline.exchange.local_transport import Conditions
from pyspark_pipeline.local.fragment import LocalFragment
from pyspark_pipeline.local.query import LocalQuery, run_query

__all__ = ["Conditions", "LocalFragment", "LocalQuery", "run_query"]

"""The statistics of one instance, which it reports to its receivers."""

from __future__ import annotations

from pyspark_pipeline.exchange.query_statistics import QueryStatistics
from pyspark_pipeline.exchange.source import ExchangeSourceFactory
from pyspark_pipeline.exec import FragmentInstance


def statistics_of(instance: FragmentInstance) -> QueryStatistics:
    """Return the rows and bytes that an instance's scans produced and its drivers' run time; any thread, any time."""
    rows = nbytes = active = 0
    for driver in instance.drivers:
        source = driver.slots[0]
        active += driver.metrics.active_ns
        if not isinstance(source.factory, ExchangeSourceFactory) and source.factory.shared_state is None:
            rows += source.metrics.rows_out
            nbytes += source.metrics.bytes_out
    return QueryStatistics(scan_rows=rows, scan_bytes=nbytes, active_ns=active)

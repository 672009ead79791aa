"""What one instance did, as it tells those that it sends to."""

from __future__ import annotations

from pyspark_pipeline.exchange.query_statistics import QueryStatistics
from pyspark_pipeline.exchange.source import ExchangeSourceFactory
from pyspark_pipeline.exec import FragmentInstance


def statistics_of(instance: FragmentInstance) -> QueryStatistics:
    """Sum the rows and bytes that the scans of an instance gave and the time its drivers ran; any thread, any time."""
    rows = nbytes = active = 0
    for driver in instance.drivers:
        source = driver.seats[0]
        active += driver.metrics.active_ns
        if not isinstance(source.factory, ExchangeSourceFactory) and source.factory.meeting_place is None:
            rows += source.metrics.rows_out
            nbytes += source.metrics.bytes_out
    return QueryStatistics(scan_rows=rows, scan_bytes=nbytes, active_ns=active)

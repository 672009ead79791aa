"""Metrics of operators, drivers and a whole fragment instance, as plain dicts for JSON."""

from pyspark_pipeline.metrics.counter import Counter, declare_counter, declared_counters
from pyspark_pipeline.metrics.driver_metrics import DriverMetrics
from pyspark_pipeline.metrics.operator_metrics import OperatorMetrics

__all__ = ["Counter", "DriverMetrics", "OperatorMetrics", "declare_counter", "declared_counters"]

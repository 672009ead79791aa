"""The reader of CSV files (:mod:`~.format`)."""

from pyspark_pipeline.expressions.csv_fields import warm_up
from pyspark_pipeline.operators.scan.csv.format import open_csv

__all__ = ["open_csv", "warm_up"]

"""The reader of CSV files: the format and its reader (:mod:`~.format`), its options, and fields as values."""

from pyspark_pipeline.operators.scan.csv.fields import warm_up
from pyspark_pipeline.operators.scan.csv.format import open_csv

__all__ = ["open_csv", "warm_up"]

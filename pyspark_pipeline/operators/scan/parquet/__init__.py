"""The Parquet reader: one file (:mod:`~.file`), its columns and types, pruning, old calendars and encrypted files."""

from pyspark_pipeline.operators.scan.parquet.format import open_parquet

__all__ = ["open_parquet"]

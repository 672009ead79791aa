"""Scans of files: the operator (:mod:`~.file_scan`), its morsels, the contract of readers (:mod:`~.reader`), formats.

Importing a format's package registers its reader.
"""

from pyspark_pipeline.operators.scan import parquet, text

__all__ = ["parquet", "text"]

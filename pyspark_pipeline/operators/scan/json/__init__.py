"""The reader of JSON files: the format and its reader (:mod:`~.format`), its options, and lines as rows."""

from pyspark_pipeline.operators.scan.json.format import open_json

__all__ = ["open_json"]

"""The reader of text files: the format and its reader (:mod:`~.format`), the lines of a file (:mod:`~.lines`)."""

from pyspark_pipeline.operators.scan.text.format import open_text

__all__ = ["open_text"]

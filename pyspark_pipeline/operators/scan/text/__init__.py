"""The reader of text files (:mod:`~.format`)."""

from pyspark_pipeline.operators.scan.text.format import open_text

__all__ = ["open_text"]

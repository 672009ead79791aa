"""The reader of ORC files: one file (:mod:`~.file`), its metadata (:mod:`~.tail`), its columns."""

from pyspark_pipeline.operators.scan.orc.format import open_orc
from pyspark_pipeline.operators.scan.orc.streams import warm_up

__all__ = ["open_orc", "warm_up"]

"""Scans of files: the operator (:mod:`~.file_scan`), its morsels, the contract of readers (:mod:`~.reader`), formats.

Formats of lines share those of a file (:mod:`~.lines`), its row groups (:mod:`~.line_parts`), and what becomes of
malformed ones (:mod:`~.malformed`).

Importing a format's package registers its reader.
"""

from collections.abc import Callable, Sequence

from pyspark_pipeline.operators.scan import csv, json, orc, parquet, text

__all__ = ["csv", "json", "orc", "parquet", "text", "warm_up_steps"]


def warm_up_steps() -> Sequence[Callable[[], None]]:
    """Return the functions that load the kernels of readers."""
    return (csv.warm_up, orc.warm_up)

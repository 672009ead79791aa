"""The contract of a format's reader: the calls that a scan makes for each of its splits.

A *row group* is the unit of a file that one driver reads and that pruning skips as a whole: a row group of Parquet, a
stripe of ORC, a record batch of Arrow, a part of a text file. The scan knows it by the number that the reader returns.
The calls, in order::

    open → row_groups → (may_match)* → (may_match | num_rows | num_bytes | chunks)* → close

Several drivers use a reader at a time, in any threads, each for other row groups; one call of ``row_groups`` is made,
before they do. ``close`` is called when no driver uses the reader any more, also after errors and early ends.

The scan does everything that is no property of a format: it shares the row groups among drivers, appends the columns of
partition values, waits for the filters of joins and counts. It converts the errors of libraries and of the system that
opening a file and ``chunks`` raise to errors that name the file (:func:`file_error`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import unquote, urlparse

import pyarrow as pa

from pyspark_pipeline.errors import CorruptFileError, MissingFileError, PipelineError
from pyspark_pipeline.expressions.column_tests import ColumnTest
from pyspark_pipeline.expressions.registry import ExpressionSettings
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.scan.key_tests import KeyTest
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ExecutorCalendar, Field, ScanSplit
from pyspark_pipeline.plan.properties import ALL_PLAIN, RequiredOutput

#: Errors of libraries that :func:`wrap_file_errors` converts.
READ_ERRORS = (pa.ArrowException, OSError, UnicodeDecodeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """The columns that a scan reads from each of its files, and how.

    ``columns`` are found by name, in the case of the names if ``case_sensitive``; a column that the file lacks is NULL.
    ``required`` names their unused ones and allowed forms, by position. A reader may leave out rows that fail one of
    the ``tests``, or have no match by one of the ``key_tests``. ``calendar`` is the executor's data of the hybrid
    calendar, ``options`` those that the format's rule in the shim wrote, ``expressions`` the settings of the session
    for formats whose values are texts. ``filters``, bound to the columns, are those that Spark's own reader applies to
    the rows of damaged files; the rows of others need not fulfil them.
    """

    columns: tuple[Field, ...]
    required: RequiredOutput = ALL_PLAIN
    tests: Sequence[ColumnTest] = ()
    key_tests: Sequence[KeyTest] = ()
    case_sensitive: bool = False
    calendar: ExecutorCalendar = ExecutorCalendar()
    options: Mapping[str, str] = field(default_factory=dict)
    filters: tuple[Expr, ...] = ()
    expressions: ExpressionSettings = ExpressionSettings()


class FileReader(Protocol):
    """One open file, for one split. Hashable by identity."""

    def row_groups(self, split: ScanSplit) -> Sequence[int]:
        """Return the row groups of the split, in the order of the file.

        The splits of a file are the byte ranges that Spark cut; each row group belongs to exactly one of them, by a
        rule of the format.
        """

    def may_match(self, groups: Sequence[int], conjuncts: Sequence[Expr]) -> Sequence[int]:
        """Return those of ``groups`` that may hold a row for which all ``conjuncts`` are true; never too few.

        The conjuncts are bound to the scan's output: the requested columns, then partition columns, of which a reader
        knows nothing. A reader without statistics returns ``groups``.
        """

    def num_rows(self, group: int) -> int | None:
        """Return the number of rows of a row group; None if it is unknown before it is read."""

    def num_bytes(self, group: int) -> int:
        """Return the stored bytes (compressed) of the requested columns in a row group, for metrics."""

    def chunks(self, group: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield a row group as chunks of the requested columns, of 1 to ``batch_rows`` rows each.

        A column has the Arrow type of its field; a string column may be dictionary-encoded (int32 indices), and
        ``required`` allows further forms. Not called if there is no requested column and ``num_rows`` is known.
        """

    def close(self) -> None:
        """Release the file. Raises nothing."""


def null_chunks(columns: Sequence[Field], num_rows: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield chunks of ``num_rows`` rows in all, in which every column is NULL."""
    for start in range(0, num_rows, batch_rows):
        rows = min(num_rows - start, batch_rows)
        yield make_chunk([pa.nulls(rows, column.type.arrow) for column in columns], rows)


@contextmanager
def wrap_file_errors(path: str, format_name: str) -> Iterator[None]:
    """Convert errors of libraries to those of :func:`file_error`."""
    try:
        yield
    except PipelineError:
        raise
    except READ_ERRORS as error:
        raise file_error(path, format_name, error) from error


def file_error(path: str, format_name: str, error: Exception) -> CorruptFileError:
    """Return the error that names the file: :class:`MissingFileError` or :class:`CorruptFileError`."""
    if isinstance(error, FileNotFoundError):
        return MissingFileError(f"{path} does not exist", path)
    return CorruptFileError(f"{path} could not be read as {format_name}: {error}", path)


def local_path(path: str) -> str:
    """Return the local path of a path or ``file:`` URI; raise :class:`CorruptFileError` for another scheme."""
    if not path.startswith("file:"):
        if "://" in path:
            raise CorruptFileError(f"{path} is not on a local file system", path)
        return path
    return unquote(urlparse(path).path)

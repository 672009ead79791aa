"""The error tree: the origin of an error decides its class, and the class decides the user's message.

Every class pickles (the arguments of ``__init__`` are the positional ``args``), because errors cross
processes. Only the driver adds the operator in which an error happened (see ``exec``).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType

#: The query context of expressions that Spark adds to a query: it has neither text nor position.
EMPTY_CONTEXT = -2


class PipelineError(Exception):
    """Root of every error the engine raises on purpose."""


class SparkConditionError(PipelineError):
    """The user's data violated a rule of Spark; carries Spark's own error condition.

    ``exception`` is the simple name of Spark's exception class (``SparkArithmeticException``),
    ``condition`` the error condition (``DIVIDE_BY_ZERO``), ``parameters`` its message parameters and
    ``context`` the index of the query context of the expression, -1 without one, or :data:`EMPTY_CONTEXT`. The JVM
    raises it.
    ``rows_before`` is the number of rows of the evaluated chunk before the one that raised: these are valid.
    """

    rows_before: int = 0

    def __init__(
        self, exception: str, condition: str, parameters: Mapping[str, str] | None = None, context: int = -1
    ) -> None:
        super().__init__(exception, condition, dict(parameters or {}), context)
        self.exception = exception
        self.condition = condition
        self.parameters = dict(parameters or {})
        self.context = context

    def __str__(self) -> str:
        return f"[{self.condition}] {self.exception} {self.parameters}"


class SparkFailureError(SparkConditionError):
    """An expression that Spark evaluates for the engine raised in the executor's JVM, which keeps error ``number``."""

    def __init__(self, number: int) -> None:
        super().__init__("Exception", "")
        self.args = (number,)
        self.number = number

    def __str__(self) -> str:
        return f"error {self.number} of an expression that Spark evaluates"


class UserFunctionError(PipelineError):
    """A user's function raised ``error``, whose ``trace`` begins in Spark's code or the user's."""

    def __init__(self, message: str, error: BaseException, trace: TracebackType | None) -> None:
        super().__init__(message)
        self.error = error
        self.trace = trace


class UnsupportedPlanError(PipelineError):
    """The engine does not support a part of a plan; raised during planning only."""


class UnsupportedValueError(PipelineError):
    """A function met a value for which only Spark computes Spark's result; the message names function and value."""


class CorruptFileError(PipelineError):
    """A file is not readable in the format of the plan; the message names the file, ``path`` is its local path."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message, path)
        self.path = path

    def __str__(self) -> str:
        return str(self.args[0])


class MissingFileError(CorruptFileError):
    """A file no longer exists."""


class FooterError(CorruptFileError):
    """The footer of a Parquet file is not readable; the JVM reads it again, to raise what Spark raises."""


class DuplicateColumnError(CorruptFileError):
    """The columns ``found`` of a file have the name ``wanted`` when case does not count."""

    def __init__(self, message: str, path: str, wanted: str, found: tuple[str, ...]) -> None:
        super().__init__(message, path)
        self.args = (message, path, wanted, found)
        self.wanted = wanted
        self.found = found


class ColumnTypeError(CorruptFileError):
    """Spark does not read a column of a file as the type of the schema.

    ``column`` is the column's path in the file, ``expected`` the Spark type, ``found`` the type in the file.
    """

    def __init__(self, message: str, path: str, column: str, expected: str, found: str) -> None:
        super().__init__(message, path)
        self.args = (message, path, column, expected, found)
        self.column = column
        self.expected = expected
        self.found = found


class AncientDatetimeError(PipelineError):
    """A date or timestamp to write is before the time from which old and new calendars agree.

    ``format`` is Spark's name of the form in which it would be written.
    """

    def __init__(self, format: str) -> None:
        super().__init__(format)
        self.format = format


class ResourceExhaustedError(PipelineError):
    """A resource ran out; the message has the requested amount, the reserved amount, the limit and the holders.

    ``names_holders``: the message has all of these; otherwise the driver adds what the operator's memory tracker knows.
    """

    def __init__(self, message: str, *, names_holders: bool = False) -> None:
        super().__init__(message)
        self.names_holders = names_holders


class ShuffleBlockError(PipelineError):
    """A block of Spark's shuffle is missing or damaged; the message names its place, the other arguments the block."""

    def __init__(self, message: str, shuffle: int, map_id: int, map_index: int, reduce: int) -> None:
        super().__init__(message, shuffle, map_id, map_index, reduce)
        self.message = message
        self.shuffle = shuffle
        self.map_id = map_id
        self.map_index = map_index
        self.reduce = reduce

    def __str__(self) -> str:
        return self.message


class TransportError(PipelineError):
    """A request between two instances did not arrive; names the request and its fate."""


class CancelledError(PipelineError):
    """The query was cancelled before it had returned all its rows."""


class EngineBugError(PipelineError):
    """The engine violated one of its invariants; please report it with the message."""


class WorkerStartError(PipelineError):
    """A Python worker cannot import the engine; names the interpreter and the import error."""


class CaptureError(PipelineError):
    """A task could not be captured, or a capture could not be read; names the folder or file."""


class OptionError(PipelineError, ValueError):
    """An option or an argument is unknown or its value is not allowed; names it, its value and the allowed values."""

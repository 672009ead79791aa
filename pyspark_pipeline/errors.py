"""The error tree: whose fault it was decides the class, and the class decides what the user sees.

Every class pickles (the arguments of ``__init__`` are the positional ``args``), because errors cross
processes. The driver alone adds where an error happened (see ``exec``).
"""

from __future__ import annotations

from collections.abc import Mapping


class PipelineError(Exception):
    """Root of every error the engine raises on purpose."""


class SparkConditionError(PipelineError):
    """The user's data broke a rule of Spark; carries Spark's own error condition.

    ``exception`` is the simple name of Spark's exception class (``SparkArithmeticException``),
    ``condition`` the error condition (``DIVIDE_BY_ZERO``), ``parameters`` its message parameters and
    ``context`` the index of the query context of the expression, or -1. The JVM raises it.
    """

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


class UserFunctionError(PipelineError):
    """A function of the user's raised; the cause and its traceback are kept in the message."""


class UnsupportedPlanError(PipelineError):
    """A plan holds something the engine does not run; raised while planning only."""


class CorruptFileError(PipelineError):
    """A file could not be read as what the plan says it is; the message names the file."""


class ResourceExhaustedError(PipelineError):
    """A resource ran out: says what was asked for, what was held, the limit and who holds it.

    ``tells_holders``: whether the message says all that; else the driver adds what the operator's memory knows.
    """

    def __init__(self, message: str, *, tells_holders: bool = False) -> None:
        super().__init__(message)
        self.tells_holders = tells_holders


class TransportError(PipelineError):
    """A request between two instances did not arrive; names the request and what became of it."""


class CancelledError(PipelineError):
    """The query was told to stop before it had given all its rows."""


class EngineBugError(PipelineError):
    """The engine did something it promises not to; please report it with the message."""


class CaptureError(PipelineError):
    """A task could not be captured, or a capture could not be read; names the folder or file."""


class OptionError(PipelineError, ValueError):
    """An option or an argument is unknown or its value not allowed; names it, its value and what is allowed."""

"""Finds the root cause of a failed Spark program in its standard error."""

from __future__ import annotations

import re

# An exception as Python and the JVM print it: its class, and its message on the same line.
_EXCEPTION = re.compile(
    r'(?:: |Caused by: |Exception in thread "[^"]*" )?'
    r"(?P<name>(?:[\w$]+\.)*[A-Z][\w$]*(?:Error|Exception))(?:: ?(?P<message>.*))?"
)
_UNINFORMATIVE = ("Traceback (most recent call last)", "An error occurred while calling", "Job aborted due to stage")
# The driver reports this after the JVM exited with an exception of its own.
_CONSEQUENCE = "JAVA_GATEWAY_EXITED"


def root_cause(output: str) -> str | None:
    """Return class and message of the exception that caused the others; None if there is no exception in ``output``.

    Python and the JVM print a cause after its consequence, so it is the last exception that has a message.
    """
    found = [match for match in map(_EXCEPTION.fullmatch, output.splitlines()) if match is not None]
    informative = [match for match in found if match["message"] and not match["message"].startswith(_UNINFORMATIVE)]
    causes = [match for match in informative if _CONSEQUENCE not in match["message"]] or informative or found
    if not causes:
        return None
    name, message = causes[-1]["name"], causes[-1]["message"]
    return f"{name.rpartition('.')[2]}: {message}" if message else name

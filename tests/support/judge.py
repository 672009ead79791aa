"""Judges one statement of a gold file: compares both outcomes and the conversion with the file's expectation.

A statement that should test the engine but did not run in it is *vacuous*, which is a failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.compare import Rule, difference
from tests.support.conversion import Conversion
from tests.support.goldfile import Expectation
from tests.support.sessions import Outcome

_MESSAGE_LENGTH = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One failure of a statement: ``kind`` is gold-file, error, rows, vacuous or conversion."""

    kind: str
    text: str


def judge(expected: Expectation, rule: Rule, vanilla: Outcome, pipeline: Outcome | None) -> list[Fault]:
    """Return the faults of a statement; if ``pipeline`` is None, only the file is checked against vanilla Spark."""
    faults = list(_file_faults(expected, vanilla))
    if pipeline is not None and not faults:
        faults += _answer_faults(rule, vanilla, pipeline)
        if expected.kind != "rejected":
            faults += _conversion_faults(expected, pipeline.conversion)
    return faults


def _file_faults(expected: Expectation, vanilla: Outcome) -> Iterator[Fault]:
    condition = vanilla.error[1] if vanilla.error else None
    fails = expected.kind in ("error", "rejected")
    if fails and vanilla.error is None:
        yield Fault(kind="gold-file", text=f"vanilla Spark raises nothing, the file expects {expected}")
    elif fails and (condition or "") != expected.detail:
        yield Fault(kind="gold-file", text=f"vanilla Spark raises {vanilla.error}, the file expects {expected}")
    elif not fails and vanilla.error is not None:
        yield Fault(kind="gold-file", text=f"vanilla Spark raises {vanilla.error}: {_shortened(vanilla.message)}")


def _answer_faults(rule: Rule, vanilla: Outcome, pipeline: Outcome) -> Iterator[Fault]:
    if vanilla.error != pipeline.error:
        message = _shortened(pipeline.message)
        yield Fault(kind="error", text=f"vanilla Spark: {vanilla.error}, pipeline: {pipeline.error} {message}")
    elif rule.exact_errors and condition_text(vanilla) != condition_text(pipeline):
        texts = f"vanilla Spark: {condition_text(vanilla)!r}, pipeline: {condition_text(pipeline)!r}"
        yield Fault(kind="error", text=f"the messages differ: {texts}")
    elif vanilla.rows is not None and pipeline.rows is not None:
        text = difference(vanilla.rows, pipeline.rows, rule)
        if text is not None:
            yield Fault(kind="rows", text=text)


def condition_text(outcome: Outcome) -> str | None:
    """Return the message of a condition, its query context included; None for an error without a condition."""
    has_condition = outcome.error is not None and outcome.error[1] is not None
    return outcome.message.split("\n\nJVM stacktrace:")[0].rstrip() if has_condition else None


def _shortened(message: str) -> str:
    """Return both ends of ``message``: Spark's condition is first, the last frame of a Python traceback last."""
    half = _MESSAGE_LENGTH // 2
    return message if len(message) <= 2 * half else f"{message[:half]} … {message[-half:]}"


def _conversion_faults(expected: Expectation, done: Conversion | None) -> Iterator[Fault]:
    if done is None:
        yield Fault(kind="conversion", text="the engine reported no conversion")
        return
    reason_found = not expected.detail or any(re.search(expected.detail, reason) for reason in done.reasons)
    if expected.kind in ("converted", "some", "partly", "error") and done.converted == 0:
        yield Fault(kind="vacuous", text=str(done))
    elif expected.kind == "converted" and done.converted != done.operators:
        yield Fault(kind="conversion", text=f"not all converted: {done}")
    elif expected.kind == "partly" and (done.converted >= done.operators or not reason_found):
        yield Fault(kind="conversion", text=f"expected {expected}: {done}")
    elif expected.kind == "declined" and (done.converted > 0 or not done.reasons or not reason_found):
        yield Fault(kind="conversion", text=f"expected {expected}: {done}")

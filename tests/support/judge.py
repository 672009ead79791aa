"""Judge one statement of a gold file: the two outcomes and the conversion against what the file expects.

A statement that should prove the engine right but ran nowhere in it is *vacuous*, which is a failure.
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
    """One thing that is wrong with a statement: ``kind`` is gold-file, error, rows, vacuous or conversion."""

    kind: str
    text: str


def judge(expected: Expectation, rule: Rule, vanilla: Outcome, pipeline: Outcome | None) -> list[Fault]:
    """List the faults of a statement; with ``pipeline`` None only the file is checked against vanilla Spark."""
    faults = list(_file_faults(expected, vanilla))
    if pipeline is not None and not faults:
        faults += _answer_faults(rule, vanilla, pipeline)
        faults += _conversion_faults(expected, pipeline.conversion)
    return faults


def _file_faults(expected: Expectation, vanilla: Outcome) -> Iterator[Fault]:
    condition = vanilla.error[1] if vanilla.error else None
    if expected.kind == "error" and vanilla.error is None:
        yield Fault(kind="gold-file", text=f"vanilla Spark raises nothing, the file expects {expected}")
    elif expected.kind == "error" and condition != expected.detail:
        yield Fault(kind="gold-file", text=f"vanilla Spark raises {vanilla.error}, the file expects {expected}")
    elif expected.kind != "error" and vanilla.error is not None:
        yield Fault(kind="gold-file", text=f"vanilla Spark raises {vanilla.error}: {_shortened(vanilla.message)}")


def _answer_faults(rule: Rule, vanilla: Outcome, pipeline: Outcome) -> Iterator[Fault]:
    if vanilla.error != pipeline.error:
        message = _shortened(pipeline.message)
        yield Fault(kind="error", text=f"vanilla Spark: {vanilla.error}, pipeline: {pipeline.error} {message}")
    elif vanilla.rows is not None and pipeline.rows is not None:
        text = difference(vanilla.rows, pipeline.rows, rule)
        if text is not None:
            yield Fault(kind="rows", text=text)


def _shortened(message: str) -> str:
    """Keep both ends: Spark's condition stands first, the last frame of a Python traceback last."""
    half = _MESSAGE_LENGTH // 2
    return message if len(message) <= 2 * half else f"{message[:half]} … {message[-half:]}"


def _conversion_faults(expected: Expectation, done: Conversion | None) -> Iterator[Fault]:
    if done is None:
        yield Fault(kind="conversion", text="the engine did not say what it converted")
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

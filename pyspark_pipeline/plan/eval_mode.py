"""The evaluation mode of arithmetic and casts (Spark's ``EvalMode``): what an overflow or an invalid input becomes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from pyspark_pipeline.errors import EngineBugError

_FIELD = "evalMode"


class EvalMode(Enum):
    """ANSI raises Spark's error; LEGACY wraps around or returns NULL as the function defines; TRY returns NULL."""

    ANSI = "ANSI"
    LEGACY = "LEGACY"
    TRY = "TRY"

    @property
    def raises(self) -> bool:
        """Whether an overflow or an invalid input raises an error."""
        return self is EvalMode.ANSI


def eval_mode(name: str, fields: Mapping[str, Any]) -> EvalMode:
    """Return the mode among the ``fields`` of a call of ``name``; raise :class:`EngineBugError` if it has none."""
    try:
        return EvalMode(fields[_FIELD])
    except (KeyError, ValueError):
        raise EngineBugError(f"{name} has no evaluation mode, but {fields}") from None


def fields_of_mode(mode: EvalMode) -> dict[str, str]:
    """Return the fields of a call that has the mode."""
    return {_FIELD: mode.value}


def has_eval_mode(fields: Mapping[str, Any]) -> bool:
    """Return whether a call with these fields has an evaluation mode."""
    return _FIELD in fields


def mode_fields(*modes: EvalMode) -> dict[str, list[str]]:
    """Return the condition of a case for calls with one of ``modes``; of all if none is named."""
    return {_FIELD: [mode.value for mode in modes or EvalMode]}

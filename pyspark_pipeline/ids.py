"""Distinct types for the ids of the engine, so that one id cannot be passed for another.

A *pipeline* is numbered within its fragment instance, a *driver* within its pipeline, an *operator* by
its index in the driver (0 is the source); an *input* is numbered within its fragment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

PipelineId = NewType("PipelineId", int)
DriverSequence = NewType("DriverSequence", int)
OperatorIndex = NewType("OperatorIndex", int)
InputId = NewType("InputId", int)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorId:
    """The identity of one operator: pipeline, driver of the pipeline, index in the driver, name of its factory.

    ``instance`` names the fragment instance if a process runs several of one query.
    """

    pipeline: PipelineId
    driver: DriverSequence
    index: OperatorIndex
    name: str
    instance: str = ""

    def __str__(self) -> str:
        where = f", {self.instance}" if self.instance else ""
        return f"operator {self.index} ({self.name}) of pipeline {self.pipeline}, driver {self.driver}{where}"

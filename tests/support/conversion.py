"""The only module of the tests that uses the extension itself: installs it, and reads its conversion report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """The conversion of an executed plan: all operators, converted ones, transitions, reasons for the others."""

    operators: int
    converted: int
    transitions: int
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.converted} of {self.operators} operators, {self.transitions} transitions, {list(self.reasons)}"


def install(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Add the extension to a session's settings."""
    from pyspark_pipeline.spark.install import install as with_extension  # here: --vanilla needs no extension

    return with_extension(builder)


def summary_of(frame: DataFrame) -> Conversion:
    """Return the conversion of the plan that ``frame`` ran."""
    from pyspark_pipeline.spark import explain  # here: as in ``install``

    summary = explain.summary(frame)
    return Conversion(
        operators=int(summary["operators"]),
        converted=int(summary["converted"]),
        transitions=int(summary["transitions"]),
        reasons=tuple(str(reason) for reason in summary["reasons"]),
    )


def plan_nodes(plan: Any) -> Iterator[Any]:
    """Yield the nodes of an executed plan of the JVM, those of its finished stages too; no operators of fragments."""
    pending = [plan]
    while pending:
        node = pending.pop()
        yield node
        name = node.getClass().getSimpleName()
        if name == "AdaptiveSparkPlanExec":
            pending.append(node.executedPlan())
        elif name.endswith("QueryStageExec"):
            pending.append(node.plan())
        children = node.children()
        pending += [children.apply(i) for i in range(children.size())]

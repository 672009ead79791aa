"""The only module of the tests that uses the extension itself: installs it, and reads its conversion report."""

from __future__ import annotations

from dataclasses import dataclass

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

"""The only place where the tests touch the extension itself: install it, and ask what it converted."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What became of an executed plan: operators of all, converted ones, transitions, reasons for the rest."""

    operators: int
    converted: int
    transitions: int
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.converted} of {self.operators} operators, {self.transitions} transitions, {list(self.reasons)}"


def install(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Put the extension into a session's settings."""
    from pyspark_pipeline.spark.install import install as with_extension  # here: --vanilla needs no extension

    return with_extension(builder)


def summary_of(frame: DataFrame) -> Conversion:
    """Ask what of the plan that ``frame`` ran was converted."""
    from pyspark_pipeline.spark import explain  # here: as in ``install``

    summary = explain.summary(frame)
    return Conversion(
        operators=int(summary["operators"]),
        converted=int(summary["converted"]),
        transitions=int(summary["transitions"]),
        reasons=tuple(str(reason) for reason in summary["reasons"]),
    )

"""The text of a physical plan without what differs from run to run: expression ids, plan ids, paths."""

from __future__ import annotations

import re
from itertools import dropwhile

from pyspark.sql import DataFrame

_WIDTH = 180
_DETAILS = re.compile(r"\((.{50}).*\)$")
_DROPPED = re.compile(
    r"#\d+L?|, \[plan_id=\d+\]|, \[id=\d*\]|(?<=PipelineFragment) \d+| \[fragment \d+\]| Batched: .*"
)


def outline(frame: DataFrame) -> str:
    """Return the plan of ``frame`` as Spark prints it, the counts of its operators, the decisions of the policies, and
    why some operators stay in Spark.

    With adaptive execution it is the plan before the first stage runs.
    """
    plan = frame._jdf.queryExecution().executedPlan()
    counts, *report = frame.sparkSession._jvm.org.apache.spark.sql.pysparkpipeline.PlanReport.text(plan).split("\n")
    after_fragments = dropwhile(lambda line: line.startswith(("fragment ", "  pipeline ")), report)
    tree = [_shortened(_DROPPED.sub("", line))[:_WIDTH] for line in plan.treeString().rstrip("\n").split("\n")]
    rest = [_DROPPED.sub("", line) for line in (counts.split(";")[0], *after_fragments)]
    return "\n".join(line.rstrip() for line in [*tree, *rest])


def _shortened(line: str) -> str:
    """Shorten the details of the operators of a pipeline: explain abbreviates them by a length that counts the ids."""
    if "pipeline " not in line:
        return line
    return " → ".join(_DETAILS.sub(r"(\1…)", operator) for operator in line.split(" → "))

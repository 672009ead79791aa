"""The manifest of everything the engine supports, as JSON for the shim: ``python -m pyspark_pipeline.manifest``.

Every function, operator, option and metric is declared beside its implementation; this module only collects them.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark_pipeline import expressions, operators
from pyspark_pipeline.options import OPTIONS
from pyspark_pipeline.task.statistics import JVM_METRICS, METRICS


def build_manifest() -> dict[str, Any]:
    """Build the manifest."""
    return {
        "version": 1,
        "expressions": expressions.manifest(),
        **operators.manifest(),
        "options": [
            {
                "key": option.key,
                "kind": option.kind,
                "default": option.default,
                "choices": list(option.choices),
                "minimum": option.minimum,
                "maximum": option.maximum,
                "allowed": option.allowed,
            }
            for option in OPTIONS.values()
        ],
        "metrics": [
            {
                "name": metric.name,
                "description": metric.description,
                "kind": metric.kind,
                "operators": list(metric.operators),
                "shown": metric.shown,
            }
            for metric in (*METRICS, *JVM_METRICS)
        ],
    }


if __name__ == "__main__":
    print(json.dumps(build_manifest(), indent=1, sort_keys=True))

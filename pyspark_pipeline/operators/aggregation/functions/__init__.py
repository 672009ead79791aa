"""Aggregate functions: their states, buffers and results. Importing this package registers those of all its modules."""

import importlib
import pkgutil

from pyspark_pipeline.operators.aggregation.functions.registry import (
    aggregate_cases,
    aggregate_manifest,
    build_function,
)
from pyspark_pipeline.operators.aggregation.functions.state import warm_up_steps

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["aggregate_cases", "aggregate_manifest", "build_function", "warm_up_steps"]

"""Joins: one side is built into a table, the other streams past it.

Contents: which columns are needed (:mod:`~.columns`), the built side (:mod:`~.build_side`) and its sink
(:mod:`~.build`), what the drivers of both pipelines share (:mod:`~.shared`), the condition beside the keys
(:mod:`~.residual`), what comes out for a probe chunk (:mod:`~.emission`), the probe (:mod:`~.probe`), runtime
filters (:mod:`~.trace`, :mod:`~.key_conditions`, :mod:`~.row_filter`), and how a node becomes these
(:mod:`~.decompose`).
"""

from pyspark_pipeline.operators.joins import decompose

__all__ = ["decompose"]

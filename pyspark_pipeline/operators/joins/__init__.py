"""Joins: a hash table is built of one side, the other side probes it.

Contents: the columns a join needs (:mod:`~.columns`), the build side (:mod:`~.build_side`) and its sink
(:mod:`~.build`), the state shared by the drivers of both pipelines (:mod:`~.shared`), the residual condition
(:mod:`~.residual`), the output for a probe chunk (:mod:`~.join_output`), the probe (:mod:`~.probe`), runtime
filters (:mod:`~.key_lineage`, :mod:`~.key_conditions`, :mod:`~.row_filter`), and the decomposition of a join node into
pipelines (:mod:`~.decompose`).
"""

from pyspark_pipeline.operators.joins import decompose

__all__ = ["decompose"]

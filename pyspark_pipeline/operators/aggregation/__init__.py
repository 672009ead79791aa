"""Aggregation: grouping, its streaming and blocking operators, and spilling.

Contents: the decomposition of an aggregate node (:mod:`~.aggregate`), the groups (:mod:`~.aggregator`), the partial
operator, which flushes and abandons (:mod:`~.streaming`), the final sink and source (:mod:`~.blocking`), spilling
(:mod:`~.spill`), and the aggregate functions with their states (:mod:`~.functions`).
"""

"""TPC-H: data by ``tpchgen-cli``, the 22 queries of the specification, both engines alternately in one run.

``python -m benchmarks.tpch --scale 1 --queries 1,6 --runs 3 --json FILE``
"""

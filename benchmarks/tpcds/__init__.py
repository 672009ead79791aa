"""TPC-DS: data and texts of DuckDB's extension, the 103 statements of 99 queries, both engines alternately.

``python -m benchmarks.tpcds --scale 1 --queries 1,14,23a --runs 3 --json FILE``
"""

"""Benchmarks: each runs vanilla Spark and the pipeline engine in turn, and compares their answers."""

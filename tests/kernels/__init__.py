"""Tests of pyspark_pipeline.kernels."""

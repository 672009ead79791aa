"""Tests of pyspark_pipeline.operators."""

"""Tests of pyspark_pipeline.exchange."""

"""Tests of pyspark_pipeline; the folders mirror the package."""

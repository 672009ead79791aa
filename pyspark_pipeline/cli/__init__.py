"""The ``pyspark-pipeline`` command."""

"""The cases of Spark's own tests of Python functions (``pyspark.sql.tests``), compared with Spark."""

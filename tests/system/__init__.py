"""Tests of whole processes as a user runs them: spark-submit, the SQL shell, killed workers, broken files."""

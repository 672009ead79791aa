"""Whole processes as a user runs them: spark-submit, the SQL shell, dying workers, broken files."""

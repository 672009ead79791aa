"""Writes of files: the operator, the columns and the footers of Parquet files."""

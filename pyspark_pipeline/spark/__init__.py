"""The integration with Spark: install, the worker's entry point and daemon, explain."""

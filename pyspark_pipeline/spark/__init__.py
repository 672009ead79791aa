"""The glue to Spark: installing, the worker's entry point and daemon, explain."""

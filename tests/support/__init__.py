"""Support shared by the tests: comparing results, the session that runs both engines, tables, gold files."""

"""What the tests share: comparing results, the session that is both engines, tables, gold files."""

"""Random queries over the nasty tables, answered by both engines."""

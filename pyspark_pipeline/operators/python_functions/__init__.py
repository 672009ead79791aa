"""The user's Python functions as operators. Spark's own worker code calls them, so its conversions and checks apply."""

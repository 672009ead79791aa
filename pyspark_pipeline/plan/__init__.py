"""The plan of a fragment: nodes, expressions, and their form on the wire."""

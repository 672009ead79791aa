"""The plan of a fragment: nodes, expressions, and their decoding from the wire."""

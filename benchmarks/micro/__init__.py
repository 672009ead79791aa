"""Nanoseconds per row of the engine's kernels and of the operators built on them."""

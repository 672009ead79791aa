"""Compiled kernels: arrays in, arrays out; they know no plan, no operator and no Spark."""

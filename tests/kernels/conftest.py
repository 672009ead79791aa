"""The Spark session that is the oracle of these tests."""

from tests.kernels.vanilla import vanilla

__all__ = ["vanilla"]

"""One vanilla Spark session, the oracle of these tests."""

from tests.kernels.conftest import spark

__all__ = ["spark"]

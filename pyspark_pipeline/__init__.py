"""A pipeline executor for Apache Spark: eligible parts of a plan run as Arrow-batched operators in Python workers."""

from pyspark_pipeline.version import __version__

__all__ = ["__version__", "assert_same_rows", "explain", "install", "profile", "timeline"]


def __getattr__(name: str) -> object:
    """Load the session modules on first use: workers and the build do not need them."""
    if name == "install":
        from pyspark_pipeline.spark.install import install

        return install
    if name == "explain":
        from pyspark_pipeline.spark.explain import explain

        return explain
    if name == "assert_same_rows":
        from pyspark_pipeline.spark.same_rows import assert_same_rows

        return assert_same_rows
    if name in ("profile", "timeline"):
        from pyspark_pipeline.spark import profile

        return getattr(profile, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

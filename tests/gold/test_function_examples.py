"""The page of SQL functions is fresh: the examples that it counts convert."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.function_examples import examples, page
from tests.support.processes import ROOT
from tests.support.sessions import spark_minor


def test_page_of_sql_functions_is_fresh(spark: SparkSession, vanilla_only: bool) -> None:
    if vanilla_only or spark_minor() != "4.1":
        pytest.skip("the page counts for the extension on Spark 4.1")
    path = ROOT / "docs" / "reference" / "sql-functions.md"
    made = page(examples(spark))
    assert made.splitlines() == path.read_text(encoding="utf-8").splitlines()

"""The pandas API on Spark: its jobs give what they give without the extension, and their plans convert."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from tests.support.conversion import summary_of
from tests.support.python_functions import FREE
from tests.support.sessions import ENABLED, configured

ps = pytest.importorskip("pyspark.pandas")

pytestmark = [
    pytest.mark.usefixtures("extension"),
    pytest.mark.rotates,
    pytest.mark.filterwarnings("ignore"),
]

_ROWS = 5000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Parquet file of keys, numbers, texts, timestamps and flags."""
    number = np.arange(_ROWS)
    frame = pd.DataFrame({
        "k": number * 7 % 50,
        "x": (number * 37 % 1009) / 8,
        "s": [f"a{i % 13}" if i % 7 else None for i in range(_ROWS)],
        "t": pd.Timestamp("2020-01-01") + pd.to_timedelta(number * 7919, "s"),
        "b": number % 3 == 0,
    })  # fmt: skip
    file = tmp_path_factory.mktemp("pandas_api") / "rows.parquet"
    frame.to_parquet(file, coerce_timestamps="us")
    return file


def _first_rows(frame: Any) -> Any:
    def first(group) -> ps.DataFrame[int, float]:  # type: ignore[no-untyped-def]  # noqa: ANN001
        return pd.DataFrame({"k": group["k"].head(2), "x": group["x"].head(2)})

    first.__annotations__["return"] = ps.DataFrame[int, float]  # the annotations of this module are texts
    return frame.groupby("k").apply(first)


def _counted(frame: Any) -> Any:
    counts = frame.groupby("k").size().rename("n").reset_index()
    return frame.head(700).merge(counts, on="k").sort_values(["k", "x", "t"])[["k", "x", "n"]].reset_index(drop=True)


_JOBS: dict[str, Callable[[Any], Any]] = {
    "describe": lambda frame: frame[["k", "x"]].describe(),
    "aggregates of groups": lambda frame: frame.groupby("k").agg({"x": ["sum", "max"], "s": "count"}).sort_index(),
    "apply to groups, typed": _first_rows,
    "apply to groups": lambda frame: frame.groupby("k")[["x"]].apply(lambda group: group.head(1)).sort_index(),
    "map": lambda frame: frame["k"].map(lambda value: value + 1.5),
    "apply to rows": lambda frame: frame[["k", "x"]].apply(lambda row: row["k"] + row["x"], axis=1),
    "apply to batches": lambda frame: frame[["k", "x"]].pandas_on_spark.apply_batch(lambda part: part[part["x"] > 99]),
    "transform": lambda frame: frame.groupby("k")["x"].transform(lambda values: values - values.min()).sort_index(),
    "merge": _counted,
    "sort": lambda frame: frame.sort_values(["k", "x", "t"]).head(30),
    "counts of texts": lambda frame: frame["s"].str.upper().value_counts().sort_index(),
    "fill": lambda frame: frame.fillna({"s": "none"}).groupby("s")["k"].sum().sort_index(),
    "pivot": lambda frame: frame.pivot_table(index=["k"], columns="s", values="x", aggfunc="sum").sort_index(),
    "rolling": lambda frame: frame.head(500)["x"].rolling(3).sum(),
    "months": lambda frame: frame["t"].dt.month.value_counts().sort_index(),
    "rank": lambda frame: frame.head(800)["x"].rank(),
    "running sum": lambda frame: frame.head(800)["x"].cumsum(),
    "quantiles": lambda frame: frame["x"].quantile([0.1, 0.5]),
    "distinct": lambda frame: frame[["k", "s"]].drop_duplicates().sort_values(["k", "s"]),
    "positions": lambda frame: frame.iloc[10:20],
}


@pytest.mark.parametrize("job", _JOBS)
def test_job_gives_what_spark_gives(spark: SparkSession, path: Path, job: str) -> None:
    results = []
    for engine in ("false", "true"):
        with configured(spark, {**FREE, ENABLED: engine}):
            made = _JOBS[job](ps.read_parquet(str(path)))
            results.append(made.to_pandas())
            frame = made.to_frame() if isinstance(made, ps.Series) else made
            plan = frame.spark.frame()
            plan.collect()
    (expected, found), summary = results, summary_of(plan)
    (pd.testing.assert_series_equal if isinstance(found, pd.Series) else pd.testing.assert_frame_equal)(found, expected)
    assert summary.converted > 1 or job == "describe", summary.reasons  # describe makes its frame in the driver

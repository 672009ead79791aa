"""A check for tests: a query gives the same rows in the engine as in Spark, and the engine did run it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark_pipeline.launch import ENABLED
from pyspark_pipeline.spark.explain import explain

#: Small frames of a test are worth a fragment too.
_SMALL = {"spark.pysparkPipeline.cost.minScanBytes": "0"}
_MOST_SHOWN = 4


def assert_same_rows(make: Callable[[], Any], *, runs: str = "") -> list[Any]:
    """Collect the DataFrame that ``make`` returns without and with the extension; return the rows, in any order.

    Raises AssertionError if the rows differ, in values, types or names of columns, or if no fragment has an operator
    whose text in ``explain`` contains ``runs`` (``"[f]"``: the function ``f``); ``""`` accepts any. Raises
    :class:`~pyspark_pipeline.spark.frames.SessionError` if the session runs without the extension.
    """
    session = make().sparkSession
    with _configured(session, {**_SMALL, ENABLED: "false"}):
        expected = make().collect()
    with _configured(session, {**_SMALL, ENABLED: "true"}):
        frame = make()
        rows: list[Any] = frame.collect()
        report = explain(frame)
    left, right = Counter(map(repr, expected)), Counter(map(repr, rows))
    if left != right:
        missing, added = list((left - right).elements()), list((right - left).elements())
        raise AssertionError(
            f"{len(expected)} rows of Spark, {len(rows)} of the engine\n{_shown('only in Spark', missing)}"
            f"\n{_shown('only in the engine', added)}"
        )
    if not any(runs in pipeline for fragment in report.fragments for pipeline in fragment.pipelines):
        raise AssertionError(f"no fragment runs {runs or 'any operator'}:\n{report.text}")
    return rows


def _shown(title: str, rows: list[str]) -> str:
    more = f" … {len(rows) - _MOST_SHOWN} more" if len(rows) > _MOST_SHOWN else ""
    return f"{title}: {', '.join(rows[:_MOST_SHOWN]) or 'none'}{more}"


@contextmanager
def _configured(session: Any, settings: Mapping[str, str]) -> Iterator[None]:
    """Set settings for the duration of a ``with`` block."""
    before = {key: session.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            session.conf.set(key, value)
        yield
    finally:
        for key, value in before.items():
            session.conf.unset(key) if value is None else session.conf.set(key, value)

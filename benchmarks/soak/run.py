"""Runs the queries of the soak in a session of its own process, and samples its resources every few queries."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.session import PIPELINE, start
from benchmarks.small import make_tables
from benchmarks.soak.queries import KINDS
from benchmarks.soak.trend import table, trends, verdict
from benchmarks.soak.watch import SPILLED, TOLERANCES, SessionWatch


def soak(conf: Mapping[str, str], queries: int, every: int, minutes: float) -> dict[str, Any]:
    """Run ``queries`` in a session with the extension, with a sample after ``every`` so many; return all results.

    The results are samples, trends and verdict. The first sample after ``minutes`` is the last.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        local = {"spark.local.dir": str(folder / "local"), "spark.sql.warehouse.dir": str(folder / "warehouse")}
        (folder / "data").mkdir()
        spark = start(PIPELINE, local | dict(conf))
        for view, path in make_tables(folder / "data").items():
            spark.read.parquet(path).createOrReplaceTempView(view)
        watch = SessionWatch(spark, folder / "local")
        samples = [{"queries": 0, "seconds": 0.0, **watch.sample()}]
        began = time.monotonic()
        for number, kind in zip(range(queries), itertools.cycle(KINDS), strict=False):
            try:
                KINDS[kind](spark, number, folder)
            except Exception as error:
                raise RuntimeError(f"query {number} ({kind})") from error
            if (number + 1) % every == 0:
                seconds = round(time.monotonic() - began, 1)
                samples.append({"queries": number + 1, "seconds": seconds, **watch.sample()})
                line = table(samples[-1:], ["seconds", SPILLED, *TOLERANCES]).splitlines()[-1]
                print(line, file=sys.stderr, flush=True)
                if seconds > minutes * 60:
                    break
        spark.stop()
    found = trends(samples, TOLERANCES)
    return {"verdict": verdict(found), "trends": found, "samples": samples}


def in_a_process(
    conf: Mapping[str, str], queries: int, every: int, minutes: float, log: Path | None
) -> dict[str, Any]:
    """Run :func:`soak` in a separate process and thus JVM; their output is appended to ``log`` if given."""
    with multiprocessing.get_context("spawn").Pool(1, initializer=_print_to, initargs=(log,)) as pool:
        return pool.apply(soak, (conf, queries, every, minutes))


def _print_to(log: Path | None) -> None:
    if log is not None:
        with open(log, "ab") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)

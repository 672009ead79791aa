"""What the daemon does before it forks workers: whose archives it drops, what it loads; it starts no thread."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

from pyspark_pipeline.spark import daemon


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Spark home with archives on the path, and one of the user's outside."""
    names = ["home/python/lib/pyspark.zip", "home/python/lib/py4j-0.10.9.9-src.zip", "home/jars/spark-core_2.13.jar"]
    for name in [*names, "user/pyspark.zip", "user/library.zip"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("some_module_of_the_test.py", "")
        monkeypatch.syspath_prepend(str(path))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "home"))
    return tmp_path


def on_path(folder: Path) -> list[str]:
    return sorted(str(Path(entry).relative_to(folder)) for entry in sys.path if entry.startswith(str(folder)))


def test_only_sparks_own_archives_leave_the_path(home: Path) -> None:
    sys.path_importer_cache[str(home / "home/python/lib/pyspark.zip")] = None
    daemon.drop_spark_archives()
    assert on_path(home) == ["user/library.zip", "user/pyspark.zip"]
    assert not [entry for entry in sys.path_importer_cache if entry.startswith(str(home / "home"))]


def test_the_archives_stay_where_pyspark_is_nowhere_else(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(sys.path)
    monkeypatch.setattr(daemon, "find_spec", lambda name: None)
    daemon.drop_spark_archives()
    assert sys.path == before


def run(program: str) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # as Spark sets it: spark.task.cpus
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_preload_starts_no_thread_and_a_forked_task_loads_nothing_more() -> None:
    told = run(
        """
        import os, sys
        from pyspark_pipeline.spark import daemon
        daemon.preload()
        names = [open(f"/proc/self/task/{number}/comm").read().strip() for number in os.listdir("/proc/self/task")]
        assert len([name for name in names if name != "jemalloc_bg_thd"]) == 1, names  # pyarrow's, safe to fork
        from tests.operators.kit import fields
        from tests.task.kit import fragment, start
        from pyspark_pipeline.plan.nodes import Range
        before = set(sys.modules)
        list(start(fragment(Range(output=fields("n:bigint"), input_id=0)), splits={0: [0, 10, 1]}))
        print(sorted(name for name in set(sys.modules) - before))
        """
    )
    assert told.strip() == "[]"


def test_kernels_that_do_not_load_do_not_stop_the_daemon() -> None:
    told = run(
        """
        import pyspark_pipeline.task.warm as warm
        from pyspark_pipeline.spark import daemon
        def broken():
            raise OSError("no space left")
        warm.warm = broken
        daemon.preload()
        print("alive")
        """
    )
    assert told.strip() == "alive"

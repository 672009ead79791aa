"""Every example runs as its docstring says and is short."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks import etl_data
from benchmarks.tpch import data

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
#: Lines of an example; a job of many steps is longer.
LENGTHS = {"clean_orders.py": 200}


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return data.make(0.01, tmp_path_factory.mktemp("tpch") / "small")


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False, timeout=300)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}\n{done.stderr[-6000:]}"
    return done.stdout


def submit(*words: str, with_extension: bool) -> str:
    switch_on: list[str] = []
    if with_extension:
        switch_on = shlex.split(run([sys.executable, "-m", "pyspark_pipeline.cli.main", "submit-args"]))
    spark_submit = str(Path(sys.executable).with_name("spark-submit"))
    local = ["--master", "local[2]", "--conf", "spark.ui.enabled=false", "--driver-memory", "1g"]
    return run([spark_submit, *local, *switch_on, *words])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_is_short_and_tested(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LENGTHS.get(path.name, 60)
    assert f"\"{path.name}\"" in Path(__file__).read_text()


@pytest.mark.rotates
def test_etl_job_result_is_the_same_with_and_without_extension(small: Path) -> None:
    job = [str(ROOT / "examples" / "etl_job.py"), str(small)]
    cost_off = ["--conf", "spark.pysparkPipeline.cost.enabled=false"]
    vanilla = submit(*job, with_extension=False)
    ours = submit(*cost_off, *job, with_extension=True)
    rows = [line for line in vanilla.splitlines() if line.startswith("row ")]
    lines = sum(int(row.split()[-1]) for row in rows)
    assert 0 < lines <= pq.read_metadata(small / "lineitem.parquet").num_rows
    assert [line for line in ours.splitlines() if line.startswith("row ")] == rows
    assert "Pipeline" in ours.partition("== Physical Plan ==")[2]
    assert "Pipeline" not in vanilla


def read_sorted(folder: Path) -> list[str]:
    """Return the rows of a table as texts; doubles, which engines may sum in another order, to nine digits."""
    rows = pq.read_table(folder).to_pylist()
    names = sorted(rows[0])
    return sorted(
        repr([f"{row[name]:.9g}" if isinstance(row[name], float) else row[name] for name in names]) for row in rows
    )


@pytest.mark.rotates
def test_clean_orders_writes_the_same_tables_with_and_without_extension(tmp_path: Path) -> None:
    source = etl_data.make(0.002, tmp_path / "raw")
    job = [str(ROOT / "examples" / "clean_orders.py"), str(source)]
    few = ["--conf", "spark.sql.shuffle.partitions=4"]
    cost_off = ["--conf", "spark.pysparkPipeline.cost.enabled=false"]
    vanilla, ours = tmp_path / "vanilla", tmp_path / "ours"
    submit(*few, *job, str(vanilla), with_extension=False)
    log = submit(*few, *cost_off, *job, str(ours), with_extension=True)
    tables = [line.split()[0] for line in log.splitlines() if " written after " in line]
    assert tables == ["orders", "rejects", "days", "categories", "products", "tags", "customers"]
    for table in tables:
        expected = read_sorted(vanilla / table)
        assert expected and read_sorted(ours / table) == expected, table
    assert len(list((ours / "orders").glob("month=2024-*"))) == 12


@pytest.mark.rotates
def test_session_builder_py_runs_with_the_extension_on_and_off() -> None:
    output = run([sys.executable, str(ROOT / "examples" / "session_builder.py")])
    on, off = [line for line in output.splitlines() if line.startswith("enabled ")]
    assert on.removeprefix("enabled true") == off.removeprefix("enabled false")


@pytest.mark.rotates
def test_explain_reasons_names_operators_that_stayed_in_spark() -> None:
    output = submit(str(ROOT / "examples" / "explain_reasons.py"), with_extension=True)
    assert "sentences(name)" in output and output.count(" operators in pipelines, ") == 2


@pytest.mark.parametrize("threads", ["1", "2"])
def test_local_query_runs_without_spark(threads: str) -> None:
    output = run([sys.executable, str(ROOT / "examples" / "local_query.py"), threads]).splitlines()
    assert [line for line in output if line.startswith("digit")] == [f"digit {digit}: 100000" for digit in range(10)]
    assert sum("requests" in line for line in output) == 5

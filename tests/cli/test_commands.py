"""Tests of the command line: its output, and the remedies of ``doctor``."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pyspark_pipeline
from pyspark_pipeline.cli import doctor, submit_args
from pyspark_pipeline.cli.doctor import Finding
from pyspark_pipeline.cli.main import main
from pyspark_pipeline.errors import PipelineError


@pytest.fixture
def jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "shim.jar"
    monkeypatch.setattr(submit_args, "shim_jar", lambda _home=None: path)
    monkeypatch.setattr(submit_args, "warm_kernels", lambda: None)
    monkeypatch.setattr(doctor, "shim_jar", lambda _home=None: path)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return path


def test_submit_args_prints_one_line(jar: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["submit-args"]) == 0
    assert capsys.readouterr().out == f"--jars {jar} --conf spark.plugins=org.pysparkpipeline.PipelinePlugin\n"


def test_submit_args_joins_the_users_jars(jar: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["submit-args", "--jars", "a.jar,b.jar"]) == 0
    assert f"--jars {jar},a.jar,b.jar " in capsys.readouterr().out


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"pyspark-pipeline {pyspark_pipeline.__version__}\n"


def test_version_and_doctor_work_without_pyarrow() -> None:
    program = """
        import builtins, sys
        genuine = builtins.__import__
        def without(name, *rest):
            if name.split(".")[0] in ("pyarrow", "numba", "numpy", "pandas", "pyspark"):
                raise ModuleNotFoundError(name)
            return genuine(name, *rest)
        builtins.__import__ = without
        from pyspark_pipeline.cli import doctor
        from pyspark_pipeline.cli.main import main
        doctor.check_jar = doctor.check_java
        doctor.version = lambda name: "0.1"
        sys.exit(main(sys.argv[1:]))
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    assert version.stdout == f"pyspark-pipeline {pyspark_pipeline.__version__}\n", version.stderr
    checked = subprocess.run([*command, "doctor", "--no-job"], capture_output=True, text=True, check=False)
    assert "[FAIL] pyarrow: 0.1" in checked.stdout and checked.returncode == 1, checked.stderr


def test_error_prints_one_line_returns_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_home: object = None) -> Path:
        raise PipelineError("what went wrong")

    monkeypatch.setattr(submit_args, "shim_jar", fail)
    assert main(["submit-args"]) == 1
    assert capsys.readouterr().err == "pyspark-pipeline: what went wrong\n"


def test_doctor_without_job_passes(jar: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--no-job"]) == 0
    output = capsys.readouterr().out
    assert "FAIL" not in output
    for subject in ("java", "spark", "pyarrow", "pandas", "numba", "shim jar"):
        assert f"[  ok] {subject}: " in output


def test_doctor_prints_remedy(
    jar: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "version", lambda name: "3.0.1" if name == "pandas" else "99.0")
    assert main(["doctor"]) == 1  # and runs no job
    output = capsys.readouterr().out
    assert "[FAIL] pandas: 3.0.1" in output
    assert "pip install 'pandas>=2,<3'" in output


def test_doctor_reports_missing_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    finding = doctor.check_java()
    assert not finding.is_fine
    assert "Java 17" in finding.mend


@pytest.mark.parametrize(("answer", "is_fine"), [('openjdk version "17.0.2"', True), ('java version "11.0.1"', False)])
def test_doctor_reads_javas_version(
    answer: str, is_fine: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert doctor.check_java().is_fine is is_fine


def test_doctor_names_workers_that_differ_from_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "probe: d python 3.11 pyarrow 26\nprobe: h1 python 3.11 pyarrow 26\nprobe: h2 python 3.11 pyarrow missing\n"

    class Done:
        returncode, stdout, stderr = 0, lines, ""

    monkeypatch.setattr(doctor.subprocess, "run", lambda *_a, **_k: Done)
    driver, same, other = doctor.check_workers("local[2]")
    assert driver.is_fine and same.is_fine and not other.is_fine
    assert other.subject == "worker on h2"
    assert "PYSPARK_PYTHON" in other.mend


def test_doctor_reports_failed_job(monkeypatch: pytest.MonkeyPatch) -> None:
    class Done:
        returncode, stdout, stderr = 1, "", "noise\njava.lang.ClassNotFoundException: Plugin\n"

    monkeypatch.setattr(doctor.subprocess, "run", lambda *_a, **_k: Done)
    (finding,) = doctor.check_workers("local[2]")
    assert isinstance(finding, Finding)
    assert "ClassNotFoundException" in finding.detail


@pytest.mark.parametrize(
    ("words", "least"),
    [(("--cpus", "0"), 1), (("--cpus", "-1"), 1), (("--cpus", "two"), 1), (("--rows", "-1"), 0)],
)
def test_replay_rejects_invalid_numbers(
    words: tuple[str, str], least: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["replay", "folder", *words])
    assert ended.value.code == 2
    output = capsys.readouterr().err.splitlines()[-1]
    assert output.endswith(f"argument {words[0]}: {words[1]!r}: allowed is a whole number from {least}")

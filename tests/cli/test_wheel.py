"""The wheel of pip's isolated build contains the jar that the installed package accepts."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(command: list[str], **environment: str) -> str:
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | environment
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd="/")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return done.stdout


@pytest.mark.rotates
def test_wheel_has_sources_and_matching_jar(tmp_path: Path) -> None:
    leave = shutil.ignore_patterns(".git", ".venv*", "build", "*.egg-info", "__pycache__", ".*_cache", "results")
    checkout = shutil.copytree(ROOT, tmp_path / "checkout", ignore=leave)
    stale = checkout / "build" / "lib" / "pyspark_pipeline" / "stale.py"
    stale.parent.mkdir(parents=True)
    stale.write_text("x = 1")
    run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(checkout)])
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    assert not (installed / "pyspark_pipeline" / "stale.py").exists(), "the wheel has a file of an older build"
    assert list((installed / "pyspark_pipeline" / "_shim_src").rglob("*.scala"))
    assert not (installed / "tests").exists() and not (installed / "benchmarks").exists()
    program = "from pyspark_pipeline.shim_build import shim_jar; print(shim_jar())"
    jar = run([sys.executable, "-c", program], PYTHONPATH=str(installed), XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert Path(jar.strip()).parent == installed / "pyspark_pipeline" / "jars"

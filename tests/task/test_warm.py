"""Kernels are compiled once a machine, by one process, and loaded by all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pyspark_pipeline.kernels import compile_cache
from pyspark_pipeline.task import warm


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def record(path: Path) -> None:
    with open(path, "a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")


def test_families_are_compiled_in_children_once_and_loaded_here(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    monkeypatch.setattr(warm, "_FAMILIES", (lambda: record(ran),) * 2)
    assert not compile_cache.is_complete()
    warm.warm()
    assert compile_cache.is_complete()
    first = [int(line) for line in ran.read_text().splitlines()]
    assert len(set(first)) == 3 and first[2:] == [os.getpid()] * 2
    warm.warm()
    assert [int(line) for line in ran.read_text().splitlines()][4:] == [os.getpid()] * 2


def test_a_failed_compilation_sets_no_mark(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "_FAMILIES", (lambda: os._exit(3), lambda: None))
    with pytest.raises(OSError, match="1 of 2 processes"):
        warm.warm()
    assert not compile_cache.is_complete()


def test_other_sources_make_the_cache_incomplete(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with compile_cache.completing() as is_mine:
        assert is_mine
    with compile_cache.completing() as is_mine:
        assert not is_mine
    monkeypatch.setattr(compile_cache, "_version", lambda package: "another")
    assert not compile_cache.is_complete()


def test_compiling_ahead_starts_a_process_only_where_there_is_need(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: started.append(command))
    compile_cache.compile_ahead("some.module")
    assert started == [[sys.executable, "-m", "some.module"]]
    with compile_cache.completing():
        pass
    compile_cache.compile_ahead("some.module")
    assert len(started) == 1


def test_looking_at_the_cache_imports_no_compiler() -> None:
    program = """
        import sys
        from pyspark_pipeline.kernels.compile_cache import is_complete
        is_complete()
        print(sorted({"numba", "llvmlite", "numpy", "pyarrow"} & set(sys.modules)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(done.stdout) == []

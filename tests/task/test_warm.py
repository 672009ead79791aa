"""Kernels are compiled once per machine, in parallel; a daemon loads compiled kernels and never waits."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import pyspark_pipeline
from pyspark_pipeline.cli.main import main
from pyspark_pipeline.kernels import compile_cache, kernel_cache, processors
from pyspark_pipeline.task import warm

_PACKAGE = Path(pyspark_pipeline.__file__).parent

# Calls one kernel; prints whether it was compiled here, and how many entries a daemon would preload.
_USE_A_KERNEL = """
    import json, sys
    import numpy as np
    from pyspark_pipeline.kernels import kernel_cache, row_ranges
    found = kernel_cache.preload({"row_ranges"})
    mask = np.ones(4, dtype=np.uint8)
    row_ranges.keep_longs_between(np.arange(4), 1, 2, mask)
    assert mask.tolist() == [0, 1, 1, 0]
    misses = sum(row_ranges.keep_longs_between.stats.cache_misses.values())
    forms = len(row_ranges.keep_longs_between.signatures)
    print(json.dumps({"preloaded": found, "compiled": misses, "forms": forms, "file": row_ranges.__file__}))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def record(path: Path) -> None:
    with open(path, "a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")


def run(program: str, path: Path = _PACKAGE, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program that imports the package at ``path``, or in an archive there; raise if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(path.parent if path == _PACKAGE else path), **variables}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=True, timeout=120)


def use_a_kernel(path: Path = _PACKAGE, **variables: str) -> dict[str, object]:
    return dict(json.loads(run(_USE_A_KERNEL, path, **variables).stdout))


def test_each_step_runs() -> None:
    """A step that fails would leave the cache incomplete for good."""
    for step in warm._STEPS:
        step()


def test_children_share_steps_and_complete_cache(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = tmp_path / "ran"
    monkeypatch.setattr(warm, "_STEPS", (lambda: record(ran),) * 5)
    assert not compile_cache.is_complete()
    warm.compile_all(2)
    assert compile_cache.is_complete()
    assert len(ran.read_text().splitlines()) == 5 and str(os.getpid()) not in ran.read_text()
    assert warm.main([]) == 0
    assert len(ran.read_text().splitlines()) == 5


def test_failed_compilation_leaves_cache_incomplete(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "_STEPS", (lambda: os._exit(3), lambda: None))
    with pytest.raises(warm.WarmError, match="1 of 2 processes"):
        warm.compile_all(2)
    assert not compile_cache.is_complete()


def test_one_process_at_a_time_completes_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "_STEPS", (lambda: os._exit(3),))
    with compile_cache.completing() as is_mine:
        assert is_mine
        with compile_cache.completing() as is_ours:
            assert not is_ours
        assert warm.main([]) == 0  # the other process compiles
    assert warm.main([]) == 1


def test_daemon_does_not_wait_for_compilation(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: started.append(command))
    monkeypatch.setattr(warm, "_STEPS", (lambda: os._exit(3),))
    warm.warm()
    assert [command[:3] for command in started] == [[sys.executable, "-m", "pyspark_pipeline.task.warm"]]
    assert "--with-parent" in started[0]
    assert "compiling kernels for this machine in the background, once, for about" in capsys.readouterr().err
    compile_cache.set_complete()
    warm.warm()
    assert len(started) == 1 and capsys.readouterr().err == ""


def test_background_compilation_stops_with_parent(folder: Path, tmp_path: Path) -> None:
    ran, ended = tmp_path / "ran", tmp_path / "ended"
    program = f"""
        import os, time
        from pathlib import Path
        from pyspark_pipeline.task import warm
        ran = Path({str(ran)!r})
        def step():
            with ran.open("a") as file:
                file.write("x")
            time.sleep(0.2)
        warm._STEPS = (step,) * 200
        if os.fork() == 0:
            os.close(1), os.close(2)
            warm.compile_all(2, with_parent=True)
            Path({str(ended)!r}).touch()
            os._exit(0)
        while not ran.exists():
            time.sleep(0.05)
    """
    run(program)
    until = time.monotonic() + 15
    while not ended.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert ended.exists() and 1 <= ran.stat().st_size < 150 and not compile_cache.is_complete()


def test_other_sources_or_versions_invalidate_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_cache.set_complete()
    assert compile_cache.is_complete()
    monkeypatch.setattr(compile_cache, "_version", lambda package: "another")
    compile_cache.state.cache_clear()
    try:
        assert not compile_cache.is_complete()
    finally:
        compile_cache.state.cache_clear()


def test_files_of_other_sources_are_deleted_after_two_months(folder: Path) -> None:
    compile_cache.set_complete()
    states = folder / "pyspark_pipeline"
    for name, days in (("old", 61), ("recent", 59)):
        (states / name / "this-processor").mkdir(parents=True)
        os.utime(states / name, (time.time() - days * 86400,) * 2)
    os.utime(states / compile_cache.state(), (0, 0))
    compile_cache.set_complete()
    assert {path.name for path in states.iterdir()} == {"recent", compile_cache.state()}


def test_compiled_kernels_are_found_from_other_paths_and_times(folder: Path, tmp_path: Path) -> None:
    first = use_a_kernel()
    assert (first["preloaded"], first["compiled"]) == (0, 1)
    ignored = shutil.ignore_patterns("__pycache__", "jars", "_kernels")
    shutil.copytree(_PACKAGE, tmp_path / "copy" / "pyspark_pipeline", ignore=ignored)
    for source in (tmp_path / "copy").rglob("*.py"):
        os.utime(source, (10**9, 10**9))
    copied = use_a_kernel(tmp_path / "copy")
    assert str(copied["file"]).startswith(str(tmp_path / "copy"))
    assert (copied["preloaded"], copied["compiled"], copied["forms"]) == (1, 0, 1)
    archive = shutil.make_archive(str(tmp_path / "archive"), "zip", tmp_path / "copy")
    wheel = Path(archive).rename(tmp_path / "archive.whl")
    zipped = use_a_kernel(wheel)
    assert str(zipped["file"]).startswith(str(wheel))
    assert (zipped["preloaded"], zipped["compiled"]) == (1, 0)
    kernels = tmp_path / "copy" / "pyspark_pipeline" / "kernels" / "buffers.py"
    kernels.write_text(kernels.read_text() + "\n")
    assert use_a_kernel(tmp_path / "copy")["compiled"] == 1


def test_baked_cache_is_found_read_only_and_for_other_processors(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    baked = tmp_path / "baked"
    program = f"""
        import numpy as np
        from pathlib import Path
        from pyspark_pipeline.kernels import row_ranges
        from pyspark_pipeline.task import warm
        warm._STEPS = (lambda: row_ranges.keep_longs_between(np.arange(4), 1, 2, np.ones(4, dtype=np.uint8)),)
        print(warm.bake(Path({str(baked)!r}), 1))
    """
    target = processors.portable_target()
    done = run(program, NUMBA_CPU_NAME=target, NUMBA_CPU_FEATURES="", PYSPARK_PIPELINE_KERNELS="")
    made = Path(done.stdout.strip())
    assert made == baked / compile_cache.state() / target
    assert {path.stat().st_mode & 0o777 for path in made.iterdir()} == {0o644} and made.stat().st_mode & 0o777 == 0o755
    used = use_a_kernel(PYSPARK_PIPELINE_KERNELS=str(baked))
    assert (used["preloaded"], used["compiled"]) == (1, 0)
    assert not list(folder.rglob("*.entry"))
    monkeypatch.setenv("PYSPARK_PIPELINE_KERNELS", str(baked))
    assert compile_cache.is_complete()
    next(made.glob("*.entry")).chmod(0o666)
    done = run(_USE_A_KERNEL, PYSPARK_PIPELINE_KERNELS=str(baked))
    assert json.loads(done.stdout)["compiled"] == 1
    assert f"the kernels in {baked} are not used" in done.stderr and "is writable by other users" in done.stderr


def test_command_bakes_for_portable_processor_and_prints_setting(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[tuple[list[str], dict[str, str]]] = []

    def record_run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        ran.append((command, options.get("env") or {}))  # type: ignore[arg-type]
        return subprocess.CompletedProcess(command, 0, stdout="/made")

    monkeypatch.setattr(subprocess, "run", record_run)
    (tmp_path / "image").mkdir()
    assert main(["warm", "--into", str(tmp_path / "image")]) == 0
    assert f"PYSPARK_PIPELINE_KERNELS={tmp_path / 'image'}" in capsys.readouterr().out
    assert ran[0][1]["NUMBA_CPU_NAME"] == processors.portable_target() and ran[0][1]["NUMBA_CPU_FEATURES"] == ""
    assert main(["warm", "--into", str(tmp_path), "--cpu", "native"]) == 0
    assert "NUMBA_CPU_NAME" not in ran[1][1]
    assert main(["warm"]) == 0
    assert ran[2][0][-1] == "pyspark_pipeline.task.warm"


@pytest.mark.parametrize("shared", ["kernels", "."])
def test_cache_writable_by_others_is_not_loaded(folder: Path, tmp_path: Path, shared: str) -> None:
    own = folder / "pyspark_pipeline" / compile_cache.state() / processors.target()
    own.mkdir(parents=True)
    for path in (folder, folder / "pyspark_pipeline"):
        path.chmod(0o700)
    done = run("from pyspark_pipeline.kernels import compile_cache; print(compile_cache.own_folder())")
    assert done.stdout.strip() == str(own) and done.stderr == ""
    (folder.parent / shared).chmod(0o777)
    done = run("from pyspark_pipeline.kernels import compile_cache; print(compile_cache.own_folder())")
    assert not done.stdout.startswith(str(folder)) and "is writable by other users" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_cache_of_other_user_is_not_loaded(folder: Path) -> None:
    own = folder / "pyspark_pipeline"
    own.mkdir(parents=True, mode=0o700)
    os.chown(own, 12345, 12345)
    done = run("from pyspark_pipeline.kernels import compile_cache; print(compile_cache.own_folder())")
    assert not done.stdout.startswith(str(folder)) and "belongs to user 12345" in done.stderr


def test_kernels_without_home_use_private_temporary_folder(tmp_path: Path) -> None:
    program = """
        from pyspark_pipeline.kernels import compile_cache
        own = compile_cache.own_folder()
        print(own, compile_cache.is_kept(own), oct(own.parent.parent.stat().st_mode & 0o777))
    """
    variables = {"HOME": "/proc/nothing", "XDG_CACHE_HOME": "", "NUMBA_CACHE_DIR": "", "TMPDIR": str(tmp_path)}
    done = run(program, **variables)
    assert done.stdout.startswith(str(tmp_path / f"pyspark_pipeline-{os.geteuid()}")) and done.stderr == ""
    assert done.stdout.endswith("True 0o700\n")
    (tmp_path / f"pyspark_pipeline-{os.geteuid()}").chmod(0o777)
    done = run(program, **variables)
    assert "pyspark_pipeline-kernels-" in done.stdout and done.stdout.endswith("False 0o700\n")
    assert "is writable by other users" in done.stderr
    assert not list(tmp_path.glob("pyspark_pipeline-kernels-*"))  # removed with its process


def test_kernel_compiled_by_other_process_is_awaited_then_loaded(folder: Path) -> None:
    program = """
        import os, time
        import numpy as np
        from pyspark_pipeline.kernels import row_ranges
        children = []
        for _ in range(3):
            children.append(os.fork())
            if children[-1] == 0:
                row_ranges.keep_longs_between(np.arange(4), 1, 2, np.ones(4, dtype=np.uint8))
                os._exit(sum(row_ranges.keep_longs_between.stats.cache_misses.values()))
        print(sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
    """
    assert run(program).stdout == "1\n"


def test_kernel_compiles_without_locks_and_disk_space(folder: Path) -> None:
    program = """
        import errno, fcntl
        import numpy as np
        from pyspark_pipeline.kernels import kernel_cache, row_ranges
        def fail(*arguments, **options):
            raise OSError(errno.ENOLCK, "no locks")
        fcntl.flock = fail
        kernel_cache.tempfile.NamedTemporaryFile = fail
        row_ranges.keep_longs_between(np.arange(4), 1, 2, np.ones(4, dtype=np.uint8))
        print(len(row_ranges.keep_longs_between.signatures))
    """
    assert run(program).stdout == "1\n"


def test_truncated_cache_file_is_recompiled(folder: Path) -> None:
    use_a_kernel()
    (path,) = folder.rglob("*.entry")
    path.write_bytes(path.read_bytes()[:100])
    assert use_a_kernel()["compiled"] == 1
    assert use_a_kernel()["compiled"] == 0


def test_compile_ahead_starts_process_only_if_needed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: started.append(command))
    compile_cache.compile_ahead("some.module")
    assert started == [[sys.executable, "-m", "some.module"]]
    compile_cache.set_complete()
    compile_cache.compile_ahead("some.module")
    assert len(started) == 1


def test_cache_lookup_does_not_import_compiler() -> None:
    program = """
        import sys, json
        from pyspark_pipeline.kernels.compile_cache import is_complete
        is_complete()
        print(json.dumps(sorted({"numba", "llvmlite", "numpy", "pyarrow"} & set(sys.modules))))
    """
    assert json.loads(run(program).stdout) == []


def test_portable_targets_match_processor_features(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (processors.NAME, processors.FEATURES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(processors.platform, "machine", lambda: "x86_64")
    known: dict[str, str] = {"flags": " ".join(processors._V3 - {"fma"})}
    monkeypatch.setattr(processors, "_processor_properties", lambda: known)
    assert processors.portable_targets() == ("x86-64-v2", "x86-64")
    known["flags"] += " fma"
    assert processors.portable_target() == "x86-64-v3"
    mine = processors.target()
    known["flags"] += " avx512f"
    assert processors.target() != mine and mine.startswith("this-")
    monkeypatch.setenv(processors.NAME, "x86-64-v2")
    assert processors.target().startswith("this-") and processors.portable_targets() == ()
    monkeypatch.setenv(processors.FEATURES, "")
    assert processors.target() == "x86-64-v2"


def test_kernels_of_user_module_are_compiled(folder: Path) -> None:
    from pyspark_pipeline.kernels.jit import kernel

    doubled = kernel(lambda value: value * 2)
    assert doubled(21) == 42 and not isinstance(doubled._cache, kernel_cache.KernelCache)


def test_nobody_waits_long_for_kernel_of_low_priority_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder of the lock may get no processor: the process that needs the kernel compiles it too."""
    monkeypatch.setattr(kernel_cache, "_LONGEST_WAIT", float("inf"))
    own = compile_cache.own_folder()
    assert own is not None
    run(f"""
        import os
        from pathlib import Path
        from pyspark_pipeline.kernels import kernel_cache
        kernel_cache.run_in_background()
        kernel_cache.KernelCache("kernel")._lock(Path({str(own)!r}), "form")
        if os.fork():
            os._exit(0)
        os.close(1), os.close(2)
        import time
        time.sleep(20)  # the child inherits the lock
    """)
    kernel_cache.KernelCache("kernel")._lock(own, "form")

"""The daemon before it forks workers: the archives it removes, the modules it loads; it starts no thread."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark.daemon
import pytest

from pyspark_pipeline.spark import daemon
from tests.support.processes import wait_until


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a Spark home with archives on the path, and user archives outside it; return their parent."""
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


def test_only_spark_archives_are_removed_from_path(home: Path) -> None:
    sys.path_importer_cache[str(home / "home/python/lib/pyspark.zip")] = None
    daemon.drop_spark_archives()
    assert on_path(home) == ["user/library.zip", "user/pyspark.zip"]
    assert not [entry for entry in sys.path_importer_cache if entry.startswith(str(home / "home"))]


def test_archives_stay_if_pyspark_is_not_installed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(sys.path)
    monkeypatch.setattr(daemon, "find_spec", lambda name: None)
    daemon.drop_spark_archives()
    assert sys.path == before


def write_version(archive: Path, version: str) -> None:
    with zipfile.ZipFile(archive, "w") as content:
        content.writestr("pyspark/version.py", f"# a comment\n__version__: str = '{version}'\n")


def test_archives_stay_if_installed_pyspark_has_another_version(home: Path) -> None:
    write_version(home / "home/python/lib/pyspark.zip", "4.0.0")
    before = list(sys.path)
    daemon.drop_spark_archives()
    assert sys.path == before


def test_archives_are_removed_if_installed_pyspark_has_the_same_version(home: Path) -> None:
    write_version(home / "home/python/lib/pyspark.zip", pyspark.__version__)
    daemon.drop_spark_archives()
    assert on_path(home) == ["user/library.zip", "user/pyspark.zip"]


def run(program: str) -> str:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # as Spark sets it: spark.task.cpus
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_preload_starts_no_thread_and_loads_all_modules_of_a_task() -> None:
    output = run(
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
    assert output.strip() == "[]"


def test_daemon_survives_kernel_load_error() -> None:
    output = run(
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
    assert output.strip() == "alive"


class Worker:
    """The JVM's view of a worker: a connection to the daemon's port, and the id of the forked process."""

    def __init__(self, port: int, secret: str = "secret") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.pid = self.read_int()
        self.socket.sendall(struct.pack("!i", len(secret)) + secret.encode())
        self.answer = self.socket.recv(self.read_int()).decode()

    def read_int(self) -> int:
        data = b""
        while len(data) < 4:
            received = self.socket.recv(4 - len(data))
            assert received, "the daemon closed the connection"
            data += received
        return int(struct.unpack("!i", data)[0])


@contextmanager
def started(folder: Path, *paths: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a daemon as Spark does, with ``folder`` for temporary files; yield it with its port."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([*map(str, paths), str(Path(__file__).parents[2])]),
        "PYTHON_WORKER_FACTORY_SECRET": "secret",
        "SPARK_REUSE_WORKER": "1",
        "OMP_NUM_THREADS": "1",
        "TMPDIR": str(folder),
    }
    command, pipe = [sys.executable, "-m", "pyspark_pipeline.spark.daemon", "pyspark.worker"], subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            assert process.stdout is not None
            yield process, int(struct.unpack("!i", process.stdout.read(4))[0])
        finally:
            process.kill()


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_daemon_and_workers_exit_with_the_jvm(tmp_path: Path) -> None:
    with started(tmp_path) as (process, port):
        worker = Worker(port)
        assert worker.answer == "ok" and is_alive(worker.pid)
        assert Worker(port, "guessed").answer == "err"
        assert process.stdin is not None
        process.stdin.close()  # as the kernel does when the JVM dies
        process.wait(timeout=30)
        wait_until(lambda: not is_alive(worker.pid), "the idle worker should have ended with its daemon")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def broken_numba(tmp_path: Path) -> Path:
    """Create a folder with a numba that prints to standard output and raises ImportError; return it."""
    folder = tmp_path / "broken"
    (folder / "numba").mkdir(parents=True)
    source = "import os\nprint('noise')\nos.write(1, b'more noise\\n')\nraise ImportError('Numba needs NumPy 1.0')\n"
    (folder / "numba" / "__init__.py").write_text(source)
    return folder


def test_spark_daemon_runs_if_the_engine_does_not_load(tmp_path: Path, broken_numba: Path) -> None:
    with started(tmp_path, broken_numba) as (process, port):
        worker = Worker(port)
        assert worker.answer == "ok" and is_alive(worker.pid)
        assert process.stdin is not None and process.stderr is not None
        process.stdin.close()  # a SIGTERM right after a fork may be lost: Python ignores errors of fork hooks
        errors = process.stderr.read().decode()
    assert "Numba needs NumPy 1.0" in errors and "noise" in errors


def test_task_error_has_import_error_of_the_engine(broken_numba: Path) -> None:
    output = run(
        f"""
        import sys
        sys.path.insert(0, {str(broken_numba)!r})
        from pyspark_pipeline.spark.entry import fragment_function
        try:
            fragment_function("")
        except Exception as error:
            print(f"{{type(error).__name__}}: {{error}}")
        """
    )
    sentence = f"does not load in the worker's Python {sys.executable}: ImportError: Numba needs NumPy 1.0"
    assert output.splitlines()[-1] == f"WorkerStartError: pyspark_pipeline {sentence}"


def test_worker_socket_has_tcp_nodelay(monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[int] = []

    def spark_worker(sock: socket.socket, authenticated: bool) -> int:
        if sock.family != socket.AF_UNIX:
            options.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return 0

    monkeypatch.setattr(pyspark.daemon, "worker", spark_worker)
    daemon.prepare_workers()
    worker: Any = pyspark.daemon.worker
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        assert worker(tcp, False) == 0 and worker(unix, True) == 0
    assert len(options) == 1 and options[0] != 0


def test_the_daemon_leaves_the_process_group_of_the_terminal_first(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(daemon.os, "setpgid", lambda *_group: steps.append("leave"))
    for name in ("configure_allocators", "drop_spark_archives", "preload", "prepare_workers"):
        monkeypatch.setattr(daemon, name, lambda name=name: steps.append(name))
    monkeypatch.setattr(pyspark.daemon, "manager", lambda: steps.append("serve"))
    daemon.main()
    assert steps[0] == "leave" and steps[-1] == "serve" and "preload" in steps

"""A damaged capture is rejected before it is decoded; the message names the file."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pyspark_pipeline.cli.main import main
from pyspark_pipeline.errors import CaptureError
from pyspark_pipeline.plan.layout import WIRE_VERSION
from pyspark_pipeline.task import run_fragment
from pyspark_pipeline.task.capture import Capture
from pyspark_pipeline.task.capture_files import CaptureFiles
from pyspark_pipeline.task.capture_journal import Ending, JournalWriter
from tests.task.test_capture import FILTER, given

CHUNKS = "chunks-0.1-driver-0.arrow"
FILES = ["fragment.json", "input.arrow", CHUNKS]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a complete capture, with the chunks of an operator."""
    options = {"capture.folder": str(tmp_path_factory.mktemp("captures")), "capture.operator": "Filter"}
    settings = {"ansi": True, "timeZone": "UTC", "options": options}
    content = {"version": WIRE_VERSION, "id": 4, "root": FILTER, "sink": {"kind": "result"}}
    text = json.dumps({**content, "settings": settings})
    assert list(run_fragment(text, iter(given(0, list(range(50)), [4]))))
    (folder,) = Path(options["capture.folder"]).iterdir()
    return folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "copy")
    return tmp_path / "copy"


def refused(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Replay a damaged capture; return the one line of its error."""
    assert main(["replay", str(folder), *words]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    return line


def test_undamaged_capture_is_complete(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(path.name for path in whole.iterdir()) == sorted([*FILES, "journal.txt"])
    assert Capture(whole).journal.notes() == [] and Capture(whole).journal.ending is Ending.FINISHED
    for words in ([], ["--operator", "Filter"]):
        assert main(["replay", str(whole), *words]) == 0
        assert capsys.readouterr().err == ""


DAMAGES: list[Callable[[bytes], bytes]] = [
    lambda content: b"",
    lambda content: content[: len(content) // 2],
    lambda content: content[:-8],
    lambda content: content + b"\0",
    lambda content: b"garbage" * 10,
    lambda content: b"\xff" * len(content),
]


@pytest.mark.parametrize("words", [(), ("--operator", "Filter")], ids=["task", "operator"])
@pytest.mark.parametrize("damage", DAMAGES, ids=["empty", "half", "no end", "longer", "garbage", "ones"])
@pytest.mark.parametrize("name", FILES)
def test_damaged_file_is_named(
    name: str, damage: Callable[[bytes], bytes], words: tuple[str], copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / name).write_bytes(damage((copy / name).read_bytes()))
    assert refused(copy, capsys, *words).startswith(f"pyspark-pipeline: {copy / name} is damaged: ")


@pytest.mark.parametrize("name", FILES)
def test_missing_file_is_named(name: str, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / name).unlink()
    assert refused(copy, capsys).startswith(f"pyspark-pipeline: {copy / name} cannot be read: ")


@pytest.mark.parametrize("name", FILES)
def test_changed_bytes_are_detected(name: str, copy: Path) -> None:
    chance, content = random.Random(3), (copy / name).read_bytes()
    for _ in range(200):
        changed = bytearray(content)
        while bytes(changed) == content:
            for _ in range(chance.randint(1, 4)):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
        (copy / name).write_bytes(changed)
        with pytest.raises(CaptureError, match="is damaged: its checksum is"):
            Capture(copy)


def test_changed_byte_of_journal_is_detected(copy: Path) -> None:
    path = copy / "journal.txt"
    content = path.read_bytes()
    for place in range(len(content) - 1):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(CaptureError, match=r"journal\.txt is damaged: line \d+ is not as it was written"):
            Capture(copy)


def test_truncated_journal_has_no_end(copy: Path) -> None:
    path = copy / "journal.txt"
    content = path.read_bytes()
    begin = content.index(b"\n") + 1
    for length in range(begin, len(content) - 1):
        path.write_bytes(content[:length])
        assert Capture(copy).journal.ending is None
    for length in range(begin - 1):
        path.write_bytes(content[:length])
        with pytest.raises(CaptureError, match="does not begin with version 1"):
            Capture(copy)


def test_journal_of_other_release_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark_pipeline.task.capture_journal._VERSION", 2)
    JournalWriter(tmp_path)
    monkeypatch.undo()
    with pytest.raises(CaptureError, match=r"journal\.txt does not begin with version 1"):
        Capture(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{}", "7", '{"root": 1}', '{"root": {"op": "FilterExec"}}'])
def test_invalid_fragment_is_named(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = CaptureFiles(tmp_path, 1 << 20)
    files.keep("fragment.json", text.encode())
    files.end(Ending.FINISHED)
    assert f"{tmp_path / 'fragment.json'} is no fragment of this release: " in refused(tmp_path, capsys)


def test_capture_without_first_files_names_missing_file(tmp_path: Path) -> None:
    files = CaptureFiles(tmp_path, 1 << 20)
    why = "the capture is incomplete: it has no end, so the task was killed or still runs$"
    with pytest.raises(CaptureError, match=rf"has no whole fragment\.json; {why}"):
        Capture(tmp_path).fragment()
    with pytest.raises(CaptureError, match=rf"has no whole input\.arrow; {why}"):
        Capture(tmp_path).control()
    files.open("input.arrow")
    with pytest.raises(CaptureError, match=rf"input\.arrow has no control message; {why}"):
        list(Capture(tmp_path).batches())
    files.end(Ending.CANCELLED)

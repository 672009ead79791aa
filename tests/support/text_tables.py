"""Tables of text files: ends of lines of all kinds, bytes that are not UTF-8, compressed files, partitions."""

from __future__ import annotations

import bz2
import gzip
import random
from pathlib import Path

from pyspark.sql import SparkSession

from tests.support.tables import text_table

_MARK = b"\xef\xbb\xbf"
_LINES = {
    "unix.txt": b"first\n\nthird 3\n  four  \n",
    "dos.txt": b"first\r\n\r\nthird\r\n\r\r\nsix\n\r\r\r\n\n\nno end",
    "mac.txt": b"a\rb\r\rd\r",
    "mixed": b"\r\n\r\n\n\n\r\r" * 3 + b"x\r\ny\rz\n" * 7,
    "mark.txt": _MARK + b"after the mark\n" + _MARK + b"in a line\n",
    "mark only.txt": _MARK,
    "mark and end.txt": _MARK + b"\n",
    "two marks.txt": _MARK + _MARK + b"\r\n",
    "empty.txt": b"",
    "one byte.txt": b"\xff",
    "one end.txt": b"\n",
    "one return.txt": b"\r",
    "unicode é %20.txt": "é€\U0001f600 \u2028\u0085\x0b\x0c\x1c\n日本\x00語\n".encode(),
    "not utf-8.txt": b"\xc3\n\xa9\xff\xfe\nab\xf0\x9f\x98\n\x80\r\x80",
    "long.txt": b"x" * 300 + b"\n" + b"y z " * 70 + b"\r\nshort\n" + b"w" * 200,
}


@text_table
def text_lines(_spark: SparkSession, folder: Path) -> None:
    """Files that end their lines in every way, with marks, without UTF-8, and some of them as gzip."""
    folder.mkdir(parents=True)
    for name, data in _LINES.items():
        (folder / name).write_bytes(data)
    (folder / "empty.gz").write_bytes(b"")
    (folder / "members.txt.gz").write_bytes(gzip.compress(_LINES["mark.txt"] + b"x\r") + gzip.compress(b"\ny"))
    (folder / "lines.txt.gz").write_bytes(gzip.compress(b"".join(_LINES.values())))


@text_table
def text_random(_spark: SparkSession, folder: Path) -> None:
    """Files of random bytes of small alphabets."""
    folder.mkdir(parents=True)
    source = random.Random(7)
    for number, alphabet in enumerate((b"\r\na", b"\n\r", b"\r\nab|", bytes(range(256)))):
        data = bytes(source.choices(alphabet, k=400))
        (folder / f"{number}.txt").write_bytes(data)
        (folder / f"{number}.gz").write_bytes(gzip.compress(data[::-1]))


@text_table
def text_words(_spark: SparkSession, folder: Path) -> None:
    """9 000 lines of words in files below partitions."""
    source = random.Random(3)
    words = ["the", "a", "engine", "reads", "lines", "", "of", "naïve", "text", "日本"]
    for number in range(3):
        place = folder / f"day=2024-01-0{number + 1}"
        place.mkdir(parents=True)
        text = "".join(" ".join(source.choices(words, k=source.randrange(9))) + "\n" for _ in range(3000))
        (place / "words.txt").write_text(text, encoding="utf-8")


@text_table
def text_bzip2(_spark: SparkSession, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "plain.txt").write_bytes(b"a\nb\n")
    (folder / "lines.bz2").write_bytes(bz2.compress(b"c\nd\n"))

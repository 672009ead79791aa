"""Tables of CSV files: quotes, escapes and white space of all kinds, texts of all types, headers, partitions."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

from pyspark.sql import SparkSession

from tests.support.tables import csv_table

#: Lines of up to three fields whose quotes and escapes take every state of the parser.
LINES = [
    b"a,b,c",
    b"",
    b" \t ",
    b",,",
    b",",
    b"a",
    b"a,b",
    b"a,b,c,d",
    b'"a","b","c"',
    b'"","",""',
    b'"a,b",c,"d,e"',
    b'"a""b",c,d',
    b'"a\\"b",c,d',
    b'"a\\\\",b,c',
    b'"a\\\\"b,c",d,e',
    b'"a\\,b",c',
    b'"a\\',
    b'"',
    b'""',
    b'"""',
    b'"a',
    b'a,"b',
    b'a,"b,c',
    b'"a"b,c,d',
    b'"a"b"c,d',
    b'"a" ,b',
    b'"a" b,c',
    b'"a" b"x',
    b'"a"\xc3\xa9"x,y',
    b'"a" "b",c',
    b'"a"\\b,c,d"e,f',
    b'"a"\\"b"\\c,d,e,f',
    b'"a"\\',
    b'a"b,c""d,\\"e',
    b" a , b , c ",
    b' "a" , "b"',
    b"#comment,1,2",
    b" #no comment",
    b"\xef\xbb\xbfa,b,c",
    b"\xef\xbb\xbf",
    b"\x00,\x00a",
    b'"\x00a",b',
    b"\xc3\xa9,\xe6\x97\xa5\xe6\x9c\xac,\xf0\x9f\x98\x80",
    b"\xff,\xc3,\xed\xa0\x80",
    b'"\xff\xc3",\xf0\x9f',
    b"NA,null,NULL",
    b'"NA","",',
    b"x" * 300 + b"," + b"y z " * 70,
    b'"' + b"long, " * 90 + b'",z',
    b"a\x0c,b\x0c",
]

TYPES = {
    "b": "boolean",
    "t": "tinyint",
    "s": "smallint",
    "i": "int",
    "l": "bigint",
    "f": "float",
    "d": "double",
    "m": "decimal(10,2)",
    "w": "decimal(38,10)",
    "day": "date",
    "at": "timestamp",
    "local": "timestamp_ntz",
    "v": "string",
}

_NUMBERS = [
    "0",
    "1",
    "-1",
    "+7",
    "127",
    "128",
    "-128",
    "-129",
    "32767",
    "32768",
    "2147483647",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "1.0",
    "1.005",
    "-1.995",
    "99999999.99",
    "99999999.995",
    ".5",
    "1.",
    "1e3",
    "1E-7",
    "1e400",
    "-1e-400",
    "16777217",
    "3.4028236e38",
    "123456789012345678901234567890.12345",
    '"1,234.5"',
    '",1"',
    "\u0663",
    "-\u0663\u0664",
    "\U0001d7df",
    " 5",
    "5 ",
    "\t5",
    "1_0",
    "0x1p3",
    "1d",
    "2f",
    "NaN",
    "Inf",
    "-Inf",
    "Infinity",
    "+Infinity",
    "-NaN",
    "inf",
    "nan",
    "-",
    "+",
    "--1",
]
_WORDS = ["true", "FALSE", "True", "t", "1", "yes", " true", "fal\u017fe", "TRUE"]
_TIMES = [
    "2020-01-01",
    "2020-1-2",
    "2020",
    "2020-02",
    "2020-02-30",
    "+12020-01-01",
    "-0001-01-01",
    "9999999-01-01",
    "2020/01/01",
    "20200101",
    " 2020-01-01 ",
    "2020-01-01T10:00",
    "2020-01-01 10:11:12.123456",
    "2020-01-01T10:11:12.1234567Z",
    "2020-01-01 10:11:12 GMT+1",
    "2020-01-01T10:11:12GMT-02:00",
    "2020-01-01GMT",
    "2020-01-01 10:11:12 Europe/Paris",
    "2020-01-01 10:11:12+01:00",
    "2020-01-01 25:00:00",
    "2020-03-08 02:30:00",
    "0001-01-01 00:00:00",
    "1900-01-01 00:00:00",
    "19723",
    "GMT",
]


def typed_lines() -> list[str]:
    """Return lines of a field for each of :data:`TYPES`, valid and not, quoted, empty and missing."""
    source = random.Random(11)
    choices = {"b": _WORDS, "day": _TIMES, "at": _TIMES, "local": _TIMES}
    lines = []
    for number in range(400):
        fields = []
        for name in TYPES:
            text = source.choice(choices.get(name, _NUMBERS))
            chance = source.random()
            if chance < 0.1:
                text = source.choice(["", '""', "NA", "x"])
            elif chance < 0.3 and not text.startswith('"'):
                text = f'"{text}"'
            fields.append(text)
        kept = source.randrange(14) if number % 10 == 0 else 13
        lines.append(",".join(fields[:kept] + ["more"] * (number % 37 == 0)))
    return lines


def _write_lines(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "unix.csv").write_bytes(b"\n".join(LINES) + b"\n")
    (folder / "dos.csv").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(LINES[::-1]))
    (folder / "mac.csv").write_bytes(b"\r".join(LINES[20:]))
    (folder / "empty.csv").write_bytes(b"")
    (folder / "mark.csv").write_bytes(b"\xef\xbb\xbf")
    (folder / "ends.csv").write_bytes(b"\n\r\n\n\r")
    (folder / "members.csv.gz").write_bytes(gzip.compress(b"\n".join(LINES) + b'\n"x') + gzip.compress(b'y",z\n'))


@csv_table()
def csv_lines(_spark: SparkSession, folder: Path) -> str:
    """Lines in files that end them in every way, and as gzip, with the text of malformed ones."""
    _write_lines(folder)
    return "a string, bad string, b string, c string"


@csv_table(header="true", comment="#", escape='"', nullValue="NA", emptyValue="none", mode="DROPMALFORMED")
def csv_options(_spark: SparkSession, folder: Path) -> str:
    """The same lines below headers, with comments, quotes as escapes, and values for NULL and empty fields."""
    _write_lines(folder)
    (folder / "header.csv").write_bytes(b"\n #x\n#y\n\r\nA,b\n1,2,3\n#4\n5,NA,\"\"\n")
    (folder / "header only.csv").write_bytes(b"a,b,c")
    return "a string, b string, c string"


@csv_table(ignoreLeadingWhiteSpace="true", ignoreTrailingWhiteSpace="true", sep="\t", quote="'")
def csv_spaces(_spark: SparkSession, folder: Path) -> str:
    """Lines of fields between tabs, without the white space around them."""
    folder.mkdir(parents=True)
    changed = [line.replace(b",", b"\t").replace(b'"', b"'") for line in LINES]
    (folder / "a.csv").write_bytes(b"\n".join(changed))
    (folder / "b.csv").write_bytes(b"\n".join(line.replace(b"b", b" b ") for line in changed))
    return "a string, b string, c string"


@csv_table()
def csv_typed(_spark: SparkSession, folder: Path) -> str:
    """Values of all types, valid and not."""
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("\n".join(typed_lines()), encoding="utf-8")
    return ", ".join(f"{name} {kind}" for name, kind in TYPES.items()) + ", _corrupt_record string"


@csv_table(header="true", mode="DROPMALFORMED", nanValue="x", positiveInf="NA", negativeInf="0")
def csv_dropped(_spark: SparkSession, folder: Path) -> str:
    """The same values in a read that drops malformed lines, with other words for doubles."""
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("\n".join(["header", *typed_lines()]), encoding="utf-8")
    return ", ".join(f"{name} {kind}" for name, kind in TYPES.items())


@csv_table(header="true")
def csv_days(_spark: SparkSession, folder: Path) -> str:
    """9 000 lines in files below partitions."""
    source = random.Random(3)
    words = ["the", "a", "engine", "", "na\u00efve", '"a, b"']
    for number in range(3):
        place = folder / f"day=2024-01-0{number + 1}"
        place.mkdir(parents=True)
        lines = [f"{row},{source.choice(words)},{source.random():.4f},{row}.{row % 100:02}" for row in range(3000)]
        (place / "rows.csv").write_text("\n".join(["id,word,share,price", *lines]) + "\n", encoding="utf-8")
    return "id int, word string, share double, price decimal(8,2), day date"

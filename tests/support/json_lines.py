"""Random lines of JSON: valid ones, some with every kind of damage, and the schemas and options of their reads."""

from __future__ import annotations

import random
from collections.abc import Mapping

_SCALARS = [
    "0", "-0", "1", "-12", "127", "200", "40000", "3000000000", "12345678901234567890", "1.0", "1.50", "-0.0", "1e5",
    "1E400", "0.1234567890123456789", "007", "-05", "1.", ".5", "+1", "1e", "1e+", "-", "NaN", "Infinity", "-INF",
    "+INF", "-Infinity", "true", "false", "null", "tru", "truex", "nulll", "TRUE", '""', '"x"', '"a b"',
    r'"\n\u00e9\"\/"', r'"\ud83d\ude00"', r'"\ud83d"', r'"\ud83d\u00e9"', r'"\q"', r'"\'"', r'"\u12"', '"é€😀"',
    '"\x01"', '"open', "'s'",
    "'a\"b'", r"'it\'s'", "'\x02'", '"2020-01-02"', '"2020-01-02T03:04:05.678"', '"2020-01-02 03:04:05+01:00"',
    '"1.5"', '"1,234"', '"NaN"', '"true"', '"12"', "/*c*/1", "1//c", "é", "x", "#", "{}", "[]", "[1 2]", "[tru,1]",
    "[1,]", '{"x":}', '[{"x":1},{"x":"y"}]', '{"x":1,"y":"z"}', "[1.50,  -0,\"é\", null ]", '{"x" : [ {"y":1e2} ] }',
    '{"x":1,"x":2}', '{"x":null}', "{x:1}", '{"k":1,"l":"2"}', "[[1,2],[3]]", "[[1],{}]", "[null]", '["a",1,true]',
    r'{"\ud83d":1}', r'{"\ud83d\ude00":2}', r'{"\ude00":3}', r'{"\ud83d\u0061":"x"}', r'{"\n":4}',
]  # fmt: skip
_NAMES = [
    '"a"', '"b"', '"c"', '"x"', '"A"', '"a b"', "a", "b", "'a'", r'"\u0061"', r'"\ud83d"', r'"\ud83d\ude00"', '""',
    '"é"', "é", '"a', "a-b", "1",
]  # fmt: skip
#: Without FF: Jackson takes a name with it for another one that it has seen, in whichever line.
_ODD_BYTES = [
    b"\xfe", b"\xc3", b"\xc3\xa9", b"\xed\xa0\x80", b"\xed\xa0\xbd\xed\xb8\x80", b"\xc0\x80", b"\xf0\x9f\x98\x80",
    b"\xf0\x9f", b"\xf5\x80\x80\x80", b"\xe2\x82", b"\x80", b"\x00", b"\x0b", b"\x7f", b"\\", b'"', b"'", b"/", b"*",
    b",", b":", b"{", b"}", b"[", b"]", b" ", b"\t", b"0", b"-", b"e", b".", b"u", b"\\u", b"n", b"/*", b"*/", b"//",
]  # fmt: skip
_WHOLE = [
    b"", b" ", b"\t ", b"null", b"1", b'"a"', b"x", b"[]", b"[ ]", b"[null]", b"[1]", b"[{}]", b"{}", b"{", b"[{}",
    b"true", b"{} x", b"{}{}", b"[{}]]", b"\xef\xbb\xbf{}", b"\xef\xbb\xbf", b"\x00", b"{\x00",
    b"\xef\xbb\xbf{\"a\":7, \"b\":8}",
]  # fmt: skip

#: Schemas of reads; all have a column that is never there, and some the text of malformed lines.
SCHEMAS = [
    "a string, b string, c string",
    "a int, b bigint, none string, _corrupt_record string",
    "a double, b float, c string, _corrupt_record string",
    "a boolean, b tinyint, c smallint",
    "a decimal(10,2), b decimal(38,5), _corrupt_record string",
    "a date, b timestamp, c timestamp_ntz",
    "a array<int>, b array<string>, c array<struct<x:int,y:string>>, _corrupt_record string",
    "a struct<x:int,y:string>, b struct<x:array<double>>, c map<string,int>",
    "a map<string,string>, b array<array<bigint>>, c struct<x:string,y:string>, _corrupt_record string",
    "_corrupt_record string, a array<boolean>, x string, B bigint",
]

OPTIONS: list[Mapping[str, str]] = [
    {},
    {"mode": "DROPMALFORMED"},
    {"mode": "FAILFAST"},
    {"allowComments": "true", "allowUnquotedFieldNames": "true"},
    {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"},
    {"allowNumericLeadingZeros": "true", "allowBackslashEscapingAnyCharacter": "true"},
    {"allowUnquotedControlChars": "true"},
    {"encoding": "UTF-8"},
    {"encoding": "utf-8", "allowComments": "true", "allowUnquotedFieldNames": "true"},
]


def random_lines(source: random.Random, count: int) -> list[bytes]:
    """Return lines without ends of lines."""
    lines = [_line(source) for _ in range(count)]
    return [line.replace(b"\n", b" ").replace(b"\r", b" ") for line in lines]


def _line(source: random.Random) -> bytes:
    chance = source.random()
    if chance < 0.05:
        return source.choice(_WHOLE)
    if chance < 0.08:
        encoding = source.choice(["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16", "utf-32"])
        return _object(source).encode(encoding)
    text = _object(source)
    if chance < 0.2:
        text = f"[{text},{_object(source)}]" if source.random() < 0.8 else f"[{text},{source.choice(_SCALARS)}]"
    line = text.encode()
    for _ in range(source.choice([0, 0, 0, 1, 1, 2])):
        at = source.randrange(len(line) + 1)
        line = line[:at] + source.choice(_ODD_BYTES) + line[at + source.choice([0, 0, 1, 2]) :]
    return line


def _object(source: random.Random) -> str:
    space = source.choice(["", "", " ", "  "])
    members = []
    for name in source.sample(['"a"', '"b"', '"c"', '"x"'], source.randrange(5)):
        chosen = source.choice(_NAMES) if source.random() < 0.15 else name
        members.append(f"{chosen}{space}:{space}{_value(source)}")
    return f"{{{f'{space},'.join(members)}{space}}}"


def _value(source: random.Random) -> str:
    chance = source.random()
    if chance < 0.1:
        return f"[{','.join(source.choice(_SCALARS) for _ in range(source.randrange(3)))}]"
    if chance < 0.2:
        return f'{{"x":{source.choice(_SCALARS)},"y":{source.choice(_SCALARS)}}}'
    if chance < 0.5:
        return source.choice(["1", "2.5", '"t"', "true", "[1]", '{"x":1}', "null", '["u"]'])
    return source.choice(_SCALARS)

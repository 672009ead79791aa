"""JSON documents one by one, as Jackson reads and writes them for Spark (ReaderBasedJsonParser, UTF8JsonGenerator).

Strings are read in single or double quotes, with control characters. Texts are sequences of UTF-16 units, as in Java: a
character beyond the 16 bits is two surrogates, and one of them may be alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

#: ("{", ""), ("}", ""), ("[", ""), ("]", ""), ("name", …), ("string", …), ("integer", …), ("float", …), ("literal", …).
Token: TypeAlias = tuple[str, str]
#: A step of a path: the name of a member or the place of an element.
Step: TypeAlias = str | int
PrintDouble: TypeAlias = Callable[[float], str]

_DEEPEST, _LONGEST_NUMBER, _LONGEST_NAME, _LONGEST_STRING = 1000, 1000, 50_000, 20_000_000
_SPACE = re.compile("[ \t\n\r]*")
_STRINGS = {
    quote: re.compile(rf"{quote}([^{quote}\\]*(?:\\.[^{quote}\\]*)*){quote}", re.DOTALL) for quote in "\"'"
}
_ESCAPE = re.compile(r"\\(?:u(.{4})|(.))", re.DOTALL)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(?![0-9])(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![.eE])")
_LITERAL = re.compile("true|false|null")
_WRITTEN = re.compile("[\"\\\\\0-\x1f\ud800-\udfff]")
_WRITTEN_BY_WRITER = re.compile("[\"\\\\\0-\x1f]")
_NAMED = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_WIDE = re.compile("[\U00010000-\U0010ffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class JsonError(ValueError):
    """Jackson rejects a document, or cannot write a value."""


def units(text: str) -> str:
    """Return a text with two surrogates for each character beyond 16 bits."""
    return _WIDE.sub(lambda found: _pair(ord(found[0]) - 0x10000), text)


def _pair(offset: int) -> str:
    return chr(0xD800 + (offset >> 10)) + chr(0xDC00 + (offset & 0x3FF))


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of the first value of a document; none if it is empty.

    Raise :class:`JsonError` at the first token that Jackson rejects. What follows the value is not read.
    """
    text = units(text)
    at, closings = _after_space(text, 0), []
    if at == len(text):
        return
    while True:
        character = text[at : at + 1]
        if character and character in "{[":
            closings.append("}" if character == "{" else "]")
            if len(closings) > _DEEPEST:
                raise JsonError("too deep")
            yield character, ""
            at = _after_space(text, at + 1)
            if text[at : at + 1] != closings[-1]:
                if character == "{":
                    name, at = _name(text, at)
                    yield "name", name
                continue
            yield closings.pop(), ""
            at += 1
        else:
            token, at = _scalar(text, at, is_root=not closings)
            yield token
        while closings:
            at = _after_space(text, at)
            character = text[at : at + 1]
            at += 1
            if character == ",":
                at = _after_space(text, at)
                if closings[-1] == "}":
                    name, at = _name(text, at)
                    yield "name", name
                break
            if character != closings[-1]:
                raise JsonError("a comma or an end is missing")
            yield closings.pop(), ""
        else:
            return


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None, "the pattern matches the empty text"
    return found.end()


def _name(text: str, at: int) -> tuple[str, int]:
    name, at = _string(text, at)
    if len(name) > _LONGEST_NAME:
        raise JsonError("a name is too long")
    at = _after_space(text, at)
    if text[at : at + 1] != ":":
        raise JsonError("a colon is missing")
    return name, _after_space(text, at + 1)


def _string(text: str, at: int) -> tuple[str, int]:
    pattern = _STRINGS.get(text[at : at + 1])
    found = pattern.match(text, at) if pattern else None
    if found is None:
        raise JsonError("a string is missing")
    return (_ESCAPE.sub(_unescaped, found[1]) if "\\" in found[1] else found[1]), found.end()


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        # Jackson looks at the lower byte of each digit.
        digits = "".join(chr(ord(digit) & 0xFF) for digit in found[1])
        if re.fullmatch("[0-9a-fA-F]{4}", digits) is None:
            raise JsonError("an escape is wrong")
        return chr(int(digits, 16))
    if found[2] not in _SHORT:
        raise JsonError("an escape is wrong")
    return _SHORT[found[2]]


def _scalar(text: str, at: int, *, is_root: bool) -> tuple[Token, int]:
    character = text[at : at + 1]
    if character and character in "\"'":
        value, at = _string(text, at)
        return ("string", value), at
    found = _NUMBER.match(text, at)
    if found is not None:
        end = found.end()
        if is_root and end < len(text) and text[end] not in " \t\n\r":
            raise JsonError("a number ends with another character")
        _check_length(found)
        return ("float" if found[2] or found[3] else "integer", found[0]), end
    found = _LITERAL.match(text, at)
    if found is None or _is_part_of_word(text[found.end() : found.end() + 1]):
        raise JsonError("a value is missing")
    return ("literal", found[0]), found.end()


def _check_length(number: re.Match[str]) -> None:
    """Raise for too many digits; Jackson does not count the 0 before a fraction or an exponent alone."""
    digits = sum(sum(map(str.isdigit, part)) for part in number.groups(""))
    if digits - (number[1] == "0" and not (number[2] and number[3])) > _LONGEST_NUMBER:
        raise JsonError("a number is too long")


def _is_part_of_word(character: str) -> bool:
    """Return whether a character is one of a Java identifier, of those that Jackson looks at."""
    if not character or character < "0" or character in "]}":
        return False
    kind = unicodedata.category(character)
    return kind[0] in "L" or kind in ("Nl", "Nd", "Sc", "Pc", "Mc", "Mn", "Cf") or "\x7f" <= character <= "\x9f"


def written(value: Sequence[Token], print_double: PrintDouble, *, is_writer: bool = False) -> str:
    """Return the text of a value as UTF8JsonGenerator writes it, in ASCII but for characters of 16 bits.

    If ``is_writer``, as WriterBasedJsonGenerator does, which leaves surrogates as they are.
    """
    parts: list[str] = []
    needs_comma = False
    for kind, text in value:
        if kind in "}]":
            parts.append(kind)
            needs_comma = True
            continue
        if needs_comma:
            parts.append(",")
        needs_comma = kind not in ("{", "[", "name")
        if kind in "{[":
            parts.append(kind)
        elif kind == "name":
            parts.append(_quoted(text, is_writer) + ":")
        elif kind == "string":
            parts.append(_quoted(text, is_writer))
        else:
            parts.append(_number_or_literal(kind, text, print_double))
    return "".join(parts)


def _quoted(text: str, is_writer: bool) -> str:
    _check_string(text)
    escaped = _WRITTEN_BY_WRITER if is_writer else _WRITTEN
    return '"' + escaped.sub(lambda found: _NAMED.get(found[0]) or f"\\u{ord(found[0]):04X}", text) + '"'


def _check_string(text: str) -> None:
    if len(text) > _LONGEST_STRING:
        raise JsonError("a string is too long")


def _number_or_literal(kind: str, text: str, print_double: PrintDouble) -> str:
    if kind == "integer":
        return "0" if text == "-0" else text
    if kind == "float":
        value = float(text)
        printed = print_double(value)
        return printed if abs(value) != float("inf") else f'"{printed}"'
    return text


def raw(text: str) -> bytes:
    """Return a string as UTF8JsonGenerator writes it without quotes: it does not check the first of two surrogates."""
    _check_string(text)
    if _SURROGATE.search(text) is None:
        return text.encode()
    out, at = bytearray(), 0
    while at < len(text):
        unit = ord(text[at])
        if not 0xD800 <= unit <= 0xDFFF:
            out += text[at].encode()
            at += 1
            continue
        low = ord(text[at + 1]) if at + 1 < len(text) else 0
        if not 0xDC00 <= low <= 0xDFFF:
            raise JsonError("a surrogate is alone")
        point = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
        out += bytes((0xF0 | point >> 18, *(0x80 | point >> shift & 0x3F for shift in (12, 6, 0))))
        at += 2
    return bytes(out)


def result(value: Sequence[Token], print_double: PrintDouble) -> bytes:
    """Return a value as Spark's JSON functions do: a string without quotes, others as :func:`written`."""
    if value[0][0] == "string":
        return raw(value[0][1])
    return written(value, print_double).encode()


def value_at(text: str, path: Sequence[Step], print_double: PrintDouble) -> bytes | None:
    """Return the value that a path leads to; None if there is none or Jackson rejects the document."""
    try:
        found = list(tokens(text))
        wanted = _find(found, 0, path)[1] if found else None
        return None if wanted is None else result(wanted, print_double)
    except JsonError:
        return None


def _find(read: Sequence[Token], at: int, path: Sequence[Step]) -> tuple[int, Sequence[Token] | None]:
    """Return the place after the value at ``at``, and the tokens of the value that a path leads to from there."""
    end = value_end(read, at)
    if not path:
        return end, read[at:end]
    step = path[0]
    kind = read[at][0]
    if kind != ("[" if isinstance(step, int) else "{"):
        return end, None
    at += 1
    place = 0
    while read[at][0] not in "}]":
        name: Step = place
        if kind == "{":
            name = read[at][1]
            at += 1
        if name == step and not (kind == "{" and read[at] == ("literal", "null")):
            after, found = _find(read, at, path[1:])
            if found is not None:
                return end, found
        else:
            after = value_end(read, at)
        at = after
        place += 1
    return end, None


def value_end(read: Sequence[Token], at: int) -> int:
    """Return the place after the value at ``at``."""
    depth = 0
    while True:
        kind = read[at][0]
        depth += (kind in "{[") - (kind in "}]")
        at += 1
        if depth == 0 and kind != "name":
            return at


def array_length(text: str) -> int | None:
    """Return the number of elements of a document that is an array; None for another."""
    try:
        read = _children(text, "[")
        return None if read is None else len(read)
    except JsonError:
        return None


def object_keys(text: str) -> list[str] | None:
    """Return the names of the members of a document that is an object; None for another."""
    try:
        read = _children(text, "{")
    except JsonError:
        return None
    return None if read is None else [java_text_of(name) for name, _ in read]


def java_text_of(text: str) -> str:
    """Return a text with ``?`` for half of a surrogate pair, as Java encodes it."""
    if _SURROGATE.search(text) is None:
        return text
    data = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub("?", data)


def _children(text: str, opening: str) -> list[tuple[str, Sequence[Token]]] | None:
    """Return the name (empty in an array) and the tokens of each child; None for another document."""
    stream = tokens(text)
    if next(stream, ("", ""))[0] != opening:
        return None
    read, at = list(stream), 0
    children: list[tuple[str, Sequence[Token]]] = []
    while at < len(read) - 1:
        name = ""
        if opening == "{":
            name = read[at][1]
            at += 1
        end = value_end(read, at)
        children.append((name, read[at:end]))
        at = end
    return children


def last_values(text: str, names: Sequence[str], print_double: PrintDouble) -> list[bytes | None]:
    """Return the last value that is not null of each name; None for all if Jackson rejects the document."""
    values: dict[str, bytes] = {}
    wanted = {units(name) for name in names}
    try:
        for name, value in _children(text, "{") or ():
            if name in wanted and value[0] != ("literal", "null"):
                values[name] = result(value, print_double)
    except JsonError:
        return [None] * len(names)
    return [values.get(units(name)) for name in names]

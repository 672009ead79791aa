"""Reads a JSON document of bytes, as Jackson does for files: UTF8StreamJsonParser, or another encoding that it detects.

The parser decodes UTF-8 in strings and names alone, and takes sequences of bytes that are none of UTF-8: long forms of
characters, and surrogates in strings that nobody asks for. After an error it goes on at other places than that of
texts, :class:`~.json_reader.Reader`.
"""

from __future__ import annotations

import re
import struct

from pyspark_pipeline.expressions.json_parse import JsonError, java_text_of, units
from pyspark_pipeline.expressions.json_reader import (
    LONGEST_WORD,
    STRING,
    Features,
    Reader,
    continues_word,
)

_SPACE = re.compile("[ \t\n\r]*")
_WIDE = (
    "[\xc0-\xdf][\x80-\xbf]|[\xe0-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|[\xf0-\xf7][\x80-\xbf]{3}"
)
_OR_SURROGATE = "|\xed[\xa0-\xbf][\x80-\xbf]"
_CONTROLS = "\x00-\x1f"
#: The contents of strings up to an escape, the end or an error: by the quote, whether they have control characters, and
#: whether they are skipped.
_CONTENTS = {
    (quote, has_controls, is_skipped): re.compile(
        rf"(?:[^{'' if has_controls else _CONTROLS}\\{quote}\x80-\xff]|{_WIDE}{_OR_SURROGATE if is_skipped else ''})*"
    )
    for quote in "\"'"
    for has_controls in (False, True)
    for is_skipped in (False, True)
}
_PLAIN_NAME = {quote: re.compile(rf"[^{_CONTROLS}\\{quote}]*") for quote in "\"'"}
_ANY_NAME = {quote: re.compile(rf"[^\\{quote}]*") for quote in "\"'"}
_MARK = b"\xef\xbb\xbf"
_LAST_POINT = 0x10FFFF
#: The encoding of documents that start with a mark of the byte order; empty for an order that Jackson rejects.
_MARKS = {
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\x00\x00\xff\xfe": "",
    b"\xfe\xff\x00\x00": "",
    b"\xfe\xff": "utf-16-be",
    b"\xff\xfe": "utf-16-le",
}
#: Encodings, and which of the first bytes of their documents are zero, in the order in which Jackson looks for them.
_ZEROS = (
    ("utf-32-be", (True, True, True, False)),
    ("utf-32-le", (False, True, True, True)),
    ("", (True, False, True, True)),
    ("", (True, True, False, True)),
    ("utf-16-be", (True, False)),
    ("utf-16-le", (False, True)),
)


class ByteReader(Reader):
    """A document of UTF-8, in which a character of :attr:`_text` is a byte."""

    _is_of_bytes = True

    def __init__(self, data: bytes, features: Features, start: int = 0) -> None:
        super().__init__(data.decode("latin-1"), features)
        self._data = data
        self._at = start

    def raw_text(self) -> str | bytes:
        """Return the contents of a string, or the bytes of another value, whose end becomes the current token."""
        if self.token == STRING:
            return java_text_of(self.text())
        start = self._start
        self.skip_children()
        found = self._data[start : self._at]
        try:
            return found.decode()
        except UnicodeDecodeError:
            return found

    def _skip_space(self) -> None:
        while True:
            found = _SPACE.match(self._text, self._at)
            assert found is not None, "the pattern matches the empty text"
            self._at = found.end()
            if not self._features.comments or self._text[self._at : self._at + 1] != "/":
                return
            self._at += 1
            self._pass_comment(self._take())

    def _pass_comment(self, mark: str) -> None:
        if mark not in "/*":
            raise JsonError("a comment is wrong")
        while mark == "*" or self._at < len(self._text):
            character = self._take()
            if mark == "*" and character == "*" and self._text[self._at : self._at + 1] == "/":
                self._at += 1
                return
            if mark == "/" and character in "\n\r":
                return
            if character < " " and character not in "\t\n\r":
                raise JsonError("a control character in a comment")
            self._whole(character)

    def _whole(self, character: str) -> str:
        """Read the rest of a character of several bytes; return it, of one beyond 16 bits the lower ones."""
        byte = ord(character)
        if byte < 0x80:
            return character
        count = _following(byte)
        point = byte & (0x3F >> count)
        for _ in range(count):
            byte = ord(self._take())
            if byte & 0xC0 != 0x80:
                raise JsonError("a byte that continues no character")
            point = point << 6 | byte & 0x3F
        return chr(point & 0xFFFF)

    def _name(self, character: str) -> str:
        return _decoded(super()._name(character), is_name=True)

    def _quoted_name(self, quote: str) -> str:
        """Return the bytes of a name, with those of its escapes."""
        parts, pattern = [], (_ANY_NAME if self._features.unquoted_control_chars else _PLAIN_NAME)[quote]
        while True:
            found = pattern.match(self._text, self._at)
            assert found is not None, "the pattern matches the empty text"
            parts.append(found[0])
            self._at = found.end()
            character = self._take()
            if character == quote:
                return "".join(parts)
            if character != "\\":
                raise JsonError("a control character in a name")
            parts.append(self._escape_of_name().encode().decode("latin-1"))

    def _escape_of_name(self) -> str:
        """Return the character of an escape in a name, or of two that are surrogates."""
        high = self._escaped()
        if not "\ud800" <= high <= "\udfff":
            return high
        if high >= "\udc00" or self._text[self._at : self._at + 1] != "\\":
            raise JsonError("a surrogate is alone")
        self._at += 1
        low = self._escaped()
        if not "\udc00" <= low <= "\udfff":
            raise JsonError("a surrogate is alone")
        return chr(0x10000 + ((ord(high) - 0xD800) << 10) + ord(low) - 0xDC00)

    def _skip_string(self) -> None:
        self._is_open = False
        self._parts('"', is_skipped=True)

    def _contents(self, quote: str) -> str:
        return "".join(self._parts(quote, is_skipped=False))

    def _parts(self, quote: str, *, is_skipped: bool) -> list[str]:
        """Return the parts of a string between escapes, and the escapes, as UTF-16; of no use if it is skipped."""
        # Jackson rejects control characters in single quotes always.
        has_controls = self._features.unquoted_control_chars and quote == '"'
        parts, pattern = [], _CONTENTS[quote, has_controls, is_skipped]
        while True:
            found = pattern.match(self._text, self._at)
            assert found is not None, "the pattern matches the empty text"
            if not is_skipped:
                parts.append(_decoded(found[0]))
            self._at = found.end()
            character = self._take()
            if character == quote:
                return parts
            if character != "\\":
                self._whole(character)
                raise JsonError("a character that a string has not")
            parts.append(self._escaped())

    def _end_word(self, following: str, matched: int) -> None:
        if following >= "\x80":
            # Jackson takes the first byte of the character for its second one.
            self._at += following >= "\xc0" and following < "\xf8"
            raise JsonError("a byte that continues no character")
        super()._end_word(following, matched)

    def _pass_word(self, matched: int) -> None:
        """Pass the rest of a word, and the character that ends it."""
        while self._at < len(self._text):
            matched += 1
            if not continues_word(self._whole(self._take())) or matched >= LONGEST_WORD:
                return


class WideReader(Reader):
    """A document of UTF-16 or UTF-32."""

    def raw_text(self) -> str:
        """Return the contents of a string; that of another value is empty, as Spark does not know its bytes."""
        if self.token == STRING:
            return java_text_of(self.text())
        self.skip_children()
        return ""


def open_bytes(data: bytes, features: Features) -> ByteReader | WideReader:
    """Return the reader of a document in the encoding that Jackson detects; raise :class:`JsonError` for none."""
    is_marked = len(data) >= 4
    if is_marked and data.startswith(_MARK):
        # The places of tokens count from the mark on.
        return ByteReader(data, features, len(_MARK))
    for mark, encoding in _MARKS.items() if is_marked else ():
        if data.startswith(mark):
            return WideReader(_wide_text(data[len(mark) :], encoding), features)
    zeros = [byte == 0 for byte in data[:4]]
    for encoding, expected in _ZEROS:
        pairs = zip(zeros, expected, strict=False)
        if len(zeros) >= len(expected) and all(zero or not wanted for zero, wanted in pairs):
            return WideReader(_wide_text(data, encoding), features)
    return ByteReader(data, features)


def _wide_text(data: bytes, encoding: str) -> str:
    if not encoding:
        raise JsonError("an order of bytes that is none of UTF-32")
    if "16" in encoding:
        return data.decode(encoding, "replace")
    points = struct.unpack(f"{'>' if 'be' in encoding else '<'}{len(data) // 4}I", data[: len(data) // 4 * 4])
    if any(point > _LAST_POINT for point in points):
        raise JsonError("a number that is no character")
    return "".join(map(chr, points))


def _decoded(text: str, *, is_name: bool = False) -> str:
    """Return the UTF-16 units of bytes; raise :class:`JsonError` where Jackson does."""
    if text.isascii():
        return text
    data = text.encode("latin-1")
    try:
        return units(data.decode())
    except UnicodeDecodeError:
        return _leniently_decoded(data, is_name)


def _leniently_decoded(data: bytes, is_name: bool) -> str:
    found, at = [], 0
    while at < len(data):
        byte = data[at]
        at += 1
        if byte < 0x80:
            found.append(byte)
            continue
        count = _following(byte)
        point = byte & (0x3F >> count)
        for place in range(at, at + count):
            if place >= len(data) or data[place] & 0xC0 != 0x80:
                raise JsonError("a byte that continues no character")
            point = point << 6 | data[place] & 0x3F
        at += count
        if count == 2 and 0xD800 <= point <= 0xDFFF:
            raise JsonError("a surrogate")
        if count < 3:
            found.append(point)
        else:
            point -= 0x10000
            high = 0xD800 + (point >> 10) if is_name else 0xD800 | point >> 10
            found += [high & 0xFFFF, 0xDC00 | point & 0x3FF]
    return "".join(map(chr, found))


def _following(byte: int) -> int:
    """Return how many bytes follow the first one of a character beyond ASCII; raise :class:`JsonError` for another."""
    count = 1 if byte & 0xE0 == 0xC0 else 2 if byte & 0xF0 == 0xE0 else 3 if byte & 0xF8 == 0xF0 else 0
    if not count:
        raise JsonError("a byte that begins no character")
    return count

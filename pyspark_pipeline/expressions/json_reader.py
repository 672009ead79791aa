"""Reads a JSON document token by token, as Jackson's ReaderBasedJsonParser with the features that Spark's readers set.

After an error the reader goes on where Jackson goes on: Spark keeps the fields of a document whose others are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from pyspark_pipeline.expressions.json_parse import JsonError, units

#: The tokens beside brackets: a member's name, a string, numbers, and the literals by their text.
NAME, STRING, INTEGER, FLOAT = "name", "string", "integer", "float"
LITERALS = ("true", "false", "null")

_DEEPEST, _LONGEST_NUMBER, _LONGEST_NAME = 1000, 1000, 50_000
_SPACE = re.compile("[ \t\n\r]*")
_COMMENT = re.compile(r"(?:[ \t\n\r]|/\*.*?\*/|//[^\n\r]*)*", re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PLAIN = {quote: re.compile(rf"[^\x00-\x1f\\{quote}]*") for quote in "\"'"}
_ANY = {quote: re.compile(rf"[^\\{quote}]*") for quote in "\"'"}
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}
_WORDS = {"t": "true", "f": "false", "n": "null", "N": "NaN", "I": "Infinity"}
_WITHOUT_ZEROS = re.compile("^0+(?=[0-9])")
LONGEST_WORD = 256
BUFFER = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The forms beyond JSON that a reader accepts, by the names of Spark's options."""

    comments: bool = False
    unquoted_field_names: bool = False
    single_quotes: bool = True
    numeric_leading_zeros: bool = False
    non_numeric_numbers: bool = True
    backslash_escaping_any_character: bool = False
    unquoted_control_chars: bool = False

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Features:
        """Return the features of Spark's options, whose names are in lower case."""
        return cls(**{FEATURES[name]: value.lower() == "true" for name, value in options.items() if name in FEATURES})


#: The features by the names of Spark's options, in lower case.
FEATURES = {f"allow{field.name.replace('_', '')}": field.name for field in fields(Features)}


@dataclass(slots=True)
class _Context:
    closing: str
    index: int = -1
    name: str | None = None


class Reader:
    """A document, of which :meth:`next` reads token after token; raises :class:`JsonError` where Jackson does."""

    #: Whether Jackson reads bytes, where it counts the 0 of a fraction and reads each character of a number singly.
    _is_of_bytes = False

    def __init__(self, text: str, features: Features) -> None:
        self._features = features
        self._text = units(text)
        self._at = 0
        self._contexts = [_Context("")]
        self._pending: str | None = None
        self._is_open = False
        self._value = ""
        #: The start of the current value or closing bracket.
        self._start = 0
        #: The current token; None before the first, at the end, and after an error between a name and its value.
        self.token: str | None = None

    def next(self) -> str | None:
        """Read and return the next token; None at the end."""
        if self.token == NAME:
            self.token, self._pending = self._pending, None
            if self.token in ("{", "["):
                self._open(self.token)
            return self.token
        if self._is_open:
            self._skip_string()
        self._skip_space()
        if self._at == len(self._text):
            if len(self._contexts) > 1:
                raise JsonError("the end of the document")
            self.token = None
            return None
        character = self._take()
        if character < " ":
            raise JsonError("a control character")
        context = self._contexts[-1]
        if character in "]}":
            self._start = self._at - 1
            if character != context.closing:
                raise JsonError("another bracket")
            self._contexts.pop()
            self.token = character
            return character
        context.index += 1
        if context.closing and context.index > 0:
            if character != ",":
                raise JsonError("a comma is missing")
            character = self._after_space()
        if context.closing == "}":
            context.name = self._name(character)
            self.token = NAME
            if self._after_space() != ":":
                raise JsonError("a colon is missing")
            self._pending = self._read_value(self._after_space())
            return NAME
        token = self._read_value(character)
        if token in ("{", "["):
            self._open(token)
        self.token = token
        return token

    @property
    def name(self) -> str | None:
        """The name of the member whose value the current token is or begins; None in an array."""
        is_inside = self.token in ("{", "[") and len(self._contexts) > 1
        return self._contexts[-2 if is_inside else -1].name

    def text(self) -> str:
        """Return the contents of a string, or the text of a number."""
        if self._is_open:
            self._finish()
        return self._value

    def skip_children(self) -> None:
        """Read up to the end of the array or object that the current token begins; nothing at another token."""
        if self.token not in ("{", "["):
            return
        depth = 1
        while depth:
            token = self.next()
            if token is None:
                return
            depth += (token in ("{", "[")) - (token in ("}", "]"))

    def _open(self, bracket: str) -> None:
        self._contexts.append(_Context("}" if bracket == "{" else "]"))
        if len(self._contexts) - 1 > _DEEPEST:
            raise JsonError("too deep")

    def _take(self) -> str:
        if self._at >= len(self._text):
            raise JsonError("the end of the document")
        self._at += 1
        return self._text[self._at - 1]

    def _skip_space(self) -> None:
        found = (_COMMENT if self._features.comments else _SPACE).match(self._text, self._at)
        assert found is not None, "the pattern matches the empty text"
        self._at = found.end()
        if self._features.comments and self._text[self._at : self._at + 1] == "/":
            is_open = self._text[self._at + 1 : self._at + 2] == "*"
            self._at = len(self._text) if is_open else min(self._at + 2, len(self._text))
            raise JsonError("a comment is wrong")

    def _after_space(self) -> str:
        self._skip_space()
        return self._take()

    def _name(self, character: str) -> str:
        if character == '"' or (character == "'" and self._features.single_quotes):
            name = self._quoted_name(character)
        elif not self._features.unquoted_field_names:
            self._whole(character)
            raise JsonError("a name is missing")
        elif _is_in_name(character):
            name = self._unquoted(self._at - 1)
        else:
            raise JsonError("a name is missing")
        if len(name) > _LONGEST_NAME:
            raise JsonError("a name is too long")
        return name

    def _quoted_name(self, quote: str) -> str:
        return self._contents(quote)

    def _unquoted(self, start: int) -> str:
        while _is_in_name(self._text[self._at : self._at + 1]):
            self._at += 1
        return self._text[start : self._at]

    def _skip_string(self) -> None:
        self._finish()

    def _finish(self) -> None:
        self._is_open = False
        self._value = self._contents('"')

    def _contents(self, quote: str) -> str:
        parts, pattern = [], (_ANY if self._features.unquoted_control_chars else _PLAIN)[quote]
        while True:
            found = pattern.match(self._text, self._at)
            assert found is not None, "the pattern matches the empty text"
            parts.append(found[0])
            self._at = found.end()
            character = self._take()
            if character == quote:
                return "".join(parts)
            if character != "\\":
                raise JsonError("a control character in a string")
            parts.append(self._escaped())

    def _escaped(self) -> str:
        character = self._take()
        if character != "u":
            character = self._whole(character)
            is_itself = (character == "'" and self._features.single_quotes) or (
                character not in _SHORT and self._features.backslash_escaping_any_character
            )
            if not is_itself and character not in _SHORT:
                raise JsonError("an escape is wrong")
            return character if is_itself else _SHORT[character]
        unit = 0
        for _ in range(4):
            # Jackson looks at the lower byte of each digit.
            digit = chr(ord(self._take()) & 0xFF)
            if digit not in "0123456789abcdefABCDEF":
                raise JsonError("an escape is wrong")
            unit = unit * 16 + int(digit, 16)
        return chr(unit)

    def _whole(self, character: str) -> str:
        """Read the rest of a character that takes several places; return it."""
        return character

    def _read_value(self, character: str) -> str:
        """Return the token of a value that begins with a character; the contents of a string are not yet read."""
        self._start = self._at - 1
        if character in "{[":
            return character
        if character == '"':
            self._is_open = True
            return STRING
        if character == "'" and self._features.single_quotes:
            self._value = self._contents("'")
            return STRING
        if character in "-+":
            return self._signed(character)
        if character in "0123456789":
            return self._number(self._at - 1)
        if character in _WORDS:
            word = _WORDS[character]
            self._match(word, 1)
            return word if word in LITERALS else self._not_finite(word)
        if _starts_word(character):
            self._pass_word(1)
        raise JsonError("a value is missing")

    def _signed(self, sign: str) -> str:
        character = self._take()
        if sign == "-" and character in "0123456789":
            return self._number(self._at - 2)
        if character == "I":
            character = self._take()
            word = {"N": "INF", "n": "Infinity"}.get(character)
            if word is not None:
                self._match(sign + word, 3)
                return self._not_finite(sign + word)
        raise JsonError("a digit is missing")

    def _not_finite(self, word: str) -> str:
        if not self._features.non_numeric_numbers:
            raise JsonError("a number is not finite")
        self._value = word
        return FLOAT

    def _number(self, start: int) -> str:
        found = _NUMBER.match(self._text, start)
        assert found is not None, "the number has a digit"
        digits = found[0].lstrip("-")
        has_zero = digits[0] == "0"
        text = found[0]
        if has_zero and digits[1:2].isdigit() and self._features.numeric_leading_zeros:
            digits = _WITHOUT_ZEROS.sub("", digits)
            text = "-" + digits if text[0] == "-" else digits
        elif has_zero and digits[1:2].isdigit():
            self._at = start + len(found[0]) - len(digits) + 1
            raise JsonError("a zero before a number")
        end = found.end()
        following = self._text[end : end + 1]
        is_float = not digits.isdigit()
        if (following == "." and not is_float) or (following in ("e", "E") and "e" not in digits and "E" not in digits):
            wrong = end + 1 + (following != "." and self._text[end + 1 : end + 2] in ("+", "-"))
            # Jackson goes on behind the wrong character if it reads one after the other, else behind the integral part
            is_read_singly = self._is_of_bytes or has_zero or wrong >= self._end_of_buffer(start)
            self._at = 1 + (wrong if is_read_singly else start + len(re.split("[.eE]", found[0])[0]))
            raise JsonError("a digit is missing")
        self._at = end
        if len(self._contexts) == 1 and following and following not in " \t\n\r":
            raise JsonError("a number ends with another character")
        count = sum(map(str.isdigit, digits))
        parts = sum(part in digits for part in ".eE")
        if count - (has_zero and parts < 2 and not self._is_of_bytes) > _LONGEST_NUMBER:
            raise JsonError("a number is too long")
        self._value = text
        return FLOAT if is_float else INTEGER

    def _end_of_buffer(self, at: int) -> int:
        """Return the end of the part of the document that Jackson's buffer holds when it reads the character ``at``."""
        end = 0
        while end <= at:
            end += BUFFER
            if "\ud800" <= self._text[end - 1 : end] <= "\udbff":  # no buffer ends within a surrogate pair
                end -= 1
        return end

    def _match(self, word: str, place: int) -> None:
        """Read the rest of a word, of which ``place`` characters are read."""
        for at in range(place, len(word)):
            if self._text[self._at : self._at + 1] != word[at]:
                self._pass_word(at)
                raise JsonError("another word")
            self._at += 1
        following = self._text[self._at : self._at + 1]
        if following >= "0" and following not in "]}":
            self._end_word(following, len(word))

    def _end_word(self, following: str, matched: int) -> None:
        """Raise if a character continues a word of ``matched`` characters."""
        if continues_word(following):
            self._pass_word(matched)
            raise JsonError("a longer word")

    def _pass_word(self, matched: int) -> None:
        """Pass the rest of a word that is none of JSON, of which ``matched`` characters are read."""
        for _ in range(LONGEST_WORD - matched):
            if not continues_word(self._text[self._at : self._at + 1]):
                return
            self._at += 1


def _is_in_name(character: str) -> bool:
    """Return whether a character, or a byte as Latin-1, may be in a name without quotes, also as the first one."""
    return character > " " and (character in "@#*-+" or continues_word(character))


def _starts_word(character: str) -> bool:
    return character.isidentifier() or character == "$"


def continues_word(character: str) -> bool:
    """Return whether a character is part of a Java identifier, of those below U+0100 and the letters beyond."""
    return bool(character) and (
        (("a" + character).isidentifier() and character != "·") or character == "$" or character < "\t"
        or "\x0e" <= character < "\x1c" or "\x7f" <= character <= "\x9f" or character in "¢£¤¥\xad"
    )  # fmt: skip

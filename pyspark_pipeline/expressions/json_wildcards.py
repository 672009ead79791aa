"""Values at paths with wildcards in JSON documents (Spark: GetJsonObjectEvaluator), which several places match.

What is written depends on the wildcards before: an array of the matches, the only match without an array, or an array
for each level. An array is written although no element matches; the result counts if another place does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from pyspark_pipeline.expressions.json_parse import JsonError, PrintDouble, Step, Token, raw, tokens, value_end, written


class Wildcard(Enum):
    """A step to every element of an array."""

    EVERY = "[*]"


class _Style(Enum):
    """How matches are written: strings without quotes; with quotes; or the elements of arrays without the arrays."""

    RAW = "raw"
    QUOTED = "quoted"
    FLAT = "flat"


class _Output:
    """The values that a generator of Jackson wrote: one of bytes at the root, of characters into a buffer."""

    def __init__(self, print_double: PrintDouble, *, is_buffer: bool) -> None:
        self._print_double = print_double
        self._is_buffer = is_buffer
        self._parts: list[str | bytes] = []
        self._counts = [0]

    def copy(self, value: Sequence[Token]) -> None:
        """Write a value as it is."""
        self._separate()
        self._parts.append(written(value, self._print_double, is_writer=self._is_buffer))

    def put(self, text: str) -> None:
        """Write the text of a value."""
        self._separate()
        self._parts.append(text if self._is_buffer else raw(text))

    def put_string(self, text: str) -> None:
        """Write a string without quotes."""
        self._parts.append(raw(text))

    def start(self) -> None:
        """Begin an array."""
        self._separate()
        self._parts.append("[")
        self._counts.append(0)

    def end(self) -> None:
        """End an array."""
        self._parts.append("]")
        self._counts.pop()

    def _separate(self) -> None:
        if self._counts[-1]:
            self._parts.append("," if len(self._counts) > 1 else " ")
        self._counts[-1] += 1

    def text(self) -> str:
        """Return what was written into a buffer."""
        return "".join(part for part in self._parts if isinstance(part, str))

    def data(self) -> bytes:
        """Return what was written at the root."""
        return b"".join(part.encode() if isinstance(part, str) else part for part in self._parts)


def matches_at(text: str, path: Sequence[Step | Wildcard], print_double: PrintDouble) -> bytes | None:
    """Return the matches of a path in a document; None if there are none or Jackson rejects the document."""
    try:
        read = list(tokens(text))
        output = _Output(print_double, is_buffer=False)
        is_found = bool(read) and _Search(read, print_double).write(0, _Style.RAW, path, output)
        return output.data() if is_found else None
    except JsonError:
        return None


class _Search:
    """Writes the matches in a document of which the tokens are ``read``."""

    def __init__(self, read: Sequence[Token], print_double: PrintDouble) -> None:
        self._read = read
        self._print_double = print_double

    def write(self, at: int, style: _Style, path: Sequence[Step | Wildcard], output: _Output) -> bool:
        """Write the matches of ``path`` in the value at ``at``; return whether there are some."""
        kind, text = self._read[at]
        if not path:
            if kind == "[" and style is _Style.FLAT:
                return self._write_each(at, style, path, output) > 0
            if kind == "string" and style is _Style.RAW:
                output.put_string(text)
            else:
                output.copy(self._read[at : value_end(self._read, at)])
            return True
        step, rest = path[0], path[1:]
        if kind == "{" and isinstance(step, str):
            return any(self.write(place, style, rest, output) for place in self._members(at, step))
        if kind != "[" or isinstance(step, str):
            return False
        if isinstance(step, int):
            if rest[:1] == (Wildcard.EVERY,):
                style = _Style.QUOTED
            place = next((place for i, place in enumerate(self._elements(at)) if i == step), None)
            return place is not None and self.write(place, style, rest, output)
        return self._write_every(at, style, rest, output)

    def _write_every(self, at: int, style: _Style, rest: Sequence[Step | Wildcard], output: _Output) -> bool:
        """Write the matches in every element of the array at ``at``."""
        is_double = rest[:1] == (Wildcard.EVERY,)
        if is_double or style is _Style.QUOTED:
            output.start()
            below = (_Style.FLAT, rest[1:]) if is_double else (style, rest)
            found = self._write_each(at, *below, output)
            output.end()
            return found > 0
        buffer = _Output(self._print_double, is_buffer=True)
        buffer.start()
        found = self._write_each(at, _Style.QUOTED if style is _Style.RAW else style, rest, buffer)
        buffer.end()
        if found:
            text = buffer.text()
            output.put(text if found > 1 else text[1:-1])
        return found > 0

    def _write_each(self, at: int, style: _Style, path: Sequence[Step | Wildcard], output: _Output) -> int:
        """Write the matches in each element of the array at ``at``; return the number of elements with some."""
        return sum(self.write(place, style, path, output) for place in self._elements(at))

    def _elements(self, at: int) -> Iterator[int]:
        at += 1
        while self._read[at][0] != "]":
            yield at
            at = value_end(self._read, at)

    def _members(self, at: int, name: str) -> Iterator[int]:
        """Yield the places of the values of a name that are not null."""
        at += 1
        while self._read[at][0] != "}":
            if self._read[at][1] == name and self._read[at + 1] != ("literal", "null"):
                yield at + 1
            at = value_end(self._read, at + 1)

"""Java's regular expressions: a parser of the supported ones, and their forms in RE2 and in Python's ``re``.

Supported: literals, escapes, classes without nested classes, ``.``, ``^``, ``$``, groups, alternatives, greedy and lazy
quantifiers, look-around, references to groups, and ``(?i)`` at the start; ``RegexSupport.scala`` decides the same while
planning. A backtracking engine and RE2 prefer the same match, but differ if a repeated part may be empty, and Java does
not reset the groups of a repeated part. Characters are written as code points: names of classes differ in meaning.

Java also looks for matches between the two UTF-16 units of a character, and sees one unit there. Nothing matches only
there as long as sets have all of these characters and units or none, and no condition holds only there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyspark_pipeline.expressions.java_words import WORD, WORD_START

#: Sorted, disjoint ranges of code points.
Ranges: TypeAlias = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
#: The first UTF-16 unit of half a character; sets have characters from here on all or none, but for some of one unit.
_SURROGATE = 0xD800
_AFTER_SURROGATES = 0xE000
#: The groups to which replacements of RE2 can refer.
_MOST_CAPTURED = 9


class UnsupportedPatternError(ValueError):
    """A pattern has a construct that the engine does not support."""


def _ranges(*chars: str | tuple[int, int]) -> Ranges:
    """Return the ranges of single characters and of pairs of code points."""
    pairs = sorted((ord(char), ord(char)) if isinstance(char, str) else char for char in chars)
    merged: list[tuple[int, int]] = []
    for low, high in pairs:
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(merged[-1][1], high)
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: Ranges) -> Ranges:
    starts = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), _LAST]
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)


def _has_pairs(ranges: Ranges) -> bool:
    """Return whether a set has the characters of two UTF-16 units."""
    return bool(ranges) and ranges[-1][1] == _LAST


def _between(first: str, last: str) -> tuple[int, int]:
    return ord(first), ord(last)


_DIGIT, _LOWER, _UPPER = _between("0", "9"), _between("a", "z"), _between("A", "Z")
_SETS = {
    "d": _ranges(_DIGIT), "w": _ranges(_DIGIT, _LOWER, _UPPER, "_"), "s": _ranges(*" \t\n\x0b\f\r"),
}  # fmt: skip
_SETS |= {name.upper(): _complement(ranges) for name, ranges in _SETS.items()}
_POSIX = {
    "Lower": _ranges(_LOWER), "Upper": _ranges(_UPPER), "ASCII": _ranges((0, 0x7F)), "Alpha": _ranges(_LOWER, _UPPER),
    "Digit": _ranges(_DIGIT), "Alnum": _ranges(_DIGIT, _LOWER, _UPPER), "Graph": _ranges((0x21, 0x7E)),
    "Punct": _ranges((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)), "Print": _ranges((0x20, 0x7E)),
    "Blank": _ranges(" ", "\t"), "Cntrl": _ranges((0, 0x1F), "\x7f"), "Space": _SETS["s"],
    "XDigit": _ranges(_DIGIT, _between("a", "f"), _between("A", "F")),
}  # fmt: skip
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_ANY = _complement(_ranges(*"\n\r\x85\u2028\u2029"))
_POSIX_NAME = re.compile(r"\{([A-Za-z]+)\}")
_QUANTIFIER = re.compile(r"([*+?])|\{(\d{1,3})(,(\d{0,3}))?\}")


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Place:
    """A position: ``^`` (the start), ``$`` (the end, or before its line terminator), ``z`` (the end), ``b``."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence_:
    """Parts one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives, of which the first that leads to a match is taken."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A group; ``number`` is that of a capturing one."""

    body: Node
    number: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """A condition on the text before or after a position; ``kind`` is ``=``, ``!``, ``<=`` or ``<!``."""

    body: Node
    kind: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part repeated ``low`` to ``high`` times; ``high`` is None without a limit."""

    body: Node
    low: int
    high: int | None
    is_lazy: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """The text of a group."""

    number: int


Node: TypeAlias = "Chars | Place | Sequence_ | Choice | Group | Look | Repeat | Reference"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern, the number of its groups, and those that Java resets if it tries another way to a match."""

    root: Node
    groups: int
    extractable: frozenset[int]

    @property
    def may_be_empty(self) -> bool:
        """Whether a match may have no characters."""
        return not least_length(self.root)

    def has_groups(self, numbers: Iterable[int | str | None]) -> bool:
        """Return whether the texts of groups are known after a match; 0 is the whole match, strings are ignored."""
        return all(isinstance(number, str) or number == 0 or number in self.extractable for number in numbers)

    def has_replacement(self, text: str) -> bool:
        """Return whether a replacement refers to groups whose texts are known."""
        return self.has_groups(replacement_parts(text, self.groups))


def nodes(node: Node) -> Iterable[Node]:
    """Yield a node and all nodes below it."""
    yield node
    below = {Sequence_: "parts", Choice: "options"}.get(type(node))
    children = getattr(node, below) if below else [node.body] if isinstance(node, Group | Look | Repeat) else []
    for child in children:
        yield from nodes(child)


def least_length(node: Node) -> int:
    """Return a lower bound of the characters of a match."""
    if isinstance(node, Chars):
        return 1
    if isinstance(node, Sequence_):
        return sum(map(least_length, node.parts))
    if isinstance(node, Choice):
        return min(map(least_length, node.options))
    if isinstance(node, Group):
        return least_length(node.body)
    return least_length(node.body) * node.low if isinstance(node, Repeat) else 0


def parse(pattern: str) -> Pattern:
    """Parse a pattern that Java accepts; raise :class:`UnsupportedPatternError`."""
    return _Parser(pattern).parse()


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._ignores_case = pattern.startswith("(?i)")
        self._text = pattern
        self._at = 4 if self._ignores_case else 0
        self._groups = 0
        self._closed: set[int] = set()
        self._looks = 0
        self._has_pairs = self._needs_no_pairs = False
        self._names_no_ascii = self._has_boundary = False

    def parse(self) -> Pattern:
        root = self._choice()
        is_mixed = (self._has_pairs and self._needs_no_pairs) or (self._names_no_ascii and self._has_boundary)
        if self._at < len(self._text) or is_mixed:
            raise self._unsupported()
        return Pattern(root, self._groups, frozenset(self._closed))

    def _unsupported(self) -> UnsupportedPatternError:
        return UnsupportedPatternError(f"unsupported at {self._at}: {self._text}")

    def _peek(self, length: int = 1) -> str:
        return self._text[self._at : self._at + length]

    def _next(self, length: int = 1) -> str:
        found = self._peek(length)
        self._at += length
        if len(found) < length:
            raise self._unsupported()
        return found

    def _accept(self, text: str) -> bool:
        found = self._peek(len(text)) == text
        self._at += len(text) * found
        return found

    def _choice(self) -> Node:
        options = [self._sequence()]
        while self._accept("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            closed = set(self._closed)
            part = self._repeated(self._part())
            if isinstance(part, Repeat) and part.high != 1:
                if not least_length(part.body):
                    raise self._unsupported()
                self._closed = closed
            parts.append(part)
        return parts[0] if len(parts) == 1 else Sequence_(tuple(parts))

    def _repeated(self, part: Node) -> Node:
        found = _QUANTIFIER.match(self._text, self._at)
        if found is None:
            if self._peek() == "{":
                raise self._unsupported()
            return part
        if isinstance(part, Place | Look):
            raise self._unsupported()
        self._at = found.end()
        if found[1]:
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[found[1]]
        else:
            low = int(found[2])
            high = low if found[3] is None else int(found[4]) if found[4] else None
        is_lazy = self._accept("?")
        if self._peek() in ("*", "+", "?", "{"):
            raise self._unsupported()
        return Repeat(part, low, high, is_lazy)

    def _part(self) -> Node:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        if char in "^$":
            return Place(char)
        if char == ".":
            return self._chars(_ANY)
        if char in "*+?{":
            raise self._unsupported()
        return self._chars(self._folded(_ranges(self._checked(char))))

    def _chars(self, ranges: Ranges) -> Node:
        self._has_pairs |= _has_pairs(ranges)
        return Chars(ranges)

    def _checked(self, char: str, last: str | None = None) -> str:
        """Return a character; refuse halves of characters and those of two units, also between two characters."""
        if ord(last or char) >= _SURROGATE and not _AFTER_SURROGATES <= ord(char) <= ord(last or char) <= 0xFFFF:
            raise self._unsupported()
        self._names_no_ascii |= not (last or char).isascii()
        return char

    def _folded(self, ranges: Ranges) -> Ranges:
        """Return a set with both cases of its letters if the pattern ignores case."""
        if not self._ignores_case:
            return ranges
        letters = [chr(code) for low, high in ranges for code in range(low, min(high, 0x7F) + 1)]
        return _ranges(*ranges, *(letter.swapcase() for letter in letters if letter.isalpha()))

    def _group(self) -> Node:
        if self._accept("?:"):
            return Group(self._closing(self._choice()), None)
        for kind in ("=", "!", "<=", "<!"):
            if self._accept(f"?{kind}"):
                self._looks += 1
                body = self._sequence() if kind[0] == "<" else self._choice()
                self._looks -= 1
                if kind[0] == "<" and not all(map(_has_one_length, nodes(body))):
                    raise self._unsupported()
                self._needs_no_pairs |= kind == "<!"
                return Look(self._closing(body), kind)
        if self._peek() == "?" or self._looks:
            raise self._unsupported()
        self._groups += 1
        number = self._groups
        body = self._closing(self._choice())
        self._closed.add(number)
        return Group(body, number)

    def _closing(self, body: Node) -> Node:
        if not self._accept(")"):
            raise self._unsupported()
        return body

    def _escape(self) -> Node:
        kind = self._peek()
        if kind in "AzZ" and kind:
            self._at += 1
            return Place({"A": "^", "z": "z", "Z": "$"}[kind])
        if kind == "b":
            self._at += 1
            self._has_boundary = True
            if self._peek() == "{":
                raise self._unsupported()
            return Place(kind)
        if kind in "123456789" and kind:
            self._at += 1
            if self._ignores_case or self._peek().isdigit() or int(kind) not in self._closed:
                raise self._unsupported()
            return Reference(int(kind))
        found = self._escaped()
        return self._chars(found if isinstance(found, tuple) else self._folded(_ranges(self._checked(found))))

    def _escaped(self) -> str | Ranges:
        """Return the character or the set of an escape, after its backslash."""
        kind = self._next()
        if kind in _SETS:
            return _SETS[kind]
        if kind in _CONTROLS:
            return _CONTROLS[kind]
        if kind in "pP":
            name = _POSIX_NAME.match(self._text, self._at)
            if name is None or name[1] not in _POSIX or (self._ignores_case and name[1] in ("Lower", "Upper")):
                raise self._unsupported()
            self._at = name.end()
            return _POSIX[name[1]] if kind == "p" else _complement(_POSIX[name[1]])
        if kind in "xu":
            digits = self._next(2 if kind == "x" else 4)
            if re.fullmatch("[0-9A-Fa-f]+", digits) is None:
                raise self._unsupported()
            return chr(int(digits, 16))
        if not kind.isascii() or kind.isalnum():
            raise self._unsupported()
        return kind

    def _class(self) -> Node:
        is_negated = self._accept("^")
        if self._peek() == "]":
            raise self._unsupported()
        found: list[tuple[int, int]] = []
        while not self._accept("]"):
            first = self._item()
            if isinstance(first, tuple):
                found += first
                continue
            last = first
            if self._peek() == "-" and self._peek(2) not in ("-]", "-["):
                self._at += 1
                end = self._item()
                if isinstance(end, tuple):
                    raise self._unsupported()
                last = end
            found += self._folded(((ord(self._checked(first, last)), ord(last)),))
        ranges = _ranges(*found)
        return self._chars(_complement(ranges) if is_negated else ranges)

    def _item(self) -> str | Ranges:
        if self._peek() == "[" or self._peek(2) == "&&":
            raise self._unsupported()
        return self._escaped() if self._accept("\\") else self._next()


def to_re2(pattern: Pattern, captured: Sequence[int] = ()) -> str | None:
    """Return a pattern in RE2's syntax, in which ``$`` is the end of the text; None if RE2 cannot express it.

    The groups ``captured`` (0: the whole match) are captured in this order, the first one with the name ``g``.
    """
    if len(captured) > _MOST_CAPTURED or any(isinstance(node, Look | Reference) for node in nodes(pattern.root)):
        return None
    name = "?P<g>" if len(captured) == 1 else ""
    groups = {number: f"({name}" for number in captured}
    text = _written(pattern.root, _RE2, groups)
    return f"{groups[0]}{text})" if 0 in groups else text


def to_python(pattern: Pattern) -> re.Pattern[str]:
    """Compile a pattern for Python's ``re``."""
    groups = dict.fromkeys(range(1, pattern.groups + 1), "(")
    return re.compile(_written(pattern.root, _PYTHON, groups))


def as_class(pattern: Pattern) -> tuple[Ranges, bool] | None:
    """Return the set of a pattern that is a set of characters, and whether its runs match as one; None if it is not."""
    root = pattern.root
    while isinstance(root, Sequence_) and len(root.parts) == 1:
        (root,) = root.parts
    is_run = isinstance(root, Repeat) and (root.low, root.high, root.is_lazy) == (1, None, False)
    body = root.body if isinstance(root, Repeat) and is_run else root
    return (body.ranges, is_run) if isinstance(body, Chars) else None


def as_text(pattern: Pattern) -> str | None:
    """Return the text that a pattern alone matches, at least one character; None if it is not a text."""
    parts = pattern.root.parts if isinstance(pattern.root, Sequence_) else (pattern.root,)
    codes = [part.ranges[0] for part in parts if isinstance(part, Chars) and len(part.ranges) == 1]
    if not parts or len(codes) < len(parts) or any(low < high for low, high in codes):
        return None
    return "".join(chr(low) for low, _ in codes)


def _has_one_length(node: Node) -> bool:
    """Return whether a node of a condition on the text before has one length, and no characters of two units."""
    if isinstance(node, Chars):
        return not _has_pairs(node.ranges)
    return isinstance(node, Sequence_) or (isinstance(node, Repeat) and node.low == node.high)


def replacement_parts(text: str, groups: int) -> list[str | int]:
    """Return the texts and the numbers of groups of a replacement that Java accepts for a pattern with ``groups``."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        if text[at] == "$":
            number, at = int(text[at + 1]), at + 2
            while text[at : at + 1].isdecimal() and number * 10 + int(text[at]) <= groups:
                number, at = number * 10 + int(text[at]), at + 1
            parts.append(number)
        else:
            at += text[at] == "\\"
            parts.append(text[at])
            at += 1
    return parts


@dataclass(frozen=True, slots=True)
class _Syntax:
    """How an engine writes code points and positions."""

    char: Callable[[int], str]
    places: dict[str, str]


_RE2 = _Syntax(lambda code: rf"\x{{{code:x}}}", {"^": r"\A", "$": r"\z", "z": r"\z", "b": r"\b"})
# Before a line feed, not between a carriage return and a line feed.
_BEFORE_END = r"(?:(?=(?:\r\n|[\r\x85\u2028\u2029])?\Z)|(?<!\r)(?=\n\Z))"
# The end of a word, or its start.
_BOUNDARY = "(?<=[{0}])(?![{0}{1}])|(?<![{0}])(?=[{0}{1}])".format(f"A-Za-z0-9_{WORD}", WORD_START)
_PYTHON = _Syntax(
    lambda code: rf"\U{code:08x}",
    {"^": r"\A", "$": _BEFORE_END, "z": r"\Z", "b": f"(?:{_BOUNDARY})"},
)


def _written(node: Node, syntax: _Syntax, groups: dict[int, str]) -> str:
    def write(node: Node) -> str:
        return _written(node, syntax, groups)

    if isinstance(node, Chars):
        return _set(node.ranges, syntax.char)
    if isinstance(node, Place):
        return syntax.places[node.kind]
    if isinstance(node, Sequence_):
        return "".join(f"(?:{write(part)})" if isinstance(part, Choice) else write(part) for part in node.parts)
    if isinstance(node, Choice):
        return "|".join(map(write, node.options))
    if isinstance(node, Group):
        return f"{groups.get(node.number or -1, '(?:')}{write(node.body)})"
    if isinstance(node, Look):
        return f"(?{node.kind}{write(node.body)})"
    if isinstance(node, Reference):
        return f"(?:\\{node.number})"
    return f"{write(node.body)}{_count(node)}"


def _set(ranges: Ranges, char: Callable[[int], str]) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return char(ranges[0][0])
    if not ranges:
        return f"[^{char(0)}-{char(_LAST)}]"
    return "[" + "".join(char(low) if low == high else f"{char(low)}-{char(high)}" for low, high in ranges) + "]"


def _count(node: Repeat) -> str:
    high = "" if node.high is None else str(node.high)
    count = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.low, node.high), f"{{{node.low},{high}}}")
    return count + "?" * node.is_lazy

"""Find values in JSON documents, in compiled passes over (offsets, bytes) of valid UTF-8, see ``text_parse.py``.

The kernels decide the documents of plain grammar. Any other document, such as one with single quotes or an error, has
the status OTHER: a parser with all rules of Jackson reads it (``expressions/json_parse.py``). A value is written as
Jackson writes it, without white space and with its own escapes, which is never longer than the document.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyspark_pipeline.kernels.jit import frozen, kernel
from pyspark_pipeline.kernels.words import count_ones, load_word

#: No value; a value that is written; the text of a floating-point number that Java prints in another way; not decided.
ABSENT, FOUND, NUMBER, OTHER = 0, 1, 2, 3
KEY, INDEX = 0, 1
#: The contents of a string: escapes, control characters, characters of four bytes.
_ESCAPES, _CONTROLS, _WIDE = 1, 2, 4
_PLAIN, _REWRITTEN, _WRONG = 0, 1, 2
#: Below Jackson's limits of 1000 levels, 1000 digits, names of 50,000 and strings of 20 million characters.
DEEPEST, _LONGEST_NUMBER, _LONGEST_NAME, _LONGEST_STRING = 900, 900, 40_000, 10_000_000
_VALUE, _MEMBER, _ELEMENT = 0, 1, 2


#: States of the machine: first those that need an action. A comma leads to a value or to a name, by the container.
_ERROR, _OPEN_OBJECT, _OPEN_ARRAY, _CLOSE, _COMMA, _NAME_ESCAPE = range(0, 6 * 256, 256)
_LAST_ACTION = 6 * 256
AT_VALUE, _AT_FIRST, _AT_NAME, _AT_FIRST_NAME, _AT_COLON, _AT_COMMA = range(6 * 256, 12 * 256, 256)
_AFTER_SIGN, _AFTER_ZERO, _IN_INTEGER, _AFTER_POINT, _IN_FRACTION = range(12 * 256, 17 * 256, 256)
_AFTER_E, _AFTER_POWER_SIGN, _IN_POWER = range(17 * 256, 20 * 256, 256)
_IN_STRING, _IN_NAME, _IN_TRUE, _IN_FALSE, _IN_NULL = 20 * 256, 26 * 256, 32 * 256, 35 * 256, 39 * 256
_STATES = 42
#: Three runs of so many digits are fewer than Jackson's limit.
_STRIDE = 256


def _machine() -> Any:
    """Return the machine that reads values which are not written: uint16, shape (states * 256,).

    The entry of a state, a multiple of 256, and a byte is the next state. It needs no branches but at brackets and
    errors, for which the states are the lowest. Numbers and names may have any length.
    """
    table = np.full((_STATES, 256), _ERROR, dtype=np.uint16)
    digits, space = range(48, 58), (9, 10, 13, 32)

    def go(state: int, characters: Any, to: int) -> None:
        for character in characters:
            table[state // 256, character] = to

    for state in (AT_VALUE, _AT_FIRST, _AT_NAME, _AT_FIRST_NAME, _AT_COLON, _AT_COMMA):
        go(state, space, state)
    for state in (AT_VALUE, _AT_FIRST):
        go(state, b"{", _OPEN_OBJECT)
        go(state, b"[", _OPEN_ARRAY)
        go(state, b'"', _IN_STRING)
        go(state, b"-", _AFTER_SIGN)
        go(state, b"0", _AFTER_ZERO)
        go(state, b"123456789", _IN_INTEGER)
        for word, first in ((b"true", _IN_TRUE), (b"false", _IN_FALSE), (b"null", _IN_NULL)):
            go(state, word[:1], first)
            for place in range(1, len(word)):
                go(first + 256 * (place - 1), word[place : place + 1], first + 256 * place)
            table[(first + 256 * (len(word) - 2)) // 256, word[-1]] = _AT_COMMA
    go(_AT_FIRST, b"]", _CLOSE)
    go(_AT_FIRST_NAME, b"}", _CLOSE)
    go(_AT_NAME, b'"', _IN_NAME)
    go(_AT_FIRST_NAME, b'"', _IN_NAME)
    for inside, after in ((_IN_STRING, _AT_COMMA), (_IN_NAME, _AT_COLON)):
        go(inside, range(256), inside)
        go(inside, b'"', after)
        go(inside, b"\\", inside + 256)
        go(inside + 256, b'"\\/bfnrt', inside)
        go(inside + 256, b"u", inside + 512)
        for place in range(2, 6):
            go(inside + 256 * place, b"0123456789abcdefABCDEF", inside + 256 * (place + 1) if place < 5 else inside)
    go(_IN_NAME, b"\\", _NAME_ESCAPE)
    go(_AT_COLON, b":", AT_VALUE)
    for state in (_AT_COMMA, _AFTER_ZERO, _IN_INTEGER, _IN_FRACTION, _IN_POWER):
        go(state, space, _AT_COMMA)
        go(state, b",", _COMMA)
        go(state, b"]}", _CLOSE)
    go(_AFTER_SIGN, b"0", _AFTER_ZERO)
    go(_AFTER_SIGN, b"123456789", _IN_INTEGER)
    go(_IN_INTEGER, digits, _IN_INTEGER)
    for state in (_AFTER_ZERO, _IN_INTEGER):
        go(state, b".", _AFTER_POINT)
    go(_AFTER_POINT, digits, _IN_FRACTION)
    go(_IN_FRACTION, digits, _IN_FRACTION)
    for state in (_AFTER_ZERO, _IN_INTEGER, _IN_FRACTION):
        go(state, b"eE", _AFTER_E)
    go(_AFTER_E, b"+-", _AFTER_POWER_SIGN)
    for state in (_AFTER_E, _AFTER_POWER_SIGN, _IN_POWER):
        go(state, digits, _IN_POWER)
    return frozen(table.reshape(-1))


_MACHINE = _machine()


def _strict_machine() -> Any:
    """Return a machine that does not decide control characters in strings and names, and escapes in names."""
    table = _MACHINE.reshape(-1, 256).copy()
    table[_IN_STRING // 256, :32] = table[_IN_NAME // 256, :32] = table[_IN_NAME // 256, ord("\\")] = _ERROR
    return frozen(table.reshape(-1))


STRICT_MACHINE = _strict_machine()


#: Whether a byte in a string is no end, no escape, and of no other consequence.
_IS_PLAIN = frozen(np.array([32 <= byte < 240 and byte not in b'"\\' for byte in range(256)]))


@kernel
def suits_machine(data: Any, start: int, stop: int) -> bool:
    """Return whether a document has no name or number whose length Jackson limits, by its size and runs of digits."""
    if stop - start > _LONGEST_NAME:
        return False
    place = start + _STRIDE
    while place < stop:
        if 48 <= data[place] <= 57:
            first = place
            while first > start and 48 <= data[first - 1] <= 57:
                first -= 1
            while place + 1 < stop and 48 <= data[place + 1] <= 57:
                place += 1
            if place - first >= _STRIDE:
                return False
        place += _STRIDE
    return True


@kernel
def run_machine(table: Any, data: Any, at: int, stop: int, stack: Any, depth: int, base: int, state: int) -> int:
    """Pass what follows in ``depth`` open containers, whose closing brackets are in ``stack``; -1 if it is not decided.

    Return the offset of the comma or bracket that ends a value at depth ``base``, or of what follows the outermost
    container if ``base`` is 0. A name with escapes at depth ``base`` is not decided. ``table`` is one of the machines.
    """
    while at < stop:
        state = np.int64(table[np.uint64(state + data[at])])
        if state < _LAST_ACTION:
            if state == _COMMA:
                if depth == base:
                    return at
                state = _AT_NAME if stack[depth - 1] == 125 else AT_VALUE
            elif state == _CLOSE:
                if data[at] != stack[depth - 1]:
                    return -1
                if depth == base:
                    return at
                depth -= 1
                if depth == 0:
                    return at + 1
                state = _AT_COMMA
            elif state == _NAME_ESCAPE:
                if depth == base:
                    return -1
                state = _IN_NAME + 256
            else:
                if state == _ERROR or depth >= DEEPEST:
                    return -1
                stack[depth] = data[at] + 2
                depth += 1
                state = _AT_FIRST_NAME if state == _OPEN_OBJECT else _AT_FIRST
        at += 1
    return -1


@kernel(forceinline=True)
def skip_space(data: Any, at: int, stop: int) -> int:
    """Return the offset of the first byte that is not white space."""
    while at < stop and (data[at] == 32 or data[at] == 10 or data[at] == 13 or data[at] == 9):
        at += 1
    return at


@kernel
def hex_digit(byte: int) -> int:
    """Return the value of a hexadecimal digit; -1 for another byte."""
    if 48 <= byte <= 57:
        return byte - 48
    if 65 <= byte <= 70:
        return byte - 55
    if 97 <= byte <= 102:
        return byte - 87
    return -1


@kernel
def hex_unit(data: Any, at: int) -> int:
    """Return the UTF-16 unit of four hexadecimal digits; -1 if they are others."""
    unit = 0
    for place in range(at, at + 4):
        digit = hex_digit(np.int64(data[place]))
        if digit < 0:
            return -1
        unit = unit * 16 + digit
    return unit


@kernel(forceinline=True)
def plain_end(data: Any, at: int, stop: int) -> int:
    """Return the offset of the first byte from ``at`` on that is not plain, or of one of the last seven bytes.

    Eight bytes are looked at together: each that is a quote, a backslash, a control character or the first of a
    character of four bytes sets its highest bit, and a byte below it is never set wrongly.
    """
    address = np.uint64(data.ctypes.data)
    ones, high = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
    while at + 8 <= stop:
        word = load_word(address + np.uint64(at))
        quotes, escapes = word ^ (ones * np.uint64(34)), word ^ (ones * np.uint64(92))
        found = (quotes - ones) & ~quotes | (escapes - ones) & ~escapes | (word - ones * np.uint64(32)) & ~word
        found |= word & word << np.uint64(1) & word << np.uint64(2) & word << np.uint64(3)
        found &= high
        if found:
            lowest = found & (~found + np.uint64(1))
            return at + (np.int64(count_ones(lowest - np.uint64(1))) >> 3)
        at += 8
    return at


@kernel(forceinline=True)
def string_end(data: Any, at: int, stop: int) -> Any:
    """Return the offset of the quote that ends the string from ``at`` on, -1 if it is wrong, and what it contains."""
    contents = 0
    first = at
    at = plain_end(data, at, stop)
    while at < stop:
        byte = data[at]
        if _IS_PLAIN[byte]:
            at += 1
            continue
        if byte == 34:
            return (at if at - first <= _LONGEST_STRING else -1), contents
        if byte == 92:
            contents |= _ESCAPES
            at += 1
            if at >= stop:
                break
            byte = data[at]
            if byte == 117:
                if at + 4 >= stop or hex_unit(data, at + 1) < 0:
                    break
                at += 4
            elif not (
                byte == 34 or byte == 92 or byte == 47 or byte == 98
                or byte == 102 or byte == 110 or byte == 114 or byte == 116
            ):  # fmt: skip
                break
        elif byte < 32:
            contents |= _CONTROLS
        elif byte >= 240:
            contents |= _WIDE
        at += 1
    return -1, contents


@kernel
def number_end(data: Any, at: int, stop: int) -> Any:
    """Return the offset after a number and whether Java prints it in the same way.

    A fraction is printed in the same way if it has at most 15 digits, no needless zero and a size from 0.001 to 10**7.
    """
    first = at
    if data[at] == 45:
        at += 1
    digits = at
    while at < stop and 48 <= data[at] <= 57:
        at += 1
    size = at - digits
    if size == 0 or (size > 1 and data[digits] == 48):
        return at, _WRONG
    is_zero = data[digits] == 48
    if at == stop or (data[at] != 46 and data[at] != 101 and data[at] != 69):
        return at, (_WRONG if at - first > _LONGEST_NUMBER or (is_zero and digits > first) else _PLAIN)
    is_plain = size <= 7
    if data[at] == 46:
        at += 1
        fraction = at
        zeros = 0
        while at < stop and 48 <= data[at] <= 57:
            if data[at] == 48 and at - fraction == zeros:
                zeros += 1
            at += 1
        places = at - fraction
        if places == 0:
            return at, _WRONG
        is_plain &= size + places <= 15 and (data[at - 1] != 48 or places == 1)
        is_plain &= not is_zero or zeros < 3
    else:
        is_plain = False
    if at < stop and (data[at] == 101 or data[at] == 69):
        is_plain = False
        at += 1
        if at < stop and (data[at] == 43 or data[at] == 45):
            at += 1
        power = at
        while at < stop and 48 <= data[at] <= 57:
            at += 1
        if at == power:
            return at, _WRONG
    if at - first > _LONGEST_NUMBER:
        return at, _WRONG
    return at, (_PLAIN if is_plain else _REWRITTEN)


@kernel(forceinline=True)
def literal_end(data: Any, at: int, stop: int) -> int:
    """Return the offset after ``true``, ``false`` or ``null``; -1 if there is none of them."""
    if at + 4 <= stop:
        if data[at] == 116 and data[at + 1] == 114 and data[at + 2] == 117 and data[at + 3] == 101:
            return at + 4
        if data[at] == 110 and data[at + 1] == 117 and data[at + 2] == 108 and data[at + 3] == 108:
            return at + 4
        if (
            at + 5 <= stop and data[at] == 102 and data[at + 1] == 97 and data[at + 2] == 108
            and data[at + 3] == 115 and data[at + 4] == 101
        ):  # fmt: skip
            return at + 5
    return -1


@kernel
def put_character(out: Any, to: int, point: int) -> int:
    """Write a code point in UTF-8; return the offset after it."""
    if point < 0x80:
        out[to] = point
        return to + 1
    if point < 0x800:
        out[to] = 0xC0 | (point >> 6)
        out[to + 1] = 0x80 | (point & 0x3F)
        return to + 2
    if point < 0x10000:
        out[to] = 0xE0 | (point >> 12)
        out[to + 1] = 0x80 | ((point >> 6) & 0x3F)
        out[to + 2] = 0x80 | (point & 0x3F)
        return to + 3
    out[to] = 0xF0 | (point >> 18)
    out[to + 1] = 0x80 | ((point >> 12) & 0x3F)
    out[to + 2] = 0x80 | ((point >> 6) & 0x3F)
    out[to + 3] = 0x80 | (point & 0x3F)
    return to + 4


@kernel
def unescaped(byte: int) -> int:
    """Return the character of a short escape."""
    if byte == 98:
        return 8
    if byte == 102:
        return 12
    if byte == 110:
        return 10
    if byte == 114:
        return 13
    if byte == 116:
        return 9
    return byte


@kernel
def put_unescaped(data: Any, at: int, end: int, out: Any, to: int) -> int:
    """Write a string without its escapes; return the offset after it, -1 for half of a surrogate pair."""
    while at < end:
        byte = data[at]
        if byte != 92:
            out[to] = byte
            to += 1
            at += 1
            continue
        byte = data[at + 1]
        at += 2
        if byte != 117:
            out[to] = unescaped(byte)
            to += 1
            continue
        point = hex_unit(data, at)
        at += 4
        if 0xD800 <= point <= 0xDFFF:
            if point >= 0xDC00 or at + 6 > end or data[at] != 92 or data[at + 1] != 117:
                return -1
            low = hex_unit(data, at + 2)
            if low < 0xDC00 or low > 0xDFFF:
                return -1
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00)
            at += 6
        to = put_character(out, to, point)
    return to


@kernel
def put_escaped(out: Any, to: int, unit: int) -> Any:
    """Write a UTF-16 unit as a part of a string with Jackson's escapes; return the offset after it."""
    short = 0
    if unit == 34 or unit == 92:
        short = unit
    elif unit == 8:
        short = 98
    elif unit == 12:
        short = 102
    elif unit == 10:
        short = 110
    elif unit == 13:
        short = 114
    elif unit == 9:
        short = 116
    if short:
        out[to] = 92
        out[to + 1] = short
        return to + 2
    if unit >= 32 and not 0xD800 <= unit <= 0xDFFF:
        return put_character(out, to, unit)
    out[to] = 92
    out[to + 1] = 117
    for place in range(4):
        digit = (unit >> (12 - 4 * place)) & 15
        out[to + 2 + place] = digit + (48 if digit < 10 else 55)
    return to + 6


@kernel
def put_string(data: Any, at: int, end: int, contents: int, out: Any, to: int) -> int:
    """Write a string with quotes and Jackson's escapes; return the offset after it, -1 if it could be longer."""
    if contents > _ESCAPES:
        return -1
    out[to] = 34
    to += 1
    while at < end:
        byte = data[at]
        at += 1
        if byte != 92:
            out[to] = byte
            to += 1
            continue
        byte = data[at]
        at += 1
        if byte == 117:
            to = put_escaped(out, to, hex_unit(data, at))
            at += 4
        else:
            to = put_escaped(out, to, np.int64(unescaped(byte)))
    out[to] = 34
    return to + 1


@kernel
def pass_name(data: Any, at: int, stop: int, out: Any, to: int, writes: bool) -> Any:
    """Pass the name of a member and its colon; return the offset of its value, -1 if it is not decided."""
    if at >= stop or data[at] != 34:
        return -1, to
    end, contents = string_end(data, at + 1, stop)
    if end < 0 or end - at > _LONGEST_NAME:
        return -1, to
    if writes:
        to = put_string(data, at + 1, end, contents, out, to)
        if to < 0:
            return -1, to
        out[to] = 58
        to += 1
    at = skip_space(data, end + 1, stop)
    if at >= stop or data[at] != 58:
        return -1, to
    return skip_space(data, at + 1, stop), to


@kernel
def pass_scalar(data: Any, at: int, stop: int, out: Any, to: int, writes: bool) -> Any:
    """Pass a string, a number or a literal; return the offset after it, -1 if it is not decided."""
    byte = data[at]
    first = at
    if byte == 34:
        end, contents = string_end(data, at + 1, stop)
        if end < 0:
            return -1, to
        if writes:
            to = put_string(data, at + 1, end, contents, out, to)
            if to < 0:
                return -1, to
        return end + 1, to
    if byte == 45 or 48 <= byte <= 57:
        at, kind = number_end(data, at, stop)
        if kind == _WRONG or (writes and kind == _REWRITTEN):
            return -1, to
    else:
        at = literal_end(data, at, stop)
        if at < 0:
            return -1, to
    if writes:
        for place in range(first, at):
            out[to] = data[place]
            to += 1
    return at, to


@kernel
def pass_value(data: Any, at: int, stop: int, stack: Any, out: Any, to: int, writes: bool) -> Any:
    """Pass a value, and write it if ``writes``; return the offset after it, -1 if it is not decided.

    ``stack`` has room for the kinds of ``DEEPEST`` containers, uint8.
    """
    depth = 0
    while True:
        if at >= stop:
            return -1, to
        byte = data[at]
        if byte == 123 or byte == 91:
            if depth >= DEEPEST:
                return -1, to
            closing = byte + 2
            stack[depth] = closing
            depth += 1
            if writes:
                out[to] = byte
                to += 1
            at = skip_space(data, at + 1, stop)
            if at >= stop:
                return -1, to
            if data[at] != closing:
                if closing == 125:
                    at, to = pass_name(data, at, stop, out, to, writes)
                    if at < 0:
                        return -1, to
                continue
            depth -= 1
            at += 1
            if writes:
                out[to] = closing
                to += 1
        else:
            at, to = pass_scalar(data, at, stop, out, to, writes)
            if at < 0:
                return -1, to
        while True:
            if depth == 0:
                return at, to
            at = skip_space(data, at, stop)
            if at >= stop:
                return -1, to
            byte = data[at]
            closing = stack[depth - 1]
            at += 1
            if byte != 44 and byte != closing:
                return -1, to
            if writes:
                out[to] = byte
                to += 1
            if byte == 44:
                break
            depth -= 1
        at = skip_space(data, at, stop)
        if closing == 125:
            at, to = pass_name(data, at, stop, out, to, writes)
            if at < 0:
                return -1, to


@kernel
def pass_result(data: Any, at: int, stop: int, stack: Any, out: Any, to: int) -> Any:
    """Write the value that a path leads to; return the offset after it, the end in ``out`` and the status."""
    byte = data[at]
    if byte == 34:
        end, contents = string_end(data, at + 1, stop)
        if end < 0:
            return -1, to, OTHER
        if contents & _ESCAPES:
            to = put_unescaped(data, at + 1, end, out, to)
        else:
            for place in range(at + 1, end):
                out[to] = data[place]
                to += 1
        return (end + 1 if to >= 0 else -1), to, FOUND
    if byte == 45 or 48 <= byte <= 57:
        end, kind = number_end(data, at, stop)
        if kind == _WRONG:
            return -1, to, OTHER
        for place in range(at, end):
            out[to] = data[place]
            to += 1
        return end, to, (NUMBER if kind == _REWRITTEN else FOUND)
    at, to = pass_value(data, at, stop, stack, out, to, True)
    return at, to, FOUND


@kernel(forceinline=True)
def is_name(data: Any, at: int, stop: int, names: Any, first: int, size: int) -> bool:
    """Return whether the string after the quote at ``at`` is a name, without escapes."""
    end = at + 1 + size
    if end >= stop or data[end] != 34:
        return False
    for place in range(size):
        if data[at + 1 + place] != names[first + place]:
            return False
    return True


@kernel
def find_value(
    data: Any, start: int, stop: int, kinds: Any, indexes: Any, name_ends: Any, names: Any,
    stack: Any, counts: Any, out: Any, begin: int,
) -> Any:  # fmt: skip
    """Write the value of a path in one document from ``begin`` on; return the end and the status."""
    steps = kinds.shape[0]
    at = skip_space(data, start, stop)
    to = begin
    found = ABSENT
    if at >= stop:
        return to, ABSENT
    if (data[at] != 123 and data[at] != 91) or not suits_machine(data, start, stop):
        return to, OTHER
    level = 0
    mode = _VALUE
    while True:
        if at >= stop:
            return begin, OTHER
        byte = data[at]
        is_read = mode == _VALUE
        if mode == _MEMBER:
            if byte != 34:
                return begin, OTHER
            first = np.int64(name_ends[level - 1])
            if is_name(data, at, stop, names, first, np.int64(name_ends[level]) - first):
                at, _ = pass_name(data, at, stop, out, to, False)
                if at < 0 or at >= stop:
                    return begin, OTHER
                byte = data[at]
                is_read = byte != 110
                mode = _VALUE
        elif mode == _ELEMENT:
            is_read = counts[level - 1] == indexes[level - 1]
            counts[level - 1] += 1
        if is_read and level == steps:
            at, to, found = pass_result(data, at, stop, stack[level:], out, begin)
            if at < 0:
                return begin, OTHER
        elif is_read and byte == (123 if kinds[level] == KEY else 91):
            stack[level] = byte + 2
            counts[level] = 0
            at = skip_space(data, at + 1, stop)
            if at >= stop:
                return begin, OTHER
            mode = _MEMBER if kinds[level] == KEY else _ELEMENT
            level += 1
            if data[at] != byte + 2:
                continue
            level -= 1
            at += 1
        elif level == 0:
            stack[0] = byte + 2
            at = run_machine(_MACHINE, data, at + 1, stop, stack, 1, 0, _AT_FIRST_NAME if byte == 123 else _AT_FIRST)
            return begin, (ABSENT if at >= 0 else OTHER)
        else:
            at = run_machine(_MACHINE, data, at, stop, stack, level, level, _AT_NAME if mode == _MEMBER else AT_VALUE)
            if at < 0:
                return begin, OTHER
        while True:
            if level == 0:
                return to, found
            if found != ABSENT:
                at = run_machine(_MACHINE, data, at, stop, stack, level, 0, _AT_COMMA)
                return (to, found) if at >= 0 else (begin, OTHER)
            at = skip_space(data, at, stop)
            if at >= stop:
                return begin, OTHER
            byte = data[at]
            at += 1
            if byte == 44:
                at = skip_space(data, at, stop)
                mode = _MEMBER if kinds[level - 1] == KEY else _ELEMENT
                break
            if byte != stack[level - 1]:
                return begin, OTHER
            level -= 1


@kernel
def find_values(
    offsets: Any, data: Any, kinds: Any, indexes: Any, name_ends: Any, names: Any,
    ends: Any, out: Any, statuses: Any,
) -> None:  # fmt: skip
    """Write the value of a path in each document, and its status (uint8).

    The path has steps of ``kinds`` (int64) KEY or INDEX: the names between ``name_ends`` (int64, one more than steps)
    of ``names``, and the places ``indexes`` (int64). Of members with the same name the first counts whose value is not
    null and has the further steps.
    ``ends`` (int32) begins with 0; ``out`` has room for the bytes of all documents.
    """
    stack = np.empty(DEEPEST + kinds.shape[0] + 1, dtype=np.uint8)
    counts = np.zeros(kinds.shape[0] + 1, dtype=np.int64)
    to = 0
    ends[0] = 0
    for row in range(statuses.shape[0]):
        to, status = find_value(
            data, np.int64(offsets[row]), np.int64(offsets[row + 1]), kinds, indexes, name_ends, names,
            stack, counts, out, to,
        )  # fmt: skip
        statuses[row] = status
        ends[row + 1] = to


@kernel
def find_members(offsets: Any, data: Any, name_ends: Any, names: Any, starts: Any, statuses: Any) -> None:
    """Write the offset of the last value that is not null of each name in each document, -1 if it has none.

    ``starts`` (int32) has the shape (names, rows), the other arrays are those of :func:`find_values`; the names differ.
    The status is OTHER for a document that is not decided, and else ABSENT or FOUND.
    """
    count = starts.shape[0]
    stack = np.empty(DEEPEST + 1, dtype=np.uint8)
    stack[0] = 125
    nothing = np.empty(0, dtype=np.uint8)
    for row in range(statuses.shape[0]):
        for wanted in range(count):
            starts[wanted, row] = -1
        statuses[row] = ABSENT
        start, stop = np.int64(offsets[row]), np.int64(offsets[row + 1])
        at = skip_space(data, start, stop)
        if at >= stop or data[at] != 123:
            continue
        statuses[row] = OTHER
        at = skip_space(data, at + 1, stop)
        if at >= stop or not suits_machine(data, start, stop):
            continue
        if data[at] == 125:
            statuses[row] = ABSENT
            continue
        while at < stop and data[at] == 34:
            found = -1
            for wanted in range(count):
                first = np.int64(name_ends[wanted])
                if is_name(data, at, stop, names, first, np.int64(name_ends[wanted + 1]) - first):
                    found = wanted
                    break
            if found < 0:
                at = run_machine(_MACHINE, data, at, stop, stack, 1, 1, _AT_NAME)
            else:
                at, _ = pass_name(data, at, stop, nothing, 0, False)
                if at < 0 or at >= stop:
                    break
                if data[at] != 110:
                    starts[found, row] = at
                at = run_machine(_MACHINE, data, at, stop, stack, 1, 1, AT_VALUE)
            if at < 0:
                break
            if data[at] != 44:
                statuses[row] = FOUND
                break
            at = skip_space(data, at + 1, stop)


@kernel
def write_values(offsets: Any, data: Any, starts: Any, ends: Any, out: Any, statuses: Any) -> None:
    """Write the value at ``starts`` (int32) of each document, none at -1, and its status, as :func:`find_values`."""
    stack = np.empty(DEEPEST, dtype=np.uint8)
    end = 0
    ends[0] = 0
    for row in range(statuses.shape[0]):
        statuses[row] = ABSENT
        at = np.int64(starts[row])
        if at >= 0:
            at, to, found = pass_result(data, at, np.int64(offsets[row + 1]), stack, out, end)
            statuses[row] = found
            if at < 0:
                statuses[row] = OTHER
            else:
                end = to
        ends[row + 1] = end


@kernel
def count_children(offsets: Any, data: Any, opening: int, counts: Any, statuses: Any) -> None:
    """Count the members (``opening`` is 123) or elements (91) of each document (int32), and write the status.

    A document that begins with another character has none. Members whose names have escapes are not decided.
    """
    stack = np.empty(DEEPEST + 1, dtype=np.uint8)
    stack[0] = opening + 2
    child = _AT_NAME if opening == 123 else AT_VALUE
    for row in range(statuses.shape[0]):
        counts[row] = 0
        statuses[row] = ABSENT
        start, stop = np.int64(offsets[row]), np.int64(offsets[row + 1])
        at = skip_space(data, start, stop)
        if at >= stop or data[at] != opening:
            continue
        statuses[row] = OTHER
        at = skip_space(data, at + 1, stop)
        if at >= stop or not suits_machine(data, start, stop):
            continue
        if data[at] == opening + 2:
            statuses[row] = FOUND
            continue
        count = 0
        while True:
            at = run_machine(_MACHINE, data, at, stop, stack, 1, 1, child)
            if at < 0:
                break
            count += 1
            if data[at] != 44:
                counts[row] = count
                statuses[row] = FOUND
                break
            at += 1


@kernel
def slice_names(offsets: Any, data: Any, counts: Any, starts: Any, ends: Any) -> None:
    """Write the slices of the names of ``counts`` members of each document, as in ``kernels/text_slices.py``."""
    stack = np.empty(DEEPEST + 1, dtype=np.uint8)
    stack[0] = 125
    place = 0
    ends[0] = 0
    for row in range(counts.shape[0]):
        stop = np.int64(offsets[row + 1])
        at = skip_space(data, np.int64(offsets[row]), stop)
        for _ in range(counts[row]):
            at = skip_space(data, at + 1, stop)
            end, _ = string_end(data, at + 1, stop)
            starts[place] = at + 1
            ends[place + 1] = ends[place] + end - at - 1
            place += 1
            at = run_machine(_MACHINE, data, at, stop, stack, 1, 1, _AT_NAME)

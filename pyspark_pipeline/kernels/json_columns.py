"""Read JSON documents of a schema into columns of tokens, in a compiled pass over (offsets, bytes) of valid UTF-8.

A schema is a tree of nodes. A node has a slot for each row, or, below an array or map, for each of its elements: those
of all rows are one after the other. Nodes of the same row or element belong to one level; level 0 are the rows. The
tokens of a node stand from ``bases[node]`` on. The kernels decide documents of plain grammar, see ``json_scan.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.json_scan import (
    AT_VALUE,
    DEEPEST,
    STRICT_MACHINE,
    is_name,
    literal_end,
    plain_end,
    run_machine,
    skip_space,
    string_end,
    suits_machine,
)

#: Tokens: none, null, strings without and with escapes, numbers, numbers with an exponent or many digits, literals, and
#: containers.
ABSENT, NULL, STRING, ESCAPED, INTEGER, FLOAT, ODD, TRUE, FALSE, OBJECT, ARRAY = range(11)
#: Kinds of nodes.
LEAF, STRUCT, LIST, MAP = range(4)
#: The status of a document: it is empty, it is read, it is not decided, or a level has no more slots.
EMPTY, READ, OTHER, FULL = range(4)
_ESCAPES, _CONTROLS = 1, 2
_LONGEST_NAME, _LONGEST_PLAIN, _LONGEST_NUMBER = 40_000, 40, 900


@kernel(forceinline=True)
def number_token(data: Any, at: int, stop: int) -> Any:
    """Return the offset after a number and its token; ABSENT for one that is not decided, as for -0."""
    first = at
    if data[at] == 45:
        at += 1
    digits = at
    while at < stop and 48 <= data[at] <= 57:
        at += 1
    size = at - digits
    if size == 0 or (size > 1 and data[digits] == 48):
        return at, ABSENT
    token = INTEGER
    if at < stop and data[at] == 46:
        token = FLOAT
        at += 1
        fraction = at
        while at < stop and 48 <= data[at] <= 57:
            at += 1
        if at == fraction:
            return at, ABSENT
    if at < stop and (data[at] == 101 or data[at] == 69):
        token = ODD
        at += 1
        if at < stop and (data[at] == 43 or data[at] == 45):
            at += 1
        power = at
        while at < stop and 48 <= data[at] <= 57:
            at += 1
        if at == power:
            return at, ABSENT
    if token == INTEGER and data[first] == 45 and data[digits] == 48:
        return at, ABSENT
    if at - first > _LONGEST_NUMBER:
        return at, ABSENT
    return at, (ODD if at - first > _LONGEST_PLAIN else token)


@kernel(forceinline=True)
def bare_name_end(data: Any, at: int, stop: int) -> int:
    """Return the offset after a name without quotes; -1 if it is none, or not decided."""
    first = at
    while at < stop:
        byte = data[at]
        if not (
            48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122 or byte == 95
            or byte == 36 or byte == 64 or byte == 35 or byte == 42 or byte == 43 or byte == 45
        ):  # fmt: skip
            break
        at += 1
    return at if first < at < stop and data[at] < 127 else -1


@kernel(forceinline=True)
def child_of(data: Any, at: int, end: int, first: int, count: int, guess: int, name_ends: Any, names: Any) -> int:
    """Return the child, of ``count`` from ``first`` on, whose name is between ``at`` and ``end``; -1 if none is."""
    size = end - at
    for step in range(count):
        place = guess + step
        if place >= count:
            place -= count
        begin = np.int64(name_ends[first + place])
        if np.int64(name_ends[first + place + 1]) - begin != size:
            continue
        same = True
        for offset in range(size):
            if data[at + offset] != names[begin + offset]:
                same = False
                break
        if same:
            return place
    return -1


@kernel
def read_document(
    data: Any, at: int, stop: int, row: int, kinds: Any, levels: Any, firsts: Any, counts: Any, inner: Any,
    name_ends: Any, names: Any, bases: Any, capacities: Any, used: Any, tokens: Any, starts: Any, ends: Any,
    stack: Any, closings: Any, has_bare_names: bool, has_zeros: bool, has_escaped_keys: bool, has_plain_names: bool,
) -> int:  # fmt: skip
    """Write the tokens of one document; return its status. Other arguments are those of :func:`read_documents`.

    ``stack`` (int64, shape (containers, 3)) has a node or -1, a token's place or -1, and the child expected next.
    """
    at = skip_space(data, at, stop)
    if at >= stop:
        return EMPTY
    if data[at] != 123 and data[at] != 91:
        return OTHER
    depth = 0
    node = 0
    skips = not has_bare_names and not has_zeros and suits_machine(data, at, stop)
    while True:
        if at >= stop:
            return OTHER
        byte = data[at]
        place = np.int64(-1)
        if node >= 0:
            level = np.int64(levels[node])
            place = np.int64(bases[node]) + (row if level == 0 else np.int64(used[level]) - 1)
            if tokens[place] != ABSENT:
                return OTHER
        opened = False
        end = plain_end(data, at + 1, stop) if skips and node < 0 and byte == 34 else at
        if end > at and end < stop and data[end] == 34:
            at = end + 1
        elif node < 0 and skips:
            at = run_machine(STRICT_MACHINE, data, at, stop, closings, depth, depth, AT_VALUE)
            if at < 0:
                return OTHER
        elif byte == 123 or byte == 91:
            if depth >= DEEPEST:
                return OTHER
            inside = np.int64(-1)
            if place >= 0:
                kind = kinds[node]
                starts[place] = at
                if byte == 123:
                    tokens[place] = OBJECT
                    if kind == STRUCT or kind == MAP:
                        inside = node
                else:
                    tokens[place] = ARRAY
                    if kind == LIST:
                        inside = node
                if inside >= 0 and kind != STRUCT:
                    starts[place] = used[inner[node]]
            stack[depth, 0] = inside
            stack[depth, 1] = place
            stack[depth, 2] = 0
            closings[depth] = byte + 2
            depth += 1
            at = skip_space(data, at + 1, stop)
            if at >= stop:
                return OTHER
            opened = data[at] != byte + 2
        else:
            first = at
            token = np.int64(ABSENT)
            if byte == 34:
                end, contents = string_end(data, at + 1, stop)
                if end < 0 or contents & _CONTROLS:
                    return OTHER
                token = ESCAPED if contents & _ESCAPES else STRING
                at = end + 1
            elif byte == 45 or 48 <= byte <= 57:
                while has_zeros and data[at] == 48 and at + 1 < stop and 48 <= data[at + 1] <= 57:
                    at += 1
                first = at
                at, token = number_token(data, at, stop)
                if token == ABSENT:
                    return OTHER
            else:
                at = literal_end(data, at, stop)
                if at < 0:
                    return OTHER
                token = NULL if byte == 110 else TRUE if byte == 116 else FALSE
            if place >= 0:
                tokens[place] = token
                starts[place] = first
                ends[place] = at
        while not opened:
            if depth == 0:
                return READ
            at = skip_space(data, at, stop)
            if at >= stop:
                return OTHER
            byte = data[at]
            at += 1
            if byte == 44:
                at = skip_space(data, at, stop)
                break
            if byte != closings[depth - 1]:
                return OTHER
            depth -= 1
            place = stack[depth, 1]
            if place >= 0:
                node = stack[depth, 0]
                ends[place] = used[inner[node]] if node >= 0 and kinds[node] != STRUCT else at
        outer = stack[depth - 1, 0]
        node = np.int64(-1)
        if closings[depth - 1] == 93:
            if outer >= 0:
                level = np.int64(inner[outer])
                if used[level] >= capacities[level]:
                    return FULL
                used[level] += 1
                node = np.int64(firsts[outer])
            continue
        if at >= stop:
            return OTHER
        is_bare = data[at] != 34
        guess = np.int64(-1)
        is_struct = outer >= 0 and kinds[outer] == STRUCT
        if has_plain_names and is_struct and not is_bare and stack[depth - 1, 2] < counts[outer]:
            guess = np.int64(firsts[outer]) + stack[depth - 1, 2]
            begin = np.int64(name_ends[guess])
            if is_name(data, at, stop, names, begin, np.int64(name_ends[guess + 1]) - begin):
                end, contents = at + 1 + np.int64(name_ends[guess + 1]) - begin, 0
            else:
                guess = np.int64(-1)
        if guess < 0 and is_bare:
            if not has_bare_names:
                return OTHER
            end, contents = bare_name_end(data, at, stop), 0
            at -= 1
        elif guess < 0:
            end, contents = string_end(data, at + 1, stop)
        if end < 0 or end - at > _LONGEST_NAME or contents & _CONTROLS:
            return OTHER
        if outer >= 0 and kinds[outer] == MAP:
            if contents & _ESCAPES and not has_escaped_keys:
                return OTHER
            level = np.int64(inner[outer])
            if used[level] >= capacities[level]:
                return FULL
            place = np.int64(bases[firsts[outer]]) + np.int64(used[level])
            used[level] += 1
            tokens[place] = ESCAPED if contents & _ESCAPES else STRING
            starts[place] = at
            ends[place] = end + 1
            node = np.int64(firsts[outer]) + 1
        elif contents & _ESCAPES:
            return OTHER
        elif guess >= 0:
            stack[depth - 1, 2] += 1
            node = guess
        elif outer >= 0:
            found = child_of(
                data, at + 1, end, np.int64(firsts[outer]), np.int64(counts[outer]), stack[depth - 1, 2], name_ends,
                names,
            )  # fmt: skip
            if found >= 0:
                stack[depth - 1, 2] = found + 1
                node = np.int64(firsts[outer]) + found
        at = skip_space(data, end if is_bare else end + 1, stop)
        if at >= stop or data[at] != 58:
            return OTHER
        at = skip_space(data, at + 1, stop)


@kernel
def read_documents(
    offsets: Any, data: Any, kinds: Any, levels: Any, firsts: Any, counts: Any, inner: Any, name_ends: Any, names: Any,
    bases: Any, capacities: Any, used: Any, tokens: Any, starts: Any, ends: Any, statuses: Any, row: int,
    has_bare_names: bool, has_zeros: bool, has_escaped_keys: bool, has_plain_names: bool,
) -> int:  # fmt: skip
    """Write the tokens (uint8) of documents from ``row`` on, their ``starts`` and ``ends`` (int32), and the statuses.

    Return the row after the last, or the one for which a level has too few slots.
    The nodes (int32 each) have ``kinds``, ``levels``, the first and the number of their children, the level of their
    elements, and, if they are fields, names between ``name_ends`` in ``names``. ``capacities`` and ``used`` (int64) are
    the slots of each level. The start and the end of an array or map are those of its elements.
    Documents may have names without quotes (``has_bare_names``), zeros before numbers (``has_zeros``), and escapes in
    the keys of maps (``has_escaped_keys``). No name of a field needs an escape if ``has_plain_names``.
    A document that is not decided, or is empty, has no tokens.
    """
    stack = np.empty((DEEPEST + 1, 3), dtype=np.int64)
    closings = np.empty(DEEPEST + 1, dtype=np.uint8)
    before = used.copy()
    while row < statuses.shape[0]:
        status = read_document(
            data, np.int64(offsets[row]), np.int64(offsets[row + 1]), row, kinds, levels, firsts, counts, inner,
            name_ends, names, bases, capacities, used, tokens, starts, ends, stack, closings,
            has_bare_names, has_zeros, has_escaped_keys, has_plain_names,
        )  # fmt: skip
        statuses[row] = status
        if status == OTHER or status == FULL:
            for node in range(kinds.shape[0]):
                level = np.int64(levels[node])
                base = np.int64(bases[node])
                if level == 0:
                    tokens[base + row] = ABSENT
                else:
                    for slot in range(before[level], used[level]):
                        tokens[base + slot] = ABSENT
            for level in range(used.shape[0]):
                used[level] = before[level]
            if status == FULL:
                return row
        else:
            for level in range(used.shape[0]):
                before[level] = used[level]
        row += 1
    return row


@kernel
def parse_integers(data: Any, tokens: Any, starts: Any, ends: Any, low: int, high: int, out: Any, fits: Any) -> None:
    """Write the numbers (int64) of the tokens that are integers, and whether they are between ``low`` and ``high``."""
    least = -9223372036854775808
    for row in range(out.shape[0]):
        fits[row] = False
        out[row] = 0
        if tokens[row] != INTEGER:
            continue
        at, end = np.int64(starts[row]), np.int64(ends[row])
        is_negative = data[at] == 45
        if is_negative:
            at += 1
        if end - at > 19:
            continue
        # Counted below zero, where the range is larger.
        value = np.int64(0)
        inside = True
        while at < end:
            digit = np.int64(data[at]) - 48
            if value < -922337203685477580 or (value == -922337203685477580 and digit > 8):
                inside = False
                break
            value = value * 10 - digit
            at += 1
        if not inside or (not is_negative and value == least):
            continue
        if not is_negative:
            value = -value
        if low <= value <= high:
            out[row] = value
            fits[row] = True

"""The characters of words, between which ``\\b`` matches in Java before release 19 (java.util.regex.Pattern.Bound)."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right

#: Stand for a character beyond ASCII of a word, for one of none, and for one that only starts a word.
WORD, OTHER, WORD_START = "\u00aa", "\u00a1", "\u00a2"
_TERMINATORS = "\x85\u2028\u2029"
_LETTERS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd"})
#: Letters, digits and marks that Unicode has since version 14, which Java 17 does not know: first, last code points.
_UNKNOWN = (
    (0x558, 0x558), (0x58B, 0x58C), (0x5C8, 0x5C9), (0x870, 0x89F), (0x8B5, 0x8B5), (0x8C8, 0x8D2), (0xB53, 0xB54),
    (0xC3C, 0xC3C), (0xC5C, 0xC5D), (0xCDC, 0xCDD), (0xECE, 0xECE), (0x170D, 0x170D), (0x171F, 0x171F),
    (0x180F, 0x180F), (0x1AC1, 0x1AF0), (0x1B4C, 0x1B4C), (0x1C89, 0x1C8A), (0x1DFA, 0x1DFA), (0x208F, 0x208F),
    (0x209D, 0x209F), (0x2C2F, 0x2C2F), (0x2C5F, 0x2C5F), (0x9FFD, 0x9FFF), (0xA7C0, 0xA7C1), (0xA7CB, 0xA7F4),
    (0xAB6C, 0xAB6D), (0x10570, 0x105F3), (0x10780, 0x107BF), (0x10940, 0x10959), (0x10D40, 0x10D85),
    (0x10EC2, 0x10EFF), (0x10F70, 0x10F85), (0x11070, 0x11075), (0x110C2, 0x110C2), (0x1123F, 0x11241),
    (0x11380, 0x113E2), (0x116D0, 0x116E3), (0x11740, 0x11746), (0x11AB0, 0x11ABF), (0x11B0A, 0x11BF9),
    (0x11DB0, 0x11DF1), (0x11F00, 0x11F5A), (0x12F90, 0x12FF0), (0x1342F, 0x1342F), (0x13440, 0x143FA),
    (0x16100, 0x16139), (0x16A70, 0x16AC9), (0x16D40, 0x16D79), (0x16EA0, 0x16ED3), (0x16FF2, 0x16FF3),
    (0x187F8, 0x187FF), (0x18CD6, 0x18CFF), (0x18D09, 0x1AFFE), (0x1B11F, 0x1B132), (0x1B155, 0x1B155),
    (0x1B168, 0x1B168), (0x1CCF0, 0x1CF46), (0x1D127, 0x1D128), (0x1D25B, 0x1D25C), (0x1D6A6, 0x1D6A6),
    (0x1DF00, 0x1DFFF), (0x1E030, 0x1E08F), (0x1E290, 0x1E2AE), (0x1E4D0, 0x1E7FE), (0x2A6DE, 0x2A6DF),
    (0x2B735, 0x2B73F), (0x2B81E, 0x2B81E), (0x2CEA2, 0x2CEAD), (0x2EBF0, 0x2EE5D), (0x31350, 0x3FC3F),
)  # fmt: skip
_STARTS = [first for first, _ in _UNKNOWN]


def marked_words(text: str) -> str:
    """Return a text in which ``WORD``, ``OTHER`` and ``WORD_START`` stand for the characters beyond ASCII.

    Line terminators remain. A mark belongs to the word of its letter; Java looks for that by UTF-16 units, and so not
    before a mark of two units that it has just passed, nor before any other character of two units.
    """
    found = []
    has_letter = False
    for character in text:
        category = "" if _is_unknown(ord(character)) else unicodedata.category(character)
        is_pair = character > "\uffff"
        is_mark = category == "Mn"
        if character.isascii() or character in _TERMINATORS:
            found.append(character)
        elif is_mark:
            found.append(OTHER if not has_letter else WORD_START if is_pair else WORD)
        else:
            found.append(WORD if category in _LETTERS else OTHER)
        has_letter = not is_pair and (has_letter if is_mark else category in _LETTERS)
    return "".join(found)


def _is_unknown(code: int) -> bool:
    position = bisect_right(_STARTS, code) - 1
    return position >= 0 and code <= _UNKNOWN[position][1]

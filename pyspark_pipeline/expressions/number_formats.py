"""Numbers by Spark's formats of digits: ``to_number``, ``to_char`` (Spark: ToNumberParser).

A format is ``[MI|S] [$] [0|9|G|,]* [.|D] [0|9]* [$] [PR|MI|S]``, which Spark checks while it analyzes the query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import takewhile

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.per_value import per_value
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, case, function
from pyspark_pipeline.plan.expr import Call, constants

_TOKEN = re.compile(r"[09]+(?:[,G]+[09]+)*|[.D]|\$|S|MI|PR")
_DIGITS = re.compile(r"[09]+")
_BRACKETS = {"<": "<", "PR": ">"}


@dataclass(frozen=True, slots=True)
class Format:
    """The tokens of a format; ``PR`` stands for the closing bracket, ``<`` for the opening one."""

    tokens: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Format:
        """Split a valid format."""
        tokens = ["." if token == "D" else token.replace("G", ",") for token in _TOKEN.findall(text.upper())]
        return cls(("<", *tokens) if "PR" in tokens else tuple(tokens))

    @property
    def places(self) -> tuple[int, int]:
        """The digits before and after the point."""
        point = self.tokens.index(".") if "." in self.tokens else len(self.tokens)
        before, after = (
            sum(len(digits) for token in part for digits in _DIGITS.findall(token))
            for part in (self.tokens[:point], self.tokens[point:])
        )
        return before, after

    def parse(self, text: str) -> Decimal | None:
        """Return the number of a text; None if it does not match."""
        at, is_negative, is_fraction, brackets = 0, False, False, 0
        parts = {False: "", True: ""}
        for token in self.tokens:
            next_letter = text[at : at + 1]
            if token[0] in "09":
                run = "".join(takewhile(_is_of_number, text[at:]))
                if not _fits(token, run, is_fraction):
                    return None
                parts[is_fraction] += "".join(filter(_is_digit, run))
                at += len(run)
            elif token in ("S", "MI"):
                at += next_letter == "-" or (token == "S" and next_letter == "+")
                is_negative ^= next_letter == "-"
            elif token == ".":
                is_fraction |= next_letter == "."
                at += next_letter == "."
            elif token == "$":
                if next_letter not in ("$", ""):
                    return None
                at += next_letter == "$"
            elif next_letter == _BRACKETS[token]:
                brackets += 1
                is_negative = brackets == 2
                if brackets == 1 and token == "PR":
                    return None
                at += 1
        if at < len(text) or brackets == 1 or not any(parts.values()):
            return None
        scale = self.places[1]
        digits = parts[False] + parts[True].ljust(scale, "0")
        return Decimal((int(is_negative), tuple(map(int, digits)), -scale))

    def show(self, number: Decimal) -> str:
        """Return the text of a number: of ``#`` if it has more digits than the format."""
        before, after = self._digits_of(number)
        shown = _Shown()
        is_negative, is_fraction = number < 0, False
        for token in self.tokens:
            if token[0] in "09":
                for part in re.findall(r"[09]+|,", token):
                    if part == ",":
                        shown.separate()
                    elif is_fraction:
                        shown.text += after[: len(part)]
                        after = after[len(part) :]
                    else:
                        shown.digits(before[: len(part)], has_zeros=part[0] == "0")
                        before = before[len(part) :]
            elif token == ".":
                is_fraction = True
                shown.point()
            elif token == "$":
                shown.text += "$"
            else:
                shown.sign(token, is_negative)
        shown.drop_point()
        return "0" if shown.text in ("", "+", "-") else shown.text

    def _digits_of(self, number: Decimal) -> tuple[str, str]:
        """Return as many characters before and after the point as the format has digits."""
        first, last = self.places
        whole, _, fraction = f"{number.copy_abs():f}".partition(".")
        whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
        if len(whole) > first or len(fraction) > last:
            return "#" * first, "#" * last
        return whole.rjust(first), fraction.ljust(last, "0")


def _is_space(letter: str) -> bool:
    """Return whether a character is white space in Java (Character.isWhitespace)."""
    return letter.isspace() and letter not in "\x85\xa0\u2007\u202f"


def _is_digit(letter: str) -> bool:
    """Return whether a character is a digit in Java, of any script, in one UTF-16 unit."""
    return letter.isdecimal() and letter <= "\uffff"


def _is_of_number(letter: str) -> bool:
    return letter == "," or _is_digit(letter) or _is_space(letter)


def _fits(token: str, run: str, is_fraction: bool) -> bool:
    """Return whether the digits of ``run`` are as many as the groups of ``token``, from the right."""
    expected = _DIGITS.findall(token)[::-1]
    found = [sum(map(_is_digit, group)) for group in run.split(",")][::-1]
    if len(found) > len(expected):
        return False
    counts = found + [0] * (len(expected) - len(found))
    return all(
        count == len(digits) if digits[0] == "0" and not is_fraction else count <= len(digits)
        for digits, count in zip(expected, counts, strict=True)
    )


class _Shown:
    """A text under construction, in which signs move over the spaces of absent digits."""

    def __init__(self) -> None:
        self.text = ""

    def digits(self, digits: str, has_zeros: bool) -> None:
        for digit in digits:
            if digit != " ":
                self.text += digit
            elif has_zeros:
                self.text += "0"
            else:
                self._space()

    def separate(self) -> None:
        """Add a comma after a digit, else a space."""
        if self.text[-1:].isdecimal():
            self.text += ","
        else:
            self._space()

    def point(self) -> None:
        """Add a point, after a zero if there are only spaces."""
        if self.text.endswith(" "):
            self.text = self.text[:-1] + "0"
        self.text += "."

    def sign(self, token: str, is_negative: bool) -> None:
        if token == "<":
            self.text += "<" if is_negative else ""
            return
        if token != "MI" or is_negative:
            self.drop_point()
        if is_negative:
            self._add_before_spaces({"S": "-", "MI": "-", "PR": ">"}[token])
        elif token == "S":
            self._add_before_spaces("+")
        else:
            self.text += " " if token == "MI" else "  "

    def drop_point(self) -> None:
        """Replace a point that no digit follows by a space."""
        at = self.text.find(".")
        if at >= 0 and self.text[at + 1 : at + 2] in ("", " "):
            self.text = f"{self.text[:at]} {self.text[at + 1 :]}"

    def _space(self) -> None:
        """Add a space before the signs at the end."""
        rest = self.text.rstrip("+-<")
        self.text = f"{rest} {self.text[len(rest) :]}"

    def _add_before_spaces(self, sign: str) -> None:
        rest = self.text.rstrip(" ")
        self.text = f"{rest}{sign}{self.text[len(rest) :]}"


#: Formats to parse: more than 18 digits follow a digit before the point.
_PARSED = r"(?![^09]*[.dD][09]{19}).*"

for _name in ("ToNumber", "TryToNumber"):

    @function(_name, [case(["string"], ["string"], matches={"1": _PARSED}, slower=True)])
    def _to_number(call: Call, settings: ExpressionSettings) -> Kernel:
        """Parse a number; raise Spark's error, or return NULL, for a text that does not match."""
        text = str(constants(call.args[1:])[0])
        number_format, raises = Format.of(text), call.name == "ToNumber"
        limit = Decimal(10) ** (call.type.precision - call.type.scale)

        def convert(value: str) -> Decimal | None:
            found = number_format.parse(value)
            if found is None and raises:
                raise conditions.number_format_mismatch(value, text.upper())
            if found is not None and len(found.as_tuple().digits) > call.type.precision and abs(found) >= limit:
                raise conditions.decimal_out_of_range(0, 0, call.type, -1)
            return found

        kernel = per_value(convert, call.type.arrow)
        return Kernel(run=kernel.run, can_raise=True, by_dictionary=True)


@function("ToCharacter", [case(["decimal"], ["string"], matches={"1": ".*"}, slower=True)])
def _to_character(call: Call, settings: ExpressionSettings) -> Kernel:
    """Show a number by a format."""
    return per_value(Format.of(str(constants(call.args[1:])[0])).show, call.type.arrow)

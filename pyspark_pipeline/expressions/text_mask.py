"""Letters and digits masked by other characters (Spark: Mask; Java: Character.getType)."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

import pyarrow as pa

from pyspark_pipeline.expressions.per_value import java_text, map_distinct
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import to_array
from pyspark_pipeline.plan.expr import Call, constants

#: The letters and digits of Unicode 14, 15 and 16, by the release of Java that knows them: first and last code point.
_NEW: Mapping[int, Mapping[str, Sequence[tuple[int, int]]]] = {
    19: {
        "Lu": (
            (0x2C2F, 0x2C2F), (0xA7C0, 0xA7C0), (0xA7D0, 0xA7D0), (0xA7D6, 0xA7D6), (0xA7D8, 0xA7D8),
            (0x10570, 0x1057A), (0x1057C, 0x1058A), (0x1058C, 0x10592), (0x10594, 0x10595),
        ),
        "Ll": (
            (0x2C5F, 0x2C5F), (0xA7C1, 0xA7C1), (0xA7D1, 0xA7D1), (0xA7D3, 0xA7D3), (0xA7D5, 0xA7D5),
            (0xA7D7, 0xA7D7), (0xA7D9, 0xA7D9), (0x10597, 0x105A1), (0x105A3, 0x105B1), (0x105B3, 0x105B9),
            (0x105BB, 0x105BC), (0x1DF00, 0x1DF09), (0x1DF0B, 0x1DF1E),
        ),
        "Nd": ((0x16AC0, 0x16AC9),),
    },
    20: {"Ll": ((0x1DF25, 0x1DF2A),), "Nd": ((0x11F50, 0x11F59), (0x1E4F0, 0x1E4F9))},
    24: {
        "Lu": ((0x1C89, 0x1C89), (0xA7CB, 0xA7CC), (0xA7DA, 0xA7DA), (0xA7DC, 0xA7DC), (0x10D50, 0x10D65)),
        "Ll": ((0x1C8A, 0x1C8A), (0xA7CD, 0xA7CD), (0xA7DB, 0xA7DB), (0x10D70, 0x10D85)),
        "Nd": (
            (0x10D40, 0x10D49), (0x116D0, 0x116E3), (0x11BF0, 0x11BF9), (0x16130, 0x16139), (0x16D70, 0x16D79),
            (0x1CCF0, 0x1CCF9), (0x1E5F1, 0x1E5FA),
        ),
    },
}  # fmt: skip
_UNICODE_16 = {"java.specification.version": [str(release) for release in range(17, 26)]}


class _Masks(dict[int, str]):
    """The replacement of each character, computed when it is first asked for."""

    def __init__(self, masks: Mapping[str, str | None], settings: ExpressionSettings) -> None:
        """``masks`` has the replacements of the categories Lu, Ll and Nd, and of others by the name ``""``."""
        super().__init__()
        self._masks = masks
        self._by_units = settings.masks_units
        self._new = {
            code: category if settings.java >= since else ""
            for since, categories in _NEW.items()
            for category, ranges in categories.items()
            for first, last in ranges
            for code in range(first, last + 1)
        }

    def __missing__(self, code: int) -> str:
        is_pair = self._by_units and code > 0xFFFF
        category = self._new.get(code)
        if category is None:
            category = unicodedata.category(chr(code))
        mask = self._masks[category if category in self._masks and not is_pair else ""]
        if mask is not None and self._by_units:
            mask = ("?" if mask > "\uffff" else mask) * (1 + is_pair)
        found = self[code] = chr(code) if mask is None else mask
        return found


@function("Mask", [case(*[["string"]] * 5, literal=[1, 2, 3, 4], settings=_UNICODE_16, slower=True)])
def _mask(call: Call, settings: ExpressionSettings) -> Kernel:
    """Replace upper-case and lower-case letters, digits and others, each by a character; NULL keeps them."""
    masks = _Masks(dict(zip(("Lu", "Ll", "Nd", ""), constants(call.args[1:]), strict=True)), settings)

    def run(values: Sequence[Value], rows: int) -> Value:
        texts = java_text(to_array(values[0], rows))
        return map_distinct(texts, lambda text: text.translate(masks), pa.string())

    return Kernel(run=run, null_intolerant=False)

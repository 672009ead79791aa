"""Strings whose bytes are not UTF-8, as arguments of functions that read characters.

Spark's functions either decode such a string first, which replaces the bytes that are no characters by U+FFFD, or
split it by the first byte of each character (Spark: UTF8String.numBytesForFirstByte). The engine decodes for the first
kind. Its kernels of the second need UTF-8: they get a private character for each sequence of bytes that is none. All
other functions compute with the bytes, as Spark does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import UnsupportedValueError
from pyspark_pipeline.expressions.per_value import java_text
from pyspark_pipeline.expressions.registry import Kernel, Value
from pyspark_pipeline.expressions.utf8 import bytes_of, is_valid_array, valid_text
from pyspark_pipeline.kernels.buffers import with_elements
from pyspark_pipeline.plan.expr import Call, constants

#: Decode by ICU, which replaces each byte of a surrogate's encoding; Java replaces it as a whole.
_CASES = frozenset(("Upper", "Lower", "InitCap"))
_DECODING = frozenset(
    ("StringTranslate", "Encode.encode", "UrlCodec.encode", "ExpressionImplUtils.quote",
     "Like", "RLike", "RegExpReplace", "RegExpExtract", "RegExpInStr", "Size(RegExpExtractAll)")
)  # fmt: skip
_SPLITTING = frozenset(
    ("Length", "Substring", "Reverse", "StringLPad", "StringRPad", "StringInstr", "StringLocate", "Ascii", "Overlay",
     "CharVarcharCodegenUtils.readSidePadding", "CharVarcharCodegenUtils.charTypeWriteSideCheck",
     "CharVarcharCodegenUtils.varcharTypeWriteSideCheck")
)  # fmt: skip

#: The first private character of plane 15.
_FIRST = "\U000f0000"

#: The number of bytes of the character that begins with a byte.
_LENGTHS = bytes([1] * 0xC2 + [2] * (0xE0 - 0xC2) + [3] * 16 + [4] * 5 + [1] * 11)


def with_text_arguments(kernel: Kernel, call: Call) -> Kernel:
    """Return the kernel of ``call`` extended by what it does with strings that are not UTF-8."""
    if not any(arg.type.kind == "string" for arg in call.args):
        return kernel
    if call.name in _CASES:
        return _extended(kernel, valid_text)
    if call.name in _DECODING or (call.name == "Cast" and call.type.is_floating):
        return _extended(kernel, java_text)
    if call.name in _SPLITTING or (call.name == "StringSplit" and constants(call.args[1:2]) == [""]):
        return _with_private_characters(kernel, call.name)
    return kernel


def _extended(kernel: Kernel, prepared: Callable[[pa.Array], pa.Array]) -> Kernel:
    run = kernel.run

    def run_prepared(values: Sequence[Value], rows: int) -> Value:
        return run([prepared(value) if _may_have_other_bytes(value) else value for value in values], rows)

    return replace(kernel, run=run_prepared)


def _may_have_other_bytes(value: Value) -> bool:
    """Return whether an array of strings has bytes beyond ASCII: a tenth of the time of a complete check."""
    if not isinstance(value, pa.StringArray) or not len(value):
        return False
    _, offsets, data = value.buffers()
    ends = np.frombuffer(offsets, np.int32, len(value) + 1, value.offset * 4)
    start, stop = int(ends[0]), int(ends[-1])
    return stop > start and int(np.frombuffer(data, np.int8, stop - start, start).min()) < 0


def _with_private_characters(kernel: Kernel, name: str) -> Kernel:
    run = kernel.run

    def run_split(values: Sequence[Value], rows: int) -> Value:
        others = [_may_have_other_bytes(value) and not is_valid_array(value) for value in values]
        if not any(others):
            return run(values, rows)
        characters = _Characters(name)
        texts = [characters.encoded(value) if isinstance(value, pa.StringArray) else value for value in values]
        return characters.decoded(run(texts, rows))

    return replace(kernel, run=run_split)


class _Characters:
    """Private characters in place of the sequences of bytes that Spark takes for characters in a call of ``name``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._sequences: list[bytes] = []
        self._codes: dict[bytes, str] = {}

    def encoded(self, array: pa.Array) -> pa.Array:
        """Return the strings of ``array`` as UTF-8."""
        found = (data if data is None else self._text(data) for data in bytes_of(array))
        return pa.array(found, pa.string())

    def decoded(self, value: Value) -> Value:
        """Return the result of the call with the bytes of private characters; ``ascii`` returns a code."""
        if not isinstance(value, pa.Array):
            return value
        if pa.types.is_string(value.type):
            found = (None if text is None else b"".join(map(self._bytes, text)) for text in value.to_pylist())
            return pa.array(found, pa.binary()).view(pa.string())
        if pa.types.is_list(value.type):
            return with_elements(value, value.type, self.decoded(value.values))
        if self._name == "Ascii":
            codes = (None if code is None else self._code(code) for code in value.to_pylist())
            return pa.array(codes, value.type)
        return value

    def _text(self, data: bytes) -> str:
        return "".join(map(self._character, self._split(data)))

    def _split(self, data: bytes) -> Iterator[bytes]:
        start = 0
        while start < len(data):
            stop = start + _LENGTHS[data[start]]
            if stop > len(data) and self._name != "Length":  # Spark reads bytes behind the string
                raise UnsupportedValueError(
                    f"{self._name} of a string that ends within a character: Spark's result is not defined; disable "
                    "the engine for this query (SET spark.pysparkPipeline.enabled=false)"
                )
            yield data[start:stop]
            start = stop

    def _character(self, sequence: bytes) -> str:
        text = sequence.decode("utf-8", "replace")
        if len(text) == 1 and text.encode() == sequence and text < _FIRST:
            return text
        if sequence not in self._codes:
            self._codes[sequence] = chr(ord(_FIRST) + len(self._sequences))
            self._sequences.append(sequence)
        return self._codes[sequence]

    def _bytes(self, character: str) -> bytes:
        return character.encode() if character < _FIRST else self._sequences[ord(character) - ord(_FIRST)]

    def _code(self, code: int) -> int:
        return code if code < ord(_FIRST) else ord(self._bytes(chr(code)).decode("utf-8", "replace")[0])

"""Strings whose bytes are not UTF-8, as arguments of functions that read characters.

Spark's functions either decode such a string first, which replaces the bytes that are no characters by U+FFFD, or
split it by the first byte of each character. The engine decodes for the first kind. Its kernels of the second need
UTF-8, and raise for other bytes. All other functions compute with the bytes, as Spark does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import UnsupportedValueError
from pyspark_pipeline.expressions.per_value import java_text
from pyspark_pipeline.expressions.registry import Kernel, Value
from pyspark_pipeline.expressions.utf8 import valid_text
from pyspark_pipeline.plan.expr import Call

#: Decode by ICU, which replaces each byte of a surrogate's encoding; Java replaces it as a whole.
_CASES = frozenset(("Upper", "Lower", "InitCap"))
_DECODING = frozenset(
    ("StringTranslate", "Encode.encode", "UrlCodec.encode", "ExpressionImplUtils.quote",
     "Like", "RLike", "RegExpReplace", "RegExpExtract", "RegExpInStr", "Size(RegExpExtractAll)")
)  # fmt: skip
_SPLITTING = frozenset(
    ("Length", "Substring", "Reverse", "StringLPad", "StringRPad", "StringInstr", "StringLocate", "Ascii", "Overlay")
)


def with_text_arguments(kernel: Kernel, call: Call) -> Kernel:
    """Return the kernel of ``call`` extended by what it does with strings that are not UTF-8."""
    if not any(arg.type.kind == "string" for arg in call.args):
        return kernel
    if call.name in _CASES:
        return _extended(kernel, valid_text)
    if call.name in _DECODING or (call.name == "Cast" and call.type.is_floating):
        return _extended(kernel, java_text)
    if call.name in _SPLITTING:
        return _extended(kernel, lambda array: _checked(array, call.name))
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


def _checked(array: pa.Array, name: str) -> pa.Array:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        message = f"{name} of a string whose bytes are not UTF-8: the engine has no Spark-equal result; disable it for "
        raise UnsupportedValueError(f"{message}this query (SET spark.pysparkPipeline.enabled=false)") from None
    return array

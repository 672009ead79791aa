"""Python values of columns, and columns of the values that a function returns for rows, as Spark's JVM reads them.

Spark pickles the values and converts the Java objects by the declared type (``EvaluatePython.makeFromJava``): an object
of an unexpected class is NULL, and a string is what Java prints. A value that Spark does not unpickle raises here too.
"""

from __future__ import annotations

import datetime
import functools
import re
import struct
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes.types import FLOATING_KINDS, DataType
from pyspark_pipeline.errors import SparkConditionError, UnsupportedValueError
from pyspark_pipeline.expressions.java_numbers import Digits
from pyspark_pipeline.expressions.per_value import decoded

#: The first release of Java that prints as few digits of a float as identify it.
JAVA_OF_SHORTEST_DIGITS = 19
#: The classes of values by the kind of the declared type; values of any other known class are NULL.
_EXPECTED: dict[str, set[type]] = {
    "boolean": {bool},
    "float": {float},
    "double": {float},
    "decimal": {Decimal},
    "binary": {bytes, bytearray, str},
}
#: Other classes whose values Spark unpickles.
_KNOWN = {
    bool, int, float, complex, str, bytes, bytearray, Decimal, datetime.date, datetime.datetime, datetime.time,
    datetime.timedelta,
}  # fmt: skip
_COLLECTIONS = {list, tuple, set, frozenset}
#: Python pickles more keys in several parts.
_MAX_KEYS = 1000
_SURROGATES = re.compile("[\ud800-\udfff]")
_NO_LIMIT = Context(prec=2000, rounding=ROUND_HALF_UP, Emin=MIN_EMIN, Emax=MAX_EMAX)


def python_values(column: pa.Array) -> list[Any]:
    """Return the values of a column: dates as days, timestamps as microseconds, bytes that are not UTF-8 replaced."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_decimal(kind):
        try:
            return list(column.to_numpy(zero_copy_only=False))
        except (UnicodeDecodeError, pa.ArrowException):
            texts = column.view(pa.binary()).to_pylist()
            return [None if text is None else decoded(text) for text in texts]
    if pa.types.is_temporal(kind):
        column = column.view(pa.int32() if pa.types.is_date32(kind) else pa.int64())
    filled = column.fill_null(False if pa.types.is_boolean(kind) else 0) if column.null_count else column
    values: list[Any] = filled.to_numpy(zero_copy_only=False).tolist()
    if column.null_count:
        for row in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)):
            values[row] = None
    return values


def column_of(values: Sequence[Any], type_: DataType, java: int) -> pa.Array:
    """Return the column of values that a function returned, dates and timestamps as days and microseconds.

    ``java`` is the release of the JVM, whose text a string is.
    """
    kind = type_.kind
    if kind == "string":
        return _strings(values, java)
    found = set(map(type, values))
    expected = _EXPECTED.get(kind, {int})
    if kind in FLOATING_KINDS and Decimal in found:
        values = [_double(value) for value in values]
    elif not found <= {*expected, type(None)}:
        values = [value if type(value) in expected else _null(value) for value in values]
    if kind == "boolean":
        return pa.array(values, pa.bool_())
    if kind == "decimal":
        return pa.array([None if value is None else _decimal(value, type_) for value in values], type_.arrow)
    if kind in FLOATING_KINDS:
        return pa.array(values, pa.float64()).cast(type_.arrow, safe=False)
    if kind == "binary":
        texts = _strings([value if type(value) is str else None for value in values], java).view(pa.binary())
        return pc.coalesce(pa.array([None if type(value) is str else value for value in values], pa.binary()), texts)
    numbers = _integers(values)
    if kind in ("timestamp", "timestamp_ntz"):
        return numbers.view(type_.arrow)
    return numbers.cast(pa.int32() if kind == "date" else type_.arrow, safe=False).view(type_.arrow)


def _null(value: Any) -> Any:
    """Return NULL for a value of another class than expected; raise if Spark does not unpickle it."""
    class_ = type(value)
    if class_ is dict:
        for key, item in value.items():
            _null(key)
            _null(item)
    elif class_ in _COLLECTIONS:
        for item in value:
            _null(item)
    elif class_ is Decimal:
        _is_nan(value)
    elif value is not None and class_ not in _KNOWN:
        raise _unreadable(f"of the class {class_.__module__}.{class_.__qualname__}")


def _is_nan(value: Decimal) -> bool:
    """Return whether a decimal is NaN, which is a double in Java; raise if it is infinite, which Java does not read."""
    if value.is_finite() or str(value) == "NaN":
        return value.is_nan()
    raise _unreadable(str(value))


def _unreadable(what: str) -> UnsupportedValueError:
    return UnsupportedValueError(
        f"a function returned a value {what}, which Spark does not read from a pickled function: "
        "return a value of a built-in class"
    )


def _integers(values: Sequence[Any]) -> pa.Array:
    """Return the values as bigints, those beyond them as NULL."""
    try:
        return pa.array(values, pa.int64())
    except (OverflowError, pa.ArrowInvalid):
        return pa.array([v if v is not None and -(2**63) <= v < 2**63 else None for v in values], pa.int64())


def _decimal(value: Decimal, type_: DataType) -> Decimal | None:
    """Round to the scale of the type; raise Spark's error if there are too many digits."""
    if _is_nan(value):
        return None
    rounded = value.quantize(Decimal(1).scaleb(-type_.scale), context=_NO_LIMIT)
    if len(rounded.as_tuple().digits) > type_.precision:
        parameters = {
            "roundedValue": str(rounded),
            "originalValue": str(value),
            "precision": str(type_.precision),
            "scale": str(type_.scale),
        }
        condition = "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION"
        raise SparkConditionError("SparkArithmeticException", condition, parameters)
    return rounded


def _double(value: Any) -> float | None:
    """Return a float, which NaN is as a decimal too."""
    if type(value) is Decimal:
        return float(value) if _is_nan(value) else None
    return value if type(value) is float else _null(value)


def _strings(values: Sequence[Any], java: int) -> pa.Array:
    if not set(map(type, values)) <= {str, type(None)}:
        values = [value if value is None or type(value) is str else _text(value, java) for value in values]
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        return pa.array([None if value is None else _SURROGATES.sub("\ufffd", value) for value in values], pa.string())


def _text(value: Any, java: int) -> str:
    """Return the text that Java prints for a value, whatever its class."""
    class_ = type(value)
    if value is None:
        return "null"
    if class_ is bool:
        return "true" if value else "false"
    if class_ is str:
        return str(value)
    if class_ is float or (class_ is Decimal and _is_nan(value)):
        return str(Digits.of(np.array([float(value)]), java >= JAVA_OF_SHORTEST_DIGITS).texts(None)[0])
    if class_ is Decimal:
        return str(-value if value.is_zero() and value.is_signed() else value)
    if class_ is int:
        return str(value)
    if class_ in (bytes, bytearray, tuple):  # arrays in Java: a class and a number that differs from run to run
        return f"{'[Ljava.lang.Object;' if class_ is tuple else '[B'}@{hash(id(value)) & 0x7FFFFFFF:x}"
    if class_ is list:
        return f"[{', '.join(_text(item, java) for item in value)}]"
    if class_ is set:
        return f"[{', '.join(_text(item, java) for item in _in_java_order(list(value)))}]"
    if class_ is frozenset:
        return f"[{', '.join(_text(item, java) for item in _in_java_order(list(value), is_copied=True))}]"
    if class_ is dict:
        keys = _in_java_order(list(value)[::-1], is_copied=True)
        return f"{{{', '.join(f'{_text(key, java)}={_text(value[key], java)}' for key in keys)}}}"
    raise UnsupportedValueError(
        f"a function returned a value of the class {class_.__module__}.{class_.__qualname__} for a string: "
        "only Java prints its text; convert the value in the function"
    )


def _in_java_order(keys: list[Any], *, is_copied: bool = False) -> list[Any]:
    """Return the keys in the order of ``java.util.HashMap``: by bucket, and as they came within one.

    A map that ``is_copied`` from another one has a third more buckets than keys, any other grows with its keys.
    """
    if len(keys) < 2:  # noqa: PLR2004
        return keys
    if len(keys) > _MAX_KEYS:
        raise _unordered("more than 1000 keys")
    buckets = 16
    while buckets < int(len(keys) / 0.75 + 1) if is_copied else len(keys) > buckets * 3 // 4:
        buckets *= 2
    return sorted(keys, key=lambda key: _spread_hash(key) & (buckets - 1))


def _spread_hash(key: Any) -> int:
    """Return the hash of a key by which a ``HashMap`` chooses a bucket, as an unsigned number."""
    found = _java_hash(key) & 0xFFFFFFFF
    return found ^ (found >> 16)


def _java_hash(key: Any) -> int:
    class_ = type(key)
    if key is None:
        return 0
    if class_ is bool:
        return 1231 if key else 1237
    if class_ is str:
        units = np.frombuffer(key.encode("utf-16-le", "surrogatepass"), np.uint16)
        return functools.reduce(lambda found, unit: (found * 31 + int(unit)) & 0xFFFFFFFF, units, 0)
    if class_ is int and -(2**31) <= key < 2**31:
        return int(key)
    if class_ is float or (class_ is int and -(2**63) <= key < 2**63):
        (bits,) = struct.unpack("<Q", struct.pack("<d" if class_ is float else "<q", key))
        return int(bits ^ (bits >> 32))
    raise _unordered(f"keys of the class {class_.__qualname__}")


def _unordered(what: str) -> UnsupportedValueError:
    return UnsupportedValueError(
        f"a function returned a dict or set with {what} for a string: only Java knows "
        "their order; convert the value in the function"
    )

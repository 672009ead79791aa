"""Python values of columns, and columns of the values that a function returns for rows, as Spark's JVM reads them.

Spark pickles the values and converts the Java objects by the declared type (``EvaluatePython.makeFromJava``): an object
of an unexpected class is NULL, and a string is what Java prints. A value that Spark does not unpickle raises here too.
"""

from __future__ import annotations

import array
import datetime
import itertools
import re
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes.types import FLOATING_KINDS, DataType
from pyspark_pipeline.errors import SparkConditionError, UnsupportedValueError
from pyspark_pipeline.expressions.java_numbers import Digits
from pyspark_pipeline.expressions.per_value import decoded
from pyspark_pipeline.kernels.buffers import pack_validity
from pyspark_pipeline.operators.python_functions.java_maps import (
    hash_of_column,
    map_order,
    unpickled_items,
    unpickled_keys,
)
from pyspark_pipeline.operators.python_functions.spark_columns import spark_arrow_type, to_spark

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
    bool, int, float, complex, str, bytes, bytearray, array.array, Decimal, datetime.date, datetime.datetime,
    datetime.time, datetime.timedelta,
}  # fmt: skip
_COLLECTIONS = {list, tuple, set, frozenset}
_SURROGATES = re.compile("[\ud800-\udfff]")
_NO_LIMIT = Context(prec=2000, rounding=ROUND_HALF_UP, Emin=MIN_EMIN, Emax=MAX_EMAX)


def python_values(column: pa.Array) -> list[Any]:
    """Return the values of a column: dates as days, timestamps as microseconds, bytes that are not UTF-8 replaced.

    Arrays are lists, structs tuples, maps dicts in the order of Java's.
    """
    kind = column.type
    if pa.types.is_nested(kind):
        return _nested_values(column)
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


def _nested_values(column: pa.Array) -> list[Any]:
    kind = column.type
    valid = np.asarray(column.is_valid()).tolist()
    if pa.types.is_struct(kind):
        fields = [python_values(column.field(place)) for place in range(kind.num_fields)]
        return [row if is_valid else None for is_valid, row in zip(valid, zip(*fields, strict=True), strict=True)]
    bounds = column.offsets.to_numpy() if len(column) else np.zeros(1, dtype=np.int32)
    start, stop = int(bounds[0]), int(bounds[-1])
    parts = [column.keys, column.items] if pa.types.is_map(kind) else [column.values]
    made = [python_values(part[start:stop]) for part in parts]
    ends = (bounds - start).tolist()
    rows = [[values[first:end] for first, end in itertools.pairwise(ends)] for values in made]
    if pa.types.is_map(kind):
        hash_of = hash_of_column(kind.key_type)
        found = zip(valid, *rows, strict=True)
        return [_dict(keys, items, hash_of) if is_valid else None for is_valid, keys, items in found]
    return [row if is_valid else None for is_valid, row in zip(valid, rows[0], strict=True)]


def _dict(keys: list[Any], items: list[Any], hash_of: Callable[[Any], int]) -> dict[Any, Any]:
    return {keys[place]: items[place] for place in map_order(keys, hash_of)}


def spark_column_of(values: Sequence[Any], type_: DataType, java: int) -> pa.Array:
    """Return the column of :func:`column_of`, if it is nested with the names of Spark's type."""
    made = column_of(values, type_, java)
    return to_spark(made, spark_arrow_type(type_, "UTC")) if type_.is_nested else made


def column_of(values: Sequence[Any], type_: DataType, java: int) -> pa.Array:
    """Return the column of values that a function returned, dates and timestamps as days and microseconds.

    ``java`` is the release of the JVM, whose text a string is.
    """
    kind = type_.kind
    if kind == "string":
        return _strings(values, java)
    if type_.is_nested:
        return _nested_column(values, type_, java)
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


def _nested_column(values: Sequence[Any], type_: DataType, java: int) -> pa.Array:
    """Return the column of lists or tuples for an array, dicts for a map, tuples for a struct; others are NULL."""
    if type_.kind == "struct":
        return _structs(values, type_, java)
    if type_.kind == "map":
        dicts = [value if type(value) is dict else _null(value) for value in values]
        keys = [None if found is None else unpickled_keys(found) for found in dicts]
        entries = zip(dicts, keys, strict=True)
        items = [None if order is None else [found[key] for key in order] for found, order in entries]
        key_type, item_type = type_.children
        made = [_elements(keys, key_type, java), _elements(items, item_type, java)]
        if made[0].null_count:
            made[0] = _filled(made[0], key_type)
        lists, element = keys, pa.StructArray.from_arrays(made, fields=[type_.arrow.key_field, type_.arrow.item_field])
    else:
        lists = [value if type(value) in (list, tuple) else _list(value) for value in values]
        element = _elements(lists, type_.children[0], java)
    lengths = [0 if found is None else len(found) for found in lists]
    offsets = np.zeros(len(lists) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    validity, nulls = pack_validity(np.array([found is not None for found in lists], dtype=np.bool_))
    return pa.Array.from_buffers(type_.arrow, len(lists), [validity, pa.py_buffer(offsets)], nulls, 0, [element])


def _elements(lists: Sequence[Sequence[Any] | None], type_: DataType, java: int) -> pa.Array:
    return column_of(list(itertools.chain.from_iterable(found for found in lists if found is not None)), type_, java)


def _list(value: Any) -> list[Any] | None:
    """Return the elements of a value that is an array in Java: bytes are numbers."""
    if type(value) in (bytes, bytearray):
        return list(memoryview(value).cast("b"))
    if type(value) is array.array:
        return value.tolist()
    _null(value)
    return None


def _structs(values: Sequence[Any], type_: DataType, java: int) -> pa.StructArray:
    count = len(type_.children)
    rows = [value if type(value) is tuple else _null(value) for value in values]
    wrong = next((len(row) for row in rows if row is not None and len(row) != count), None)
    if wrong is not None:
        parameters = {"expected": str(count), "actual": str(wrong)}
        raise SparkConditionError("SparkIllegalArgumentException", "STRUCT_ARRAY_LENGTH_MISMATCH", parameters)
    empty = (None,) * count
    filled = [empty if row is None else row for row in rows]
    columns = zip(zip(*filled, strict=True) if filled else [()] * count, type_.children, strict=True)
    fields = [column_of(column, child, java) for column, child in columns]
    missing = sum(row is None for row in rows)
    mask = pa.array([row is None for row in rows], pa.bool_()) if missing else None
    return pa.StructArray.from_arrays(fields, fields=list(type_.arrow), mask=mask)


def _filled(keys: pa.Array, type_: DataType) -> pa.Array:
    """Return keys of a map without NULLs: Spark reads 0 for these, and fails if they have no fixed width."""
    if type_.is_nested or type_.kind in ("string", "binary", "decimal"):
        raise UnsupportedValueError(f"a function returned a dict with a key that is NULL as {type_}")
    if type_.kind == "boolean":
        return keys.fill_null(False)
    words = {"date": pa.int32(), "timestamp": pa.int64(), "timestamp_ntz": pa.int64()}
    return keys.view(words.get(type_.kind, keys.type)).fill_null(0).view(keys.type)


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
        return f"[{', '.join(_text(item, java) for item in unpickled_items(list(value)))}]"
    if class_ is frozenset:
        return f"[{', '.join(_text(item, java) for item in unpickled_items(list(value), is_copied=True))}]"
    if class_ is dict:
        keys = unpickled_keys(value)
        return f"{{{', '.join(f'{_text(key, java)}={_text(value[key], java)}' for key in keys)}}}"
    raise UnsupportedValueError(
        f"a function returned a value of the class {class_.__module__}.{class_.__qualname__} for a string: "
        "only Java prints its text; convert the value in the function"
    )

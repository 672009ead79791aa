"""Spark's error conditions for invalid data, with Spark's parameters.

Source: QueryExecutionErrors, DataTypeErrors and ExecutionErrors of Spark 4.1; the tests compare with a
running Spark.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

import numpy as np

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import SparkConditionError

_ANSI = '"spark.sql.ansi.enabled"'
_SUFFIX = {"tinyint": "S", "smallint": "S", "bigint": "L", "double": "D", "decimal": "BD"}
_JAVA_NAME = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}
_EXACT = Context(prec=400)


def arithmetic_overflow(kind: str, suggestion: str, context: int) -> SparkConditionError:
    """Build the error of an int or bigint operation; ``suggestion`` is the try_ function or empty."""
    alternative = f" Use '{suggestion}' to tolerate overflow and return NULL instead." if suggestion else ""
    return _arithmetic_overflow(f"{_JAVA_NAME[kind]} overflow", alternative, context)


def timestamp_overflow() -> SparkConditionError:
    """Build the error of an instant outside the range of timestamps."""
    return java_overflow(is_long=True)


def java_overflow(is_long: bool) -> SparkConditionError:
    """Build the error of Java's exact arithmetic of longs or ints, which has no condition."""
    return SparkConditionError("ArithmeticException", "", {"message": f"{'long' if is_long else 'integer'} overflow"})


def java_error(exception: str, message: str) -> SparkConditionError:
    """Build an error of Java, which has no condition; ``exception`` is its class without the package."""
    return SparkConditionError(exception, "", {"message": message})


def illegal_format_conversion(conversion: str, java_class: str) -> SparkConditionError:
    """Build the error of a conversion of ``format_string`` that does not accept a class of Java."""
    parameters = {"conversion": conversion, "class": java_class}
    return SparkConditionError("IllegalFormatConversionException", "", parameters)


def missing_format_argument(specifier: str) -> SparkConditionError:
    """Build the error of a conversion of ``format_string`` without an argument."""
    return SparkConditionError("MissingFormatArgumentException", "", {"specifier": specifier})


def bit_position_out_of_range(name: str, bits: int, position: int) -> SparkConditionError:
    """Build the error of a position that is none of the ``bits`` of an integer."""
    bounds = {"lower": "0", "upper": str(bits), "invalidValue": str(position)}
    parameters = {"functionName": f"`{name}`", "parameter": "`pos`"} | bounds
    condition = "INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE"
    return SparkConditionError("SparkIllegalArgumentException", condition, parameters)


def bitmap_position(position: int, size: int) -> SparkConditionError:
    """Build the error of a position beyond a bitmap of ``size`` bytes."""
    parameters = {"bitPosition": str(position), "bitmapNumBytes": str(size), "bitmapNumBits": str(8 * size)}
    return SparkConditionError("SparkArrayIndexOutOfBoundsException", "INVALID_BITMAP_POSITION", parameters)


def index_out_of_range(index: int, size: int, context: int) -> SparkConditionError:
    """Build the error of an index, from 1, of none of ``size`` values."""
    parameters = {"indexValue": str(index), "arraySize": str(size), "ansiConfig": _ANSI}
    return SparkConditionError("SparkArrayIndexOutOfBoundsException", "INVALID_ARRAY_INDEX", parameters, context)


def element_out_of_range(index: int, size: int, context: int) -> SparkConditionError:
    """Build the error of ``element_at`` for an index of none of ``size`` elements."""
    parameters = {"indexValue": str(index), "arraySize": str(size), "ansiConfig": _ANSI}
    condition = "INVALID_ARRAY_INDEX_IN_ELEMENT_AT"
    return SparkConditionError("SparkArrayIndexOutOfBoundsException", condition, parameters, context)


def array_too_long(length: int, most: int, function: str, parameter: str) -> SparkConditionError:
    """Build the error of an array of more than ``most`` elements; no ``parameter`` (empty) is to blame, or one."""
    parameters = {"numberOfElements": str(length), "maxRoundedArrayLength": str(most), "functionName": f"`{function}`"}
    if not parameter:
        return SparkConditionError("SparkRuntimeException", "COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION", parameters)
    parameters["parameter"] = f"`{parameter}`"
    return SparkConditionError("SparkRuntimeException", "COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER", parameters)


def slice_start() -> SparkConditionError:
    """Build the error of a slice that begins with the element 0."""
    return _slice_parameter("start", "START", {})


def slice_length(length: int) -> SparkConditionError:
    """Build the error of a slice of a negative length."""
    return _slice_parameter("length", "LENGTH", {"length": str(length)})


def _slice_parameter(name: str, condition: str, parameters: dict[str, str]) -> SparkConditionError:
    parameters = {"parameter": f"`{name}`", "functionName": "`slice`"} | parameters
    return SparkConditionError("SparkRuntimeException", f"INVALID_PARAMETER_VALUE.{condition}", parameters)


def illegal_sequence(start: int, stop: int, step: int) -> SparkConditionError:
    """Build the error of steps that do not lead from the first number of a sequence to the last one."""
    parameters = {"start": str(start), "stop": str(stop), "step": str(step)}
    return SparkConditionError("SparkIllegalArgumentException", "_LEGACY_ERROR_TEMP_3243", parameters)


def sequence_of_dates(has_months: bool) -> SparkConditionError:
    """Build the error of a step of less than a day between dates; ``has_months``: of an interval of months."""
    interval = "interval year to month" if has_months else "interval day to second"
    return SparkConditionError("SparkIllegalArgumentException", "_LEGACY_ERROR_TEMP_3242", {"intervalType": interval})


def duplicate_map_key(key: str) -> SparkConditionError:
    """Build the error of a key that a map would have twice."""
    parameters = {"key": key, "mapKeyDedupPolicy": '"spark.sql.mapKeyDedupPolicy"'}
    return SparkConditionError("SparkRuntimeException", "DUPLICATED_MAP_KEY", parameters)


def null_map_key() -> SparkConditionError:
    """Build the error of a key of a map that is NULL."""
    return SparkConditionError("SparkRuntimeException", "NULL_MAP_KEY", {})


def map_of_other_length() -> SparkConditionError:
    """Build the error of another number of values than keys of a map."""
    return SparkConditionError("SparkRuntimeException", "_LEGACY_ERROR_TEMP_2128", {})


def conv_overflow(context: int) -> SparkConditionError:
    """Build the error of a number of more than 64 bits."""
    return _arithmetic_overflow("Overflow in function conv()", "", context)


def interval_error(function: str, context: int = -1) -> SparkConditionError:
    """Build the error of an interval beyond its type; ``function`` is the try_ function or empty.

    Sums, differences and the smallest interval negated have no context (Spark: ``IntervalMathUtils``).
    """
    suggestion = "WITH_SUGGESTION" if function else "WITHOUT_SUGGESTION"
    parameters = {"functionName": f"`{function}`"} if function else {}
    condition = f"INTERVAL_ARITHMETIC_OVERFLOW.{suggestion}"
    return SparkConditionError("SparkArithmeticException", condition, parameters, context)


def interval_divided_by_zero(context: int) -> SparkConditionError:
    """Build the error of an interval divided by zero."""
    return SparkConditionError("SparkArithmeticException", "INTERVAL_DIVIDED_BY_ZERO", {}, context)


def invalid_time_zone(text: str) -> SparkConditionError:
    """Build the error of a text that names no time zone."""
    return SparkConditionError("SparkDateTimeException", "INVALID_TIMEZONE", {"timeZone": text})


def datetime_overflow(operation: str) -> SparkConditionError:
    """Build the error of an operation like ``add 1L DAY to TIMESTAMP '...'``."""
    return SparkConditionError("SparkArithmeticException", "DATETIME_OVERFLOW", {"operation": operation})


def no_timestamp(value: str, unit: str) -> SparkConditionError:
    """Build the error of a number, as a literal of SQL, of seconds or milliseconds beyond the timestamps."""
    return datetime_overflow(f"create a TIMESTAMP from {value} {unit} since the epoch")


def field_out_of_bounds(message: str, suggests_ansi_off: bool) -> SparkConditionError:
    """Build the error of a date that does not exist; ``message`` is that of Java's exception."""
    parameters = {"rangeMessage": message} | ({"ansiConfig": _ANSI} if suggests_ansi_off else {})
    condition = f"DATETIME_FIELD_OUT_OF_BOUNDS.{'WITH' if suggests_ansi_off else 'WITHOUT'}_SUGGESTION"
    return SparkConditionError("SparkDateTimeException", condition, parameters)


def invalid_fraction_of_second(seconds: float) -> SparkConditionError:
    """Build the error of more than 60 seconds, but less than 61."""
    parameters = {"secAndMicros": java_digits(seconds)}
    return SparkConditionError("SparkDateTimeException", "INVALID_FRACTION_OF_SECOND", parameters)


def illegal_day_of_week(text: str) -> SparkConditionError:
    """Build the error of a text that is not a day of the week."""
    return SparkConditionError("SparkIllegalArgumentException", "ILLEGAL_DAY_OF_WEEK", {"string": text})


def wrong_escape(pattern: str, escaped: str) -> SparkConditionError:
    """Build the error of a LIKE pattern that escapes another character, or none at its end."""
    if not escaped:
        return SparkConditionError("AnalysisException", "INVALID_FORMAT.ESC_AT_THE_END", {"format": f"'{pattern}'"})
    parameters = {"format": f"'{pattern}'", "char": f"'{escaped}'"}
    return SparkConditionError("AnalysisException", "INVALID_FORMAT.ESC_IN_THE_MIDDLE", parameters)


def invalid_url(text: str) -> SparkConditionError:
    """Build the error of a text that is not a URL."""
    return SparkConditionError("SparkIllegalArgumentException", "INVALID_URL", {"url": text})


def cannot_decode_url(text: str) -> SparkConditionError:
    """Build the error of a wrong escape in an encoded text."""
    return SparkConditionError("SparkIllegalArgumentException", "CANNOT_DECODE_URL", {"url": text})


def user_raised(message: str) -> SparkConditionError:
    """Build the error of ``raise_error`` and ``assert_true``."""
    return SparkConditionError("SparkRuntimeException", "USER_RAISED_EXCEPTION", {"errorMessage": message})


def index_of_zero(context: int) -> SparkConditionError:
    """Build the error of the index 0, where the first is 1."""
    return SparkConditionError("SparkRuntimeException", "INVALID_INDEX_OF_ZERO", {}, context)


def invalid_utf8(data: bytes) -> SparkConditionError:
    """Build the error of bytes that are not UTF-8."""
    shown = "".join(f"\\x{byte:02X}" for byte in data)
    return SparkConditionError("SparkIllegalArgumentException", "INVALID_UTF8_STRING", {"str": shown})


def conversion_invalid_input(text: str, fmt: str, target: DataType, suggestion: str) -> SparkConditionError:
    """Build the error of a text that is not in a format of bytes; ``suggestion`` is the try_ function."""
    names = {"targetType": sql_type(target), "suggestion": f"`{suggestion}`"}
    parameters = {"str": f"'{text}'", "fmt": f"'{fmt}'"} | names
    return SparkConditionError("SparkIllegalArgumentException", "CONVERSION_INVALID_INPUT", parameters)


def number_format_mismatch(text: str, fmt: str) -> SparkConditionError:
    """Build the error of a text that does not match a format of digits."""
    parameters = {"inputType": '"STRING"', "input": text, "format": fmt}
    return SparkConditionError("SparkIllegalArgumentException", "INVALID_FORMAT.MISMATCH_INPUT", parameters)


def unknown_charset(name: str, charset: str, known: str) -> SparkConditionError:
    """Build the error of a character set that Spark does not support."""
    parameters = {"functionName": f"`{name}`", "parameter": "`charset`", "charset": charset, "charsets": known}
    return SparkConditionError("SparkIllegalArgumentException", "INVALID_PARAMETER_VALUE.CHARSET", parameters)


def malformed_characters(name: str, charset: str) -> SparkConditionError:
    """Build the error of bytes that a character set does not define."""
    parameters = {"function": f"`{name}`", "charset": charset}
    return SparkConditionError("SparkRuntimeException", "MALFORMED_CHARACTER_CODING", parameters)


_AES = "`aes_encrypt`/`aes_decrypt`"


def aes_key_length(length: int) -> SparkConditionError:
    """Build the error of a key of another length than 16, 24 or 32 bytes."""
    parameters = {"parameter": "`key`", "functionName": _AES, "actualLength": str(length)}
    return SparkConditionError("SparkRuntimeException", "INVALID_PARAMETER_VALUE.AES_KEY_LENGTH", parameters)


def aes_iv_length(mode: str, length: int) -> SparkConditionError:
    """Build the error of an initialization vector of another length than the mode needs."""
    parameters = {"mode": mode, "parameter": "`iv`", "functionName": _AES, "actualLength": str(length)}
    return SparkConditionError("SparkRuntimeException", "INVALID_PARAMETER_VALUE.AES_IV_LENGTH", parameters)


def aes_crypto(message: str) -> SparkConditionError:
    """Build the error of bytes that cannot be decrypted; ``message`` is that of Java's exception."""
    parameters = {"parameter": "`expr`, `key`", "functionName": _AES, "detailMessage": message}
    return SparkConditionError("SparkRuntimeException", "INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR", parameters)


#: Bytes from which the error of bytes that are not authentic does not depend on their number.
_AUTHENTICATED = 64


def not_authenticated(length: int) -> SparkConditionError:
    """Build the error of ``length`` bytes that are not authentic, or too few; the JVM has it from Java."""
    return SparkConditionError("GeneralSecurityException", "", {"length": str(min(length, _AUTHENTICATED))})


def aes_mode(mode: str, padding: str) -> SparkConditionError:
    """Build the error of a mode or padding that Spark does not support."""
    parameters = {"mode": mode, "padding": padding, "functionName": _AES}
    return SparkConditionError("SparkRuntimeException", "UNSUPPORTED_FEATURE.AES_MODE", parameters)


def aes_mode_without(condition: str, mode: str) -> SparkConditionError:
    """Build the error of an initialization vector or authenticated data that a mode does not take."""
    parameters = {"mode": mode, "functionName": "`aes_encrypt`"}
    return SparkConditionError("SparkRuntimeException", f"UNSUPPORTED_FEATURE.{condition}", parameters)


def rounding_overflow(context: int) -> SparkConditionError:
    """Build the error of an integer that, rounded to tens or hundreds, is outside its type."""
    return _arithmetic_overflow("Overflow", "", context)


def integral_divide_overflow(context: int) -> SparkConditionError:
    """Build the error of the smallest bigint divided by -1."""
    alternative = " Use 'try_divide' to tolerate overflow and return NULL instead."
    return _arithmetic_overflow("Overflow in integral divide", alternative, context)


def _arithmetic_overflow(message: str, alternative: str, context: int) -> SparkConditionError:
    parameters = {"message": message, "alternative": alternative, "config": _ANSI}
    return SparkConditionError("SparkArithmeticException", "ARITHMETIC_OVERFLOW", parameters, context)


def binary_overflow(left: int, symbol: str, right: int, suggestion: str, context: int) -> SparkConditionError:
    """Build the error of a tinyint or smallint operation."""
    parameters = {"value1": f"{left}S", "symbol": symbol, "value2": f"{right}S", "functionName": f"`{suggestion}`"}
    return SparkConditionError("SparkArithmeticException", "BINARY_ARITHMETIC_OVERFLOW", parameters, context)


def divide_by_zero(context: int) -> SparkConditionError:
    """Build the error of a division by zero."""
    return SparkConditionError("SparkArithmeticException", "DIVIDE_BY_ZERO", {"config": _ANSI}, context)


def remainder_by_zero(context: int) -> SparkConditionError:
    """Build the error of a remainder by zero."""
    return SparkConditionError("SparkArithmeticException", "REMAINDER_BY_ZERO", {"config": _ANSI}, context)


def decimal_out_of_range(value: int, scale: int, target: DataType, context: int) -> SparkConditionError:
    """Build the error of a decimal (``value`` * 10**-scale) that does not fit ``target``."""
    parameters = {
        "value": plain_decimal(value, scale),
        "precision": str(target.precision),
        "scale": str(target.scale),
        "config": _ANSI,
    }
    condition = "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"
    return SparkConditionError("SparkArithmeticException", condition, parameters, context)


def unscaled_value_too_large() -> SparkConditionError:
    """Build the error of an unscaled bigint with more digits than its decimal type has."""
    condition = "UNSCALED_VALUE_TOO_LARGE_FOR_PRECISION"
    return SparkConditionError("SparkArithmeticException", condition, {"ansiConfig": _ANSI})


def cast_overflow(value: Any, source: DataType, target: DataType) -> SparkConditionError:
    """Build the error of a numeric cast whose value does not fit; it has no query context in Spark."""
    return cast_overflow_of(sql_value(value, source), source, target)


def cast_overflow_of(text: str, source: DataType, target: DataType) -> SparkConditionError:
    """Build the error of a cast of a value, as a literal of SQL, that does not fit."""
    types = {"sourceType": sql_type(source), "targetType": sql_type(target)}
    parameters = {"value": text} | types | {"ansiConfig": _ANSI}
    return SparkConditionError("SparkArithmeticException", "CAST_OVERFLOW", parameters)


def cast_number_invalid(value: float, source: DataType, target: DataType, context: int) -> SparkConditionError:
    """Build the error of a floating-point number that is no value of ``target``."""
    types = {"sourceType": sql_type(source), "targetType": sql_type(target)}
    parameters = {"expression": java_float(value, source)} | types | {"ansiConfig": _ANSI}
    return SparkConditionError("SparkDateTimeException", "CAST_INVALID_INPUT", parameters, context)


def cast_invalid_input(text: str, target: DataType, exception: str, context: int) -> SparkConditionError:
    """Build the error of a string that is not a value of ``target``."""
    parameters = {
        "expression": _quoted(text),
        "sourceType": '"STRING"',
        "targetType": sql_type(target),
        "ansiConfig": _ANSI,
    }
    return SparkConditionError(exception, "CAST_INVALID_INPUT", parameters, context)


def invalid_time_unit(function: str, unit: str) -> SparkConditionError:
    """Build the error of a text that names no unit of times of day."""
    parameters = {"functionName": f"`{function}`", "parameter": "`unit`", "invalidValue": _quoted(unit)}
    return SparkConditionError("SparkIllegalArgumentException", "INVALID_PARAMETER_VALUE.TIME_UNIT", parameters)


def no_time_of(nanos: int | None) -> SparkConditionError:
    """Build the error of nanoseconds outside the day; None: that are not whole."""
    if nanos is None or not -(2**63) <= nanos < 2**63:
        return field_out_of_bounds("Overflow in TIME conversion", False)
    message = f"Invalid TIME value: must be between 00:00:00 and 23:59:59.999999999, but got {nanos} nanoseconds"
    return field_out_of_bounds(message, False)


def cannot_parse_time(text: str, fmt: str) -> SparkConditionError:
    """Build the error of a text that is no time of day in a format."""
    parameters = {"input": _quoted(text), "format": _quoted(fmt)}
    return SparkConditionError("SparkDateTimeException", "CANNOT_PARSE_TIME", parameters)


def cannot_parse_timestamp(message: str, function: str) -> SparkConditionError:
    """Build the error of a text that a pattern does not parse; ``function`` is the one that returns NULL instead."""
    parameters = {"message": message, "func": f"`{function}`"}
    return SparkConditionError("SparkDateTimeException", "CANNOT_PARSE_TIMESTAMP", parameters)


def malformed_record(row: str) -> SparkConditionError:
    """Build the error of a document that Spark reads as ``row`` and something is wrong with."""
    return _malformed("SparkException", "WITHOUT_SUGGESTION", {"badRecord": row})


def malformed_csv_record(record: str) -> SparkConditionError:
    """Build the error of a record of CSV of more fields than Spark parses."""
    return SparkConditionError("SparkRuntimeException", "MALFORMED_CSV_RECORD", {"badRecord": record})


def malformed_array(document: str) -> SparkConditionError:
    """Build the error of a document that is an array where a struct should be."""
    return _malformed("SparkRuntimeException", "CANNOT_PARSE_JSON_ARRAYS_AS_STRUCTS", {"badRecord": document})


def malformed_number(document: str, name: str, text: str, type_: DataType) -> SparkConditionError:
    """Build the error of a document whose field ``name`` is a string instead of a double or float."""
    parameters = {"fieldName": f"`{name}`", "fieldValue": _quoted(text), "inputType": "StringType"}
    parameters |= {"badRecord": document, "targetType": f"{type_.kind.capitalize()}Type"}
    return _malformed("SparkRuntimeException", "CANNOT_PARSE_STRING_AS_DATATYPE", parameters)


def corrupt_record_type(name: str, type_: DataType) -> SparkConditionError:
    """Build the error of a field for documents with an error that is no string."""
    parameters = {"columnName": f"`{name}`", "actualType": sql_type(type_)}
    return SparkConditionError("AnalysisException", "INVALID_CORRUPT_RECORD_TYPE", parameters)


def _malformed(exception: str, condition: str, parameters: dict[str, str]) -> SparkConditionError:
    parameters["failFastMode"] = "FAILFAST"
    return SparkConditionError(exception, f"MALFORMED_RECORD_IN_PARSING.{condition}", parameters)


def plain_decimal(value: int, scale: int) -> str:
    """Format ``value`` * 10**-scale without an exponent, with ``scale`` fraction digits."""
    return format(Decimal(value).scaleb(-scale, _EXACT), "f")


def _quoted(text: str) -> str:
    """Return a string as a literal of SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def sql_type(type_: DataType) -> str:
    """Return Spark's ``toSQLType``: the upper-case name in double quotes."""
    return f'"{str(type_).upper()}"'


def sql_value(value: Any, type_: DataType) -> str:
    """Return Spark's ``toSQLValue`` of a number: a literal of its type."""
    if type_.is_floating:
        return java_float(value, type_)
    return f"{value}{_SUFFIX.get(type_.kind, '')}"


def java_float(value: float, type_: DataType) -> str:
    """Format a floating-point value as a SQL literal of Spark."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    text = java_digits(float(value)) if type_.kind == "double" else java_digits(float(str(np.float32(value))))
    return text + ("D" if type_.kind == "double" else "")


def java_digits(value: float) -> str:
    """Format a finite double as Java's ``Double.toString`` does (shortest digits)."""
    magnitude = abs(value)
    if magnitude == 0 or 1e-3 <= magnitude < 1e7:
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else text + ".0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{rest}E{exponent + len(digits) - 1}"


def exceeds_length(limit: int) -> SparkConditionError:
    """Build the error of a string that is too long for a CHAR or VARCHAR column of ``limit`` characters."""
    return SparkConditionError("SparkRuntimeException", "EXCEED_LIMIT_LENGTH", {"limit": str(limit)})

"""Functions of doubles with one exact result or that of Java's StrictMath; factorials (Spark: mathExpressions.scala).

Java's ``Math`` calls ``StrictMath`` for some functions up to a release, after which the virtual machine has code of its
own, with other last digits: :func:`_through_release` declares them. ``sin``, ``cos`` and ``tan`` depend on the
processor: they are those of x86, if the driver's Java has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.cases import DAY_TIME, YEAR_MONTH
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import flags, from_numbers, number_kernel, numbers, numbers_or_zero, to_array
from pyspark_pipeline.kernels import angles, fdlibm, hyperbolic, roots, trigonometry
from pyspark_pipeline.kernels.decimal_words import pack_flags, valid_flags, validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.plan.expr import Call


def _signum(data: Any) -> Any:
    """Return -1.0 or 1.0; NaN and both zeros remain."""
    return np.where((data == 0) | np.isnan(data), data, np.copysign(1.0, data))


_OF_DOUBLE: dict[str, Callable[[Any], Any]] = {
    "Sqrt": np.sqrt,
    "Signum": _signum,
    "ToDegrees": lambda data: data * 57.29577951308232,
    "ToRadians": lambda data: data * 0.017453292519943295,
}

for _name in _OF_DOUBLE:

    @function(_name, [case(["double"])])
    def _of_double(call: Call, settings: ExpressionSettings) -> Kernel:
        def compute(data: Any) -> Any:
            with np.errstate(all="ignore"):
                return _OF_DOUBLE[call.name](data)

        return number_kernel(compute, pa.float64())


for _name, _constant in (("Pi", math.pi), ("EulerNumber", math.e)):

    def _number(call: Call, settings: ExpressionSettings, constant: float = _constant) -> Kernel:
        return Kernel(run=lambda values, rows: pa.scalar(constant))

    function(_name, [case()])(_number)


def _of_each(kernel: Callable[[Any, Any], None], data: Any) -> Any:
    """Return the doubles that a kernel like those of :mod:`pyspark_pipeline.kernels.fdlibm` writes."""
    out = np.empty(len(data), dtype=np.float64)
    kernel(frozen(data), out)
    return out


def _ln(data: Any) -> Any:
    return _of_each(fdlibm.log_all, data)


def _through_release(last: int) -> dict[str, Any]:
    """Return the condition of a case that the driver's Java has a release from 17 to ``last``."""
    return {"settings": {"java.specification.version": [str(release) for release in range(17, last + 1)]}}


#: The last release of Java whose ``Math`` has been compared.
_COMPARED = 25
_UNARY: dict[str, tuple[Callable[[Any, Any], None], dict[str, Any]]] = {
    "Exp": (fdlibm.exp_all, {}),
    "Expm1": (hyperbolic.expm1_all, {}),
    "Atanh": (hyperbolic.atanh_all, {}),
    "Asin": (angles.asin_all, _through_release(_COMPARED)),
    "Acos": (angles.acos_all, _through_release(_COMPARED)),
    "Atan": (angles.atan_all, _through_release(_COMPARED)),
    "Sinh": (hyperbolic.sinh_all, _through_release(_COMPARED)),
    "Cosh": (hyperbolic.cosh_all, _through_release(_COMPARED)),
    "Tanh": (hyperbolic.tanh_all, _through_release(23)),
    "Cbrt": (roots.cbrt_all, _through_release(24)),
}

for _name, (_kernel, _condition) in _UNARY.items():

    @function(_name, [case(["double"], **_condition)])
    def _strict(call: Call, settings: ExpressionSettings) -> Kernel:
        return number_kernel(lambda data: _of_each(_UNARY[call.name][0], data), pa.float64())


#: The trigonometric functions; those whose second part is true are the reciprocals of others.
_TRIGONOMETRIC: dict[str, tuple[Callable[[Any, Any], None], bool]] = {
    "Sin": (trigonometry.sin_all, False),
    "Cos": (trigonometry.cos_all, False),
    "Tan": (trigonometry.tan_all, False),
    "Csc": (trigonometry.sin_all, True),
    "Sec": (trigonometry.cos_all, True),
    "Cot": (trigonometry.tan_all, True),
}
#: The condition that the driver's Java has the functions of Intel's library (``JavaMath.scala``).
_BY_INTEL = {"settings": {**_through_release(_COMPARED)["settings"], "java.lang.Math.trigonometry": ["Intel"]}}

for _name in _TRIGONOMETRIC:

    @function(_name, [case(["double"], **_BY_INTEL)])
    def _trigonometric(call: Call, settings: ExpressionSettings) -> Kernel:
        kernel, inverts = _TRIGONOMETRIC[call.name]

        def compute(data: Any) -> Any:
            values = _of_each(kernel, data)
            if inverts:
                with np.errstate(all="ignore"):
                    np.divide(1.0, values, out=values)
            return values

        return number_kernel(compute, pa.float64())


_INVERSE_HYPERBOLIC = {"Asinh": hyperbolic.asinh_all, "Acosh": hyperbolic.acosh_all}

for _name in _INVERSE_HYPERBOLIC:

    @function(_name, [case(["double"])])
    def _inverse_hyperbolic(call: Call, settings: ExpressionSettings) -> Kernel:
        def write(data: Any, out: Any) -> None:
            _INVERSE_HYPERBOLIC[call.name](data, settings.chooses_inverse_hyperbolic, out)

        return number_kernel(lambda data: _of_each(write, data), pa.float64())


_LN_2 = 0.6931471805599453
#: The logarithms, and the number up to which they are NULL.
_LOGARITHMS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "Log": (_ln, 0.0),
    "Log10": (lambda data: _of_each(fdlibm.log10_all, data), 0.0),
    "Log2": (lambda data: _ln(data) / _LN_2, 0.0),
    "Log1p": (lambda data: _of_each(hyperbolic.log1p_all, data), -1.0),
}

for _name in _LOGARITHMS:

    @function(_name, [case(["double"])])
    def _logarithm(call: Call, settings: ExpressionSettings) -> Kernel:
        """Return NULL where the logarithm is infinite or undefined."""
        compute, least = _LOGARITHMS[call.name]

        def run(values: Sequence[Value], rows: int) -> Value:
            array = to_array(values[0], rows)
            data: Any = numbers(array)
            with np.errstate(invalid="ignore"):
                known = valid_flags(validity_of([array]), rows) & ~(data <= least)
            return from_numbers(compute(data), pa.float64(), pack_flags(known))

        return Kernel(run=run)


@function("Logarithm", [case(["double"], ["double"])])
def _logarithm_to_base(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return ``ln(number) / ln(base)`` of (base, number); NULL if one of them is zero or negative."""

    def run(values: Sequence[Value], rows: int) -> Value:
        base: Any
        number: Any
        base, number = (numbers_or_zero(to_array(value, rows)) for value in values)
        with np.errstate(all="ignore"):
            return pa.array(_ln(number) / _ln(base), mask=(base <= 0) | (number <= 0))

    return Kernel(run=run)


_BINARY: dict[str, tuple[Callable[[Any, Any, Any], None], dict[str, Any]]] = {
    "Pow": (fdlibm.pow_all, {}),
    "Atan2": (angles.atan2_all, _through_release(_COMPARED)),
    "Hypot": (roots.hypot_all, _through_release(_COMPARED)),
}

for _name, (_binary_kernel, _condition) in _BINARY.items():

    @function(_name, [case(["double"], ["double"], **_condition)])
    def _of_two(call: Call, settings: ExpressionSettings) -> Kernel:
        def run(values: Sequence[Value], rows: int) -> Value:
            arrays = [to_array(value, rows) for value in values]
            out = np.empty(rows, dtype=np.float64)
            left: Any
            right: Any
            left, right = (numbers(array) for array in arrays)
            if call.name == "Atan2":  # Spark adds 0.0, so that -0.0 is an angle as 0.0 is
                left, right = frozen(left + 0.0), frozen(right + 0.0)
            _BINARY[call.name][0](left, right, out)
            return from_numbers(out, pa.float64(), validity_of(arrays))

        return Kernel(run=run)


_FACTORIALS = pa.array([math.factorial(number) for number in range(21)], pa.int64())


@function("Factorial", [case(["int"])])
def _factorial(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return n!, NULL outside 0 to 20."""

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        data: Any = numbers(array)
        known = (data >= 0) & (data <= 20) & flags(array.is_valid())
        return _FACTORIALS.take(pa.array(np.where(known, data, 0), mask=~known))

    return Kernel(run=run)


@function("WidthBucket", [
    case([kind], [kind], [kind], ["bigint"]) for kind in ("double", DAY_TIME, YEAR_MONTH)
])  # fmt: skip
def _width_bucket(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the number of the bucket, of as many between two limits, that holds a value; NULL for useless limits."""

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        parts: list[Any] = [numbers_or_zero(array) for array in arrays]
        value, low, high = (part.astype(np.float64) for part in parts[:3])
        count = parts[3]
        useful = (count > 0) & (count != np.iinfo(np.int64).max) & ~np.isnan(value) & (low != high)
        useful &= np.isfinite(low) & np.isfinite(high)
        with np.errstate(all="ignore"):
            width = np.where(low < high, high - low, low - high)
            into = np.where(low < high, value - low, low - value)
            share = count.astype(np.float64) * into / width
            inside = useful & (into >= 0) & np.where(low < high, value < high, value > high)
            # Java's conversion ends at the largest long, to which 1 is added.
            last = inside & (share >= 2.0**63)
            bucket = np.where(inside & ~last, share, 0).astype(np.int64) + 1
            bucket[last] = np.iinfo(np.int64).min
        found = np.where(inside, bucket, np.where(into < 0, 0, count + 1))
        valid = valid_flags(validity_of(arrays), rows) & useful
        return from_numbers(found, pa.int64(), pack_flags(valid))

    return Kernel(run=run)

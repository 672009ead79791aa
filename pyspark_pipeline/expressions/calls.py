"""Compiled calls: evaluation of a function's arguments and of the function.

Arguments are evaluated for all rows, with two exceptions. A ``LazyKernel`` evaluates its arguments itself. If a
NULL-intolerant function has an argument that can raise, that argument is evaluated only on rows whose
preceding arguments are not NULL, as Spark does.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions.frame import Evaluable, Frame, values_of
from pyspark_pipeline.expressions.registry import Kernel, LazyKernel, Value
from pyspark_pipeline.expressions.values import decode, has_nulls, is_valid, map_dictionary, scatter, to_array


class ColumnNode(Evaluable):
    """A column of the input."""

    __slots__ = ("ordinal",)

    def __init__(self, number: int, type: DataType, ordinal: int) -> None:
        super().__init__(number, type)
        self.ordinal = ordinal

    def compute(self, frame: Frame) -> Value:
        return frame.column(self.ordinal)


class LazyNode(Evaluable):
    """A call whose kernel selects the rows on which each argument is evaluated."""

    __slots__ = ("kernel", "args")

    def __init__(self, number: int, type: DataType, kernel: LazyKernel, args: tuple[Evaluable, ...]) -> None:
        super().__init__(number, type, kernel.can_raise or any(arg.can_raise for arg in args))
        self.kernel = kernel
        self.args = args

    def compute(self, frame: Frame) -> Value:
        return self.kernel.run(frame, self.args)


class CallNode(Evaluable):
    """A call whose kernel receives evaluated arguments."""

    __slots__ = ("kernel", "args", "_guarded")

    def __init__(self, number: int, type: DataType, kernel: Kernel, args: tuple[Evaluable, ...]) -> None:
        super().__init__(number, type, kernel.can_raise or any(arg.can_raise for arg in args))
        self.kernel = kernel
        self.args = args
        order = kernel.order or tuple(range(len(args)))
        self._guarded = kernel.null_intolerant and any(args[index].can_raise for index in order[1:])

    def compute(self, frame: Frame) -> Value:
        if self._guarded:
            return self._apply(self._guarded_values(frame), frame.num_rows)
        return self._apply(values_of(frame, self.args), frame.num_rows)

    def _guarded_values(self, frame: Frame) -> list[Value]:
        """Evaluate the arguments in order, each that can raise only on rows whose preceding arguments are not NULL."""
        values: dict[int, Value] = {}
        valid: pa.BooleanArray | None = None
        for index in self.kernel.order or range(len(self.args)):
            node = self.args[index]
            if valid is None or not node.can_raise:
                value = frame.value(node)
            else:
                subset = frame.subset(valid)
                part = to_array(subset.value(node), subset.num_rows) if subset.num_rows else None
                value = pa.scalar(None, node.type.arrow) if part is None else scatter(part, valid)
            values[index] = value
            if has_nulls(value):
                bits = is_valid(value, frame.num_rows)
                valid = bits if valid is None else pc.and_(valid, bits)
        return [values[index] for index in range(len(self.args))]

    def _apply(self, values: Sequence[Value], rows: int) -> Value:
        if self.kernel.null_intolerant and any(isinstance(v, pa.Scalar) and not v.is_valid for v in values):
            return pa.scalar(None, self.type.arrow)
        encoded = [index for index, value in enumerate(values) if isinstance(value, pa.DictionaryArray)]
        if encoded:
            is_mapped = self.kernel.by_dictionary and not (self.kernel.maps_null and has_nulls(values[encoded[0]]))
            if is_mapped and len(encoded) == 1 and _has_one_array(values):
                mapped = self._by_dictionary(values, encoded[0], rows)
                if mapped is not None:
                    return mapped
            values = [decode(value) for value in values]
        if all(isinstance(value, pa.Scalar) for value in values):
            first = [pa.repeat(values[0], 1), *values[1:]] if values else []
            result = self.kernel.run(first, 1)
            return result if isinstance(result, pa.Scalar) else result[0]
        return self.kernel.run(values, rows)

    def _by_dictionary(self, values: Sequence[Value], position: int, rows: int) -> Value | None:
        """Evaluate on the dictionary; None if it is larger than the chunk or raises, perhaps for an unused value."""
        array = values[position]
        if len(array.dictionary) > rows:
            return None

        def apply(dictionary: pa.Array) -> pa.Array:
            arguments = [dictionary if index == position else value for index, value in enumerate(values)]
            return to_array(self.kernel.run(arguments, len(dictionary)), len(dictionary))

        try:
            return map_dictionary(array, apply)
        except SparkConditionError:
            return None


def _has_one_array(values: Sequence[Value]) -> bool:
    return sum(isinstance(value, pa.Array) for value in values) == 1

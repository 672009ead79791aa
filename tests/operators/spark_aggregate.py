"""Aggregate functions of Spark for tests: they are updated with values of one column, and write and read buffers."""

from __future__ import annotations

from typing import Any


class SparkAggregate:
    """A typed aggregate function of Catalyst (``CollectSet``, ``Mode``) over a column of one type."""

    def __init__(self, vanilla: Any, kind: str, name: str, *arguments: Any) -> None:
        self.jvm = vanilla._jvm
        self._gateway = vanilla.sparkContext._gateway
        catalyst = self.jvm.org.apache.spark.sql.catalyst.expressions
        types = self.jvm.org.apache.spark.sql.types.DataType
        text = catalyst.BoundReference(0, types.fromDDL("string"), True)
        child = catalyst.Cast(text, types.fromDDL(kind), self.jvm.scala.Option.apply("UTC"))
        self.function = getattr(catalyst.aggregate, name)(child, *arguments)

    def buffer(self, values: list[Any]) -> bytes:
        """Return the buffer after rows with these values; values of a binary column are text in UTF-8."""
        made = self.function.createAggregationBuffer()
        internal = self.jvm.org.apache.spark.sql.catalyst.expressions.GenericInternalRow
        for value in values:
            cells = self._gateway.new_array(self.jvm.java.lang.Object, 1)
            text = value.decode() if isinstance(value, bytes) else str(value)
            cells[0] = None if value is None else self.jvm.org.apache.spark.unsafe.types.UTF8String.fromString(text)
            self.function.update(made, internal(cells))
        return bytes(self.function.serialize(made))

    def read(self, buffer: bytes) -> Any:
        """Return the object of Java that a buffer holds."""
        return self.function.deserialize(bytearray(buffer))

    def merged(self, buffers: list[bytes]) -> Any:
        """Return the value of Java for buffers that are merged in this order."""
        made = self.function.createAggregationBuffer()
        for buffer in buffers:
            self.function.merge(made, self.read(buffer))
        return self.function.eval(made)

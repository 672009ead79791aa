package org.apache.spark.sql.pysparkpipeline

import java.util.Base64

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Writes values and attributes as JSON. */
object Json {
  val nodes: JsonNodeFactory = JsonNodeFactory.instance

  def obj(): ObjectNode = nodes.objectNode()

  def arr(items: Iterable[JsonNode]): ArrayNode = {
    val array = nodes.arrayNode()
    items.foreach(array.add)
    array
  }

  def text(value: String): JsonNode = nodes.textNode(value)

  def attribute(a: Attribute): ObjectNode =
    obj().put("id", a.exprId.id).put("name", a.name).put("type", Support.wireName(a.dataType))
      .put("nullable", a.nullable)

  /** Write a Catalyst value of type `dataType`: days, microseconds and integers as numbers, decimals and doubles as text. */
  def value(value: Any, dataType: DataType): JsonNode = (value, dataType) match {
    case (null, _) => nodes.nullNode()
    case (b: Boolean, _) => nodes.booleanNode(b)
    case (n: Byte, _) => nodes.numberNode(n.toLong)
    case (n: Short, _) => nodes.numberNode(n.toLong)
    case (n: Int, _) => nodes.numberNode(n.toLong)
    case (n: Long, _) => nodes.numberNode(n)
    case (d: Decimal, _) => text(d.toJavaBigDecimal.toPlainString)
    case (s: UTF8String, _) if isExact(s) => text(s.toString)
    case (_: UTF8String, _) => throw new UnsupportedOperationException(
      "the engine cannot be given a string whose bytes are not UTF-8; disable it for this query (SET spark.pysparkPipeline.enabled=false)")
    case (items: ArrayData, ArrayType(element, _)) => arr(items.toSeq[Any](element).map(Json.value(_, element)))
    case (bytes: Array[Byte], _) => text(Base64.getEncoder.encodeToString(bytes))
    case (other, _) => text(other.toString)
  }

  /** Return whether a value can be written without loss: JSON is text, and the bytes of a string need not be UTF-8. */
  def isExact(value: Any): Boolean = value match {
    case s: UTF8String => s.isValid
    case _ => true
  }

  def row(row: InternalRow, types: Seq[DataType]): ArrayNode =
    arr(types.zipWithIndex.map { case (t, i) => value(if (row.isNullAt(i)) null else row.get(i, t), t) })
}

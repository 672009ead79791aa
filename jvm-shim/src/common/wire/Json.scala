package org.apache.spark.sql.pysparkpipeline

import java.util.Base64

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
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
    case (s: UTF8String, kind) if isExact(s, kind) => text(s.toString)
    case (_: UTF8String, _) => throw new UnsupportedOperationException(
      "the engine cannot be given a string whose bytes are not UTF-8; disable it for this query (SET spark.pysparkPipeline.enabled=false)")
    case (items: ArrayData, ArrayType(element, _)) => arr(items.toSeq[Any](element).map(Json.value(_, element)))
    case (map: MapData, MapType(key, item, _)) => arr(entries(map, key, item).map { case (k, v) =>
      arr(Seq(Json.value(k, key), Json.value(v, item)))
    })
    case (fields: InternalRow, s: StructType) => row(fields, s.map(_.dataType))
    case (bytes: Array[Byte], _) => text(Base64.getEncoder.encodeToString(bytes))
    case (other, _) => text(other.toString)
  }

  private def entries(map: MapData, key: DataType, item: DataType): Seq[(Any, Any)] =
    map.keyArray.toSeq[Any](key).zip(map.valueArray.toSeq[Any](item))

  /**
   * Return whether a value of type `dataType` can be written without loss: JSON is text, and the bytes of a string need
   * not be UTF-8.
   */
  def isExact(value: Any, dataType: DataType): Boolean = (value, dataType) match {
    case (s: UTF8String, _) => s.isValid
    case (items: ArrayData, ArrayType(element, _)) => items.toSeq[Any](element).forall(isExact(_, element))
    case (map: MapData, MapType(key, item, _)) =>
      entries(map, key, item).forall { case (k, v) => isExact(k, key) && isExact(v, item) }
    case (fields: InternalRow, s: StructType) => fields.toSeq(s).zip(s).forall { case (v, f) => isExact(v, f.dataType) }
    case _ => true
  }

  def row(row: InternalRow, types: Seq[DataType]): ArrayNode =
    arr(types.zipWithIndex.map { case (t, i) => value(if (row.isNullAt(i)) null else row.get(i, t), t) })
}

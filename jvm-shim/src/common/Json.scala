package org.apache.spark.sql.pysparkpipeline

import java.util.Base64

import scala.collection.mutable.ArrayBuffer

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}

import org.apache.spark.QueryContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction}
import org.apache.spark.sql.execution.{ExecSubqueryExpression, ScalarSubquery}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Values, types and attributes as JSON. */
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
    obj().put("id", a.exprId.id).put("name", a.name).put("type", a.dataType.catalogString)
      .put("nullable", a.nullable)

  /** A Catalyst value of type `dataType`: days, microseconds and integers as numbers, decimals and doubles as text. */
  def value(value: Any, dataType: DataType): JsonNode = (value, dataType) match {
    case (null, _) => nodes.nullNode()
    case (b: Boolean, _) => nodes.booleanNode(b)
    case (n: Byte, _) => nodes.numberNode(n.toLong)
    case (n: Short, _) => nodes.numberNode(n.toLong)
    case (n: Int, _) => nodes.numberNode(n.toLong)
    case (n: Long, _) => nodes.numberNode(n)
    case (d: Decimal, _) => text(d.toJavaBigDecimal.toPlainString)
    case (s: UTF8String, _) => text(s.toString)
    case (bytes: Array[Byte], _) => text(Base64.getEncoder.encodeToString(bytes))
    case (other, _) => text(other.toString)
  }

  def row(row: InternalRow, types: Seq[DataType]): ArrayNode =
    arr(types.zipWithIndex.map { case (t, i) => value(if (row.isNullAt(i)) null else row.get(i, t), t) })
}

/**
 * Writes expressions generically: class name, resolved type, children, and the scalar constructor fields by
 * name (nested case classes flattened). Collects the query contexts the expressions point at by number.
 * A subquery, which must have run, is written as its value.
 */
class ExpressionJson(withContexts: Boolean = true) {
  import Json._

  val contexts: ArrayBuffer[QueryContext] = ArrayBuffer.empty

  def write(e: Expression): ObjectNode = e match {
    case a: Attribute =>
      obj().put("ref", a.exprId.id).put("type", a.dataType.catalogString).put("nullable", a.nullable)
    case l: Literal => literal(l.value, l.dataType)
    case s: ScalarSubquery => literal(s.eval(InternalRow.empty), s.dataType)
    case a: AggregateExpression =>
      val node = obj().put("class", "AggregateExpression").put("mode", a.mode.toString)
        .put("isDistinct", a.isDistinct)
      node.set[ObjectNode]("filter", a.filter.map(write).getOrElse(nodes.nullNode()))
      val function = call(a.aggregateFunction)
      function.set[ObjectNode]("buffer",
        arr(a.aggregateFunction.aggBufferAttributes.map(b => text(b.dataType.catalogString))))
      node.set[ObjectNode]("function", function)
      node
    case w: WindowExpression => Windows.write(w, call)
    case other => call(other)
  }

  private def literal(value: Any, dataType: DataType): ObjectNode = {
    val node = obj().put("type", dataType.catalogString).put("nullable", value == null)
    node.set[ObjectNode]("literal", Json.value(value, dataType))
    node
  }

  private def call(e: Expression): ObjectNode = {
    val node = obj().put("class", ExpressionJson.name(e)).put("type", e.dataType.catalogString)
      .put("nullable", e.nullable)
    node.set[ObjectNode]("args", arr(e.children.map(write)))
    val fields = obj()
    ExpressionJson.scalarFields(e).foreach { case (name, v) => fields.set[ObjectNode](name, v) }
    if (!fields.isEmpty) node.set[ObjectNode]("fields", fields)
    val context = e.origin.context
    if (withContexts && context != null && e.origin.getQueryContext.nonEmpty) {
      node.put("context", contexts.length)
      contexts += context
    }
    node
  }
}

object ExpressionJson {
  import Json._

  def name(e: Expression): String = e.getClass.getSimpleName.stripSuffix("$")

  /** The scalar constructor fields of an expression, by name. */
  def scalarFields(e: Expression): Seq[(String, JsonNode)] = e match {
    case in: InSet => Seq("hset" -> arr(in.hset.toSeq.map(v => Json.value(v, in.child.dataType))))
    case _ => flatten(e)
  }

  private def flatten(p: Product): Seq[(String, JsonNode)] =
    p.productElementNames.zip(p.productIterator).toSeq.flatMap {
      case (_, _: Expression | _: AggregateFunction) => Nil
      case (name, Some(v)) => scalar(name, v)
      case (name, None) => Seq(name -> nodes.nullNode())
      case (name, v) => scalar(name, v)
    }

  private def scalar(name: String, v: Any): Seq[(String, JsonNode)] = v match {
    case null => Seq(name -> nodes.nullNode())
    case b: Boolean => Seq(name -> nodes.booleanNode(b))
    case n: Int => Seq(name -> nodes.numberNode(n))
    case n: Long => Seq(name -> nodes.numberNode(n))
    case n: Double => Seq(name -> text(n.toString))
    case s: String => Seq(name -> text(s))
    case c: Char => Seq(name -> text(c.toString))
    case t: DataType => Seq(name -> text(t.catalogString))
    case e: Enumeration#Value => Seq(name -> text(e.toString))
    case _: Expression => Nil
    case s: Seq[_] if s.exists(x => !x.isInstanceOf[String]) => Nil
    case s: Seq[_] => Seq(name -> arr(s.map(x => text(x.toString))))
    case p: Product if p.productArity == 0 => Seq(name -> text(p.productPrefix))
    case p: Product => flatten(p)
    case _ => Nil
  }

  def subqueries(e: Expression): Seq[ExecSubqueryExpression] =
    e.collect { case s: ExecSubqueryExpression => s }
}

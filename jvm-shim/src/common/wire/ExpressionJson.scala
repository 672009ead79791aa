package org.apache.spark.sql.pysparkpipeline

import java.util.IdentityHashMap

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import org.apache.spark.QueryContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, AggregateFunction}
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.execution.{ExecSubqueryExpression, ScalarSubquery}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * Writes expressions generically: class name, resolved type, children, and the scalar constructor fields by
 * name (nested case classes flattened). Collects the query contexts of the expressions, which refer to them by number.
 * A function has the position of its manifest case (`case`).
 * A subquery, which must have run, is written as its value.
 *
 * The first levels are nested objects. Deeper levels form a list in postorder (`postorder`): an expression follows its
 * arguments and refers to them by their positions in the list, so that neither the JSON library nor a reader needs a
 * stack frame per level.
 */
class ExpressionJson(withContexts: Boolean = true) {
  import Json._

  val contexts: ArrayBuffer[QueryContext] = ArrayBuffer.empty

  /** What Spark evaluates for the engine, expressions and steps of aggregate functions; calls refer to them by number (`number`). */
  val jvmCalls: ArrayBuffer[JvmCall] = ArrayBuffer.empty

  /** The numbers of calls that several expressions share, by the list of these. */
  private val shared = new IdentityHashMap[Seq[Expression], Int]

  /** The number of levels of the deepest written expression. */
  var depth: Int = 0

  def write(e: Expression): ObjectNode = nested(e, level = 1)

  private def nested(e: Expression, level: Int): ObjectNode = ExpressionJson.plain(e) match {
    case a: Attribute =>
      obj().put("ref", a.exprId.id).put("type", Support.wireName(a.dataType)).put("nullable", a.nullable)
    case v: NamedLambdaVariable =>
      obj().put("variable", v.exprId.id).put("type", Support.wireName(v.dataType)).put("nullable", v.nullable)
    case l: Literal => literal(l.value, l.dataType)
    case value if ExpressionJson.isSubquery(value) || ExpressionJson.isConstantCall(value) =>
      literal(value.eval(InternalRow.empty), value.dataType)
    case a: AggregateExpression =>
      val node = obj().put("class", "AggregateExpression").put("mode", a.mode.toString)
        .put("isDistinct", a.isDistinct)
      node.set[ObjectNode]("filter", a.filter.map(nested(_, level + 1)).getOrElse(nodes.nullNode()))
      val function = call(AggregateCalls.folded(a.aggregateFunction), level)
      function.set[ObjectNode]("buffer",
        arr(a.aggregateFunction.aggBufferAttributes.map(b => text(Support.wireName(b.dataType)))))
      node.set[ObjectNode]("function", function)
      node
    case w: WindowExpression => WindowExpressions.write(w, call(_, level))
    case other if level > ExpressionJson.NestedLevels => postorder(other, level)
    case other => call(other, level)
  }

  /** Write `root` as a list that ends with it; uses an explicit stack instead of recursion. */
  private def postorder(root: Expression, rootLevel: Int): ObjectNode = {
    val written = nodes.arrayNode()
    val positions = mutable.Stack.empty[Int]
    val pending = mutable.Stack((root, rootLevel, false))
    while (pending.nonEmpty) {
      val (next, level, areArgumentsWritten) = pending.pop()
      val e = ExpressionJson.plain(next)
      if (!areArgumentsWritten && !ExpressionJson.isLeaf(e)) {
        pending.push((e, level, true))
        FunctionCall.of(e).args.reverseIterator.foreach(arg => pending.push((arg, level + 1, false)))
      } else {
        val node = if (ExpressionJson.isLeaf(e)) nested(e, level = 1) else {
          val arguments = nodes.arrayNode()
          FunctionCall.of(e).args.map(_ => positions.pop()).reverse.foreach(position => arguments.add(position))
          call(e, level, arguments)
        }
        positions.push(written.size)
        written.add(node)
      }
    }
    val node = obj()
    node.set[ObjectNode]("postorder", written)
    node
  }

  private def literal(value: Any, dataType: DataType): ObjectNode = {
    val node = obj().put("type", Support.wireName(dataType)).put("nullable", value == null)
    node.set[ObjectNode]("literal", Json.value(value, dataType))
    node
  }

  private def call(e: Expression, level: Int): ObjectNode =
    call(e, level, arr(FunctionCall.of(e).args.map(nested(_, level + 1))))

  private def call(e: Expression, level: Int, arguments: ArrayNode): ObjectNode = {
    depth = math.max(depth, level)
    val function = FunctionCall.of(e)
    val node = obj().put("class", function.name).put("type", Support.wireName(e.dataType))
      .put("nullable", e.nullable)
    CaseMatcher.position(e).foreach(node.put("case", _))
    node.set[ObjectNode]("args", arguments)
    val fields = obj()
    function.fields.foreach { case (name, v) => fields.set[ObjectNode](name, v) }
    e match {
      case j: JvmExpression =>
        fields.put("number", jvmCalls.length)
        jvmCalls += j.call
      case results: JvmResults =>
        fields.put("results", results.expressions.length)
        fields.put("number", shared.computeIfAbsent(results.expressions, _ => {
          jvmCalls += results.call
          jvmCalls.length - 1
        }))
      case function: JvmAggregate =>
        fields.put("number", jvmCalls.length)
        jvmCalls ++= function.call.steps
      case _ =>
    }
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

  private val NestedLevels = 64

  /** Return `e` as plans have it: an expression that Spark evaluates with others is a field of their results. */
  private def plain(e: Expression): Expression = e match {
    case j: JvmExpression => j.shared.map(_.value(j.child)).getOrElse(j)
    case other => other
  }

  private def isLeaf(e: Expression): Boolean = e.children.isEmpty || isSubquery(e) || FunctionCall.of(e).args.isEmpty

  /** Return whether `e` is a scalar subquery, or a field of one: Spark merges subqueries over one table into a struct. */
  def isSubquery(e: Expression): Boolean = e match {
    case _: ScalarSubquery | GetStructField(_: ScalarSubquery | _: Literal, _, _) => true
    case _ => false
  }

  /** Return whether `e` is a static method without arguments that returns the same value for all rows: `version()`. */
  def isConstantCall(e: Expression): Boolean = e match {
    case s: StaticInvoke => s.arguments.isEmpty && s.foldable
    case _ => false
  }

  /** The name of a function: its class, or the static method that implements it (`Base64.encode`). */
  def name(e: Expression): String = e match {
    case s: StaticInvoke => s"${simpleName(s.staticObject)}.${s.functionName}"
    case other => simpleName(other.getClass)
  }

  private def simpleName(c: Class[_]): String = c.getSimpleName.stripSuffix("$")

  /**
   * Return the scalar constructor fields of an expression, or of an object that it calls, by name. Options are a text
   * with a line `name=value` for each.
   */
  def scalarFields(e: Product): Seq[(String, JsonNode)] = e match {
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
    case _: String | _: UTF8String => Seq(name -> text(v.toString))
    case c: Char => Seq(name -> text(c.toString))
    case t: DataType => Seq(name -> text(t.catalogString))
    case m: Map[_, _] => Seq(name -> text(m.map { case (key, value) => s"$key=$value\n" }.mkString))
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
